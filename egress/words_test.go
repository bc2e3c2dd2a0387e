package egress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rawServer says talk to each connection once something came over it, and no more.
func rawServer(t *testing.T, listen func(net.Listener) net.Listener, talk string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l = listen(l)
	t.Cleanup(func() { l.Close() })
	go func() { // ends with l
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the client's side of conn
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 1)); err != nil {
					return
				}
				_, _ = io.WriteString(conn, talk)
				// Closing at once, with something unread, could take back what was said.
				_ = conn.(interface{ CloseWrite() error }).CloseWrite()
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	return port
}

func open(l net.Listener) net.Listener { return l }

const order = "OBEY-ME"

// net/http quotes in its errors what a server sent. None of it may be repeated.
func TestErrorsHoldNoWordsOfAServer(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, tt := range map[string]struct {
		talk, want string
		quoted     bool // net/http's own text holds the order
	}{
		"no HTTP":                 {order + "\r\n", "did not answer in HTTP", true},
		"a status":                {"HTTP/1.1 " + order + "\r\n\r\n", "did not answer in HTTP", true},
		"a header":                {ok + order + " no colon\r\n\r\n", "did not answer in HTTP", true},
		"a length":                {ok + "Content-Length: " + order + "\r\n\r\n", "did not answer in HTTP", true},
		"two lengths":             {ok + "Content-Length: 1\r\nContent-Length: " + order + "\r\n\r\n", "did not answer in HTTP", true},
		"an encoding of transfer": {ok + "Transfer-Encoding: " + order + "\r\n\r\n", "did not answer in HTTP", true},
		"an encoding of content":  {ok + "Content-Encoding: " + order + "\r\n\r\nx", "unsupported Content-Encoding", false},
		"a protocol to change to": {"HTTP/1.1 101 " + order + "\r\nUpgrade: " + order + "\r\n\r\n", "", false},
		"a place":                 {"HTTP/1.1 302 Found\r\nLocation: " + order + "://x/\r\n\r\n", "a URL that is not fetched", false},
		"a host":                  {"HTTP/1.1 302 Found\r\nLocation: http://" + order + "%21/\r\n\r\n", "not a URL", false},
		"a host of strange parts": {"HTTP/1.1 302 Found\r\nLocation: http://" + order + "!/\r\n\r\n", "a URL that is not fetched", false},
		"nothing":                 {"", "the connection ended without an answer", false},
	} {
		p := rawServer(t, open, tt.talk)
		a := address(t, "http://127.0.0.1:"+p+"/")
		if resp, err := new(http.Transport).RoundTrip(mustRequest(t, a.URL)); tt.quoted != (err != nil && strings.Contains(err.Error(), order)) {
			t.Errorf("%s: net/http says %v", name, err)
		} else if err == nil {
			resp.Body.Close()
		}
		page, err := lonely(nil).Fetch(context.Background(), allow("127.0.0.1:"+p), a)
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) || err != nil && strings.Contains(strings.ToUpper(err.Error()), order) || strings.Contains(page.StatusText, order) {
			t.Errorf("%s: %+v %v", name, page, err)
		}
	}
}

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// An answer that breaks off gets the same words.
func TestBrokenInTheMiddle(t *testing.T) {
	for _, talk := range []string{
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" + order + "\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n5\r\nhello\r\n0\r\n" + order + "\r\n\r\n",
	} {
		p := rawServer(t, open, talk)
		page, err := lonely(nil).Fetch(context.Background(), allow("127.0.0.1:"+p), address(t, "http://127.0.0.1:"+p+"/"))
		if err != nil || string(page.Body) != "hello" || page.Broken == "" || strings.Contains(page.Broken, order) {
			t.Errorf("%q: %q, broken %q, %v", talk, page.Body, page.Broken, err)
		}
	}
}

// A certificate is read before anybody vouches for it, and anybody can write one;
// the last words of HTTP/2 are the server's too.
func TestTLSErrorsHoldNoWordsOfAServer(t *testing.T) {
	frame := func(kind byte, body string) string {
		return "\x00\x00" + string(rune(len(body))) + string(rune(kind)) + "\x00\x00\x00\x00\x00" + body
	}
	goAway := frame(4, "") + frame(7, "\x00\x00\x00\x01"+"\x00\x00\x00\x01"+order)
	now := time.Now()
	for name, tt := range map[string]struct {
		names   []string
		from    time.Time
		trusted bool
		talk    string
		want    string
	}{
		"another name":  {[]string{order + ".example"}, now.Add(-time.Hour), true, "", "its certificate is for another name"},
		"nobody's":      {[]string{"good.example", order}, now.Add(-time.Hour), false, "", "an authority that is not trusted here"},
		"not yet valid": {[]string{"good.example", order}, now.Add(time.Hour), true, "", "has expired or is not valid yet"},
		"last words":    {[]string{"good.example"}, now.Add(-time.Hour), true, goAway, "it did not answer in HTTP"},
	} {
		cert, roots := certificate(t, tt.names, tt.from)
		p := rawServer(t, func(l net.Listener) net.Listener {
			return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
		}, tt.talk)
		f := lonely(names{"good.example": "127.0.0.1"})
		if f.roots = roots; !tt.trusted {
			f.roots = x509.NewCertPool()
		}
		page, err := f.Fetch(context.Background(), allow("127.0.0.1:"+p, "good.example:"+p), address(t, "https://good.example:"+p+"/"))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), order) {
			t.Errorf("%s: %+v %v", name, page, err)
		}
	}
	p := rawServer(t, open, order+"\r\n")
	_, err := lonely(nil).Fetch(context.Background(), allow("127.0.0.1:"+p), address(t, "https://127.0.0.1:"+p+"/"))
	if err == nil || strings.Contains(err.Error(), order) {
		t.Errorf("no TLS: %v", err)
	}
}

// certificate is one that vouches for itself, and the pool that takes its word.
func certificate(t *testing.T, names []string, from time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, NotBefore: from, NotAfter: from.Add(100 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// A proxy that carries nothing says why by its status alone.
func TestAProxyThatRefuses(t *testing.T) {
	p := rawServer(t, open, "HTTP/1.1 407 "+order+"\r\n\r\n")
	f := lonely(names{"good.example": "127.0.0.1"})
	f.proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:" + p) }
	_, err := f.Fetch(context.Background(), allow("good.example:443", "127.0.0.1:443"), address(t, "https://good.example/"))
	if err == nil || err.Error() != "the proxy answered 407 Proxy Authentication Required" {
		t.Error(err)
	}
}

func TestNobodyListens(t *testing.T) {
	// A port that is taken, so that nobody else comes to listen there.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := "127.0.0.1:" + strconv.Itoa(name.(*syscall.SockaddrInet4).Port)
	if _, err := lonely(nil).Fetch(context.Background(), allow(at), address(t, "http://"+at)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}
