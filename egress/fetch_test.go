package egress

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"codeagent/sandbox"
)

// names is a name server.
type names map[string]string

func (n names) lookup(_ context.Context, _, host string) ([]netip.Addr, error) {
	var out []netip.Addr
	for a := range strings.FieldsSeq(n[strings.TrimSuffix(host, ".")]) {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		return nil, errors.New("no such host")
	}
	return out, nil
}

// lonely is a Fetcher that knows n and no network but this machine.
func lonely(n names) *Fetcher {
	f := New("1.2")
	f.proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	f.lookup = n.lookup
	f.own = func() ([]net.Addr, error) { return nil, nil }
	return f
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func address(t *testing.T, raw string) Address {
	t.Helper()
	a, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func allow(hosts ...string) sandbox.Policy {
	p := sandbox.Policy{Network: sandbox.Network{Mode: sandbox.NetworkAllow}}
	for _, text := range hosts {
		h, err := sandbox.ParseHostPort(text)
		if err != nil {
			panic(err)
		}
		p.Network.Hosts = append(p.Network.Hosts, h)
	}
	return p
}

// port is the port of a test server.
func port(s *httptest.Server) string { return s.URL[strings.LastIndexByte(s.URL, ':')+1:] }

func isRefused(err error) bool {
	var r *RefusedError
	return errors.As(err, &r)
}

// What is sent says who codeagent is and nothing about the person.
func TestNothingIsToldToServers(t *testing.T) {
	var seen []http.Header
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		http.SetCookie(w, &http.Cookie{Name: "who", Value: "you"})
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/page?x", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "Text/HTML; charset=utf-8")
		fmt.Fprint(w, "<p>hello")
	})
	f := lonely(nil)
	for range 2 {
		p, err := f.Fetch(context.Background(), allow("127.0.0.1:"+port(s)), address(t, s.URL))
		if err != nil || string(p.Body) != "<p>hello" || p.Type != "text/html" || p.Status != 200 || p.StatusText != "OK" || p.URL.URL != s.URL+"/page?x" || p.Cut {
			t.Fatalf("%+v %v", p, err)
		}
	}
	for _, h := range seen {
		for name := range h {
			if name != "User-Agent" && name != "Accept" && name != "Accept-Encoding" && name != "Connection" {
				t.Errorf("sent %s: %s", name, h[name])
			}
		}
		if h.Get("User-Agent") != "codeagent/1.2" {
			t.Errorf("sent as %q", h.Get("User-Agent"))
		}
	}
}

// Nothing is sent to what the policy does not name: no connection, no lookup.
func TestThePolicyDecides(t *testing.T) {
	asked := 0
	s := serve(t, func(http.ResponseWriter, *http.Request) { asked++ })
	a := address(t, s.URL)
	f := lonely(nil)
	f.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		t.Errorf("%s was looked up", host)
		return nil, nil
	}
	if _, err := f.Fetch(context.Background(), allow("other.example:80"), address(t, "http://data.evil.example/")); !isRefused(err) {
		t.Error(err)
	}
	for _, p := range []sandbox.Policy{{}, allow("127.0.0.1:1"), allow("localhost:" + port(s)), {Network: sandbox.Network{Hosts: []sandbox.HostPort{a.Host}}}} {
		if _, err := f.Fetch(context.Background(), p, a); !isRefused(err) {
			t.Errorf("%+v: %v", p.Network, err)
		}
	}
	if asked != 0 {
		t.Error("the server was asked")
	}
}

func TestRedirects(t *testing.T) {
	var other, s *httptest.Server
	other = serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "other") })
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/five":
			http.Redirect(w, r, "/5", http.StatusFound)
		case "/5", "/4", "/3", "/2":
			http.Redirect(w, r, fmt.Sprintf("%c", r.URL.Path[1]-1), http.StatusPermanentRedirect)
		case "/other":
			http.Redirect(w, r, other.URL+"/x", http.StatusFound)
		case "/name":
			http.Redirect(w, r, "http://localhost:"+port(s)+"/", http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case "/user":
			w.Header().Set("Location", "http://me:pass@127.0.0.1/")
			w.WriteHeader(http.StatusFound)
		case "/broken":
			w.Header().Set("Location", "http://[::1")
			w.WriteHeader(http.StatusFound)
		case "/long":
			w.Header().Set("Location", "/"+strings.Repeat("a", maxURL))
			w.WriteHeader(http.StatusFound)
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		default:
			fmt.Fprint(w, "end")
		}
	})
	one, both := allow("127.0.0.1:"+port(s)), allow("127.0.0.1:"+port(s), "127.0.0.1:"+port(other))
	for _, tt := range []struct {
		path            string
		policy          sandbox.Policy
		body, elsewhere string
		err             string
	}{
		{"/five", one, "end", "", ""},
		{"/loop", one, "", "", "it redirects more than 5 times"},
		{"/other", one, "", other.URL + "/x", ""},
		{"/other", both, "other", "", ""},
		{"/name", one, "", "http://localhost:" + port(s) + "/", ""},
		{"/file", one, "", "", "a URL that is not fetched: only http"},
		{"/user", one, "", "", "without a user or password"},
		{"/broken", one, "", "", "not a URL"},
		{"/long", one, "", "", "not a URL"},
		{"/nowhere", one, "", "", ""},
	} {
		p, err := lonely(nil).Fetch(context.Background(), tt.policy, address(t, s.URL+tt.path))
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", tt.path, err)
			}
		case err != nil || p.Elsewhere != tt.elsewhere || tt.elsewhere == "" && string(p.Body) != tt.body:
			t.Errorf("%s: %+v %q %v", tt.path, p, p.Body, err)
		}
	}
}

// Servers must prove who they are, and cannot talk codeagent out of that.
func TestTLS(t *testing.T) {
	var s *httptest.Server
	open := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "in the clear") })
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, open.URL, http.StatusFound)
			return
		}
		fmt.Fprint(w, r.Proto)
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	p := allow("127.0.0.1:"+port(s), "127.0.0.1:"+port(open), "example.com:"+port(s), "other.example:"+port(s))
	f := lonely(names{"example.com": "127.0.0.1", "other.example": "127.0.0.1"})
	if _, err := f.Fetch(context.Background(), p, address(t, s.URL)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	f.roots = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for name, want := range map[string]string{"127.0.0.1": "HTTP/2.0", "example.com": "HTTP/2.0"} {
		page, err := f.Fetch(context.Background(), p, address(t, "https://"+name+":"+port(s)))
		if err != nil || string(page.Body) != want {
			t.Errorf("%s: %q %v", name, page.Body, err)
		}
	}
	if _, err := f.Fetch(context.Background(), p, address(t, "https://other.example:"+port(s))); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("another name's certificate: %v", err)
	}
	if page, err := f.Fetch(context.Background(), p, address(t, s.URL+"/down")); err != nil || page.Elsewhere != open.URL+"/" {
		t.Errorf("down to http: %+v %v", page, err)
	}
}

// Bodies end where they must, whatever a server sends.
func TestBodiesAreBounded(t *testing.T) {
	chunk := strings.Repeat("x", 1<<16)
	stuff := func(w io.Writer) {
		for range 1 << 12 { // 256 MB
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/endless":
			stuff(w)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			stuff(z)
			z.Close()
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, "small")
			z.Close()
		case "/unasked":
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "xxx")
		case "/not-gzip":
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "not gzip at all")
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			w.Header().Set("Content-Length", "1000000")
			io.WriteString(w, strings.Repeat("p", 1000000))
		case "/short":
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "the beginning")
		case "/headers":
			for i := range 2000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("h", 100))
			}
		case "/untyped":
			w.Header()["Content-Type"] = nil
			io.WriteString(w, "<!doctype html><p>x")
		}
	})
	for _, tt := range []struct {
		path        string
		size        int
		cut         bool
		broken, err string
	}{
		{"/endless", maxBody, true, "", ""},
		{"/bomb", maxBody, true, "", ""},
		{"/gzip", 5, false, "", ""},
		{"/unasked", 0, false, "", "unsupported Content-Encoding"},
		{"/not-gzip", 0, false, "", "gzip"},
		{"/image", maxHead, true, "", ""},
		{"/short", 13, false, "the connection ended in the middle of the answer", ""},
		{"/headers", 0, false, "", "header"},
		{"/untyped", 19, false, "", ""},
	} {
		p, err := lonely(nil).Fetch(context.Background(), allow("127.0.0.1:"+port(s)), address(t, s.URL+tt.path))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", tt.path, err)
			}
			continue
		}
		if err != nil || len(p.Body) != tt.size || p.Cut != tt.cut || p.Broken != tt.broken {
			t.Errorf("%s: %d bytes, cut %v, broken %q, %v", tt.path, len(p.Body), p.Cut, p.Broken, err)
		}
		if tt.path == "/untyped" && p.Type != "text/html" {
			t.Errorf("guessed %q", p.Type)
		}
	}
}

// Nobody waits for a server that drips or sends nothing; what came is kept.
func TestSlowServers(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drip" {
			io.WriteString(w, "drop")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	f := lonely(nil)
	f.time = 300 * time.Millisecond
	p, err := f.Fetch(context.Background(), allow("127.0.0.1:"+port(s)), address(t, s.URL+"/silent"))
	if !errors.Is(err, errSlow) {
		t.Errorf("silent: %+v %v", p, err)
	}
	p, err = f.Fetch(context.Background(), allow("127.0.0.1:"+port(s)), address(t, s.URL+"/drip"))
	if err == nil && (string(p.Body) != "drop" || p.Broken != errSlow.Error()) || err != nil && !errors.Is(err, errSlow) {
		t.Errorf("drip: %+v %v", p, err)
	}
}

// The end of the turn ends a fetch at once.
func TestInterrupted(t *testing.T) {
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(context.Background())
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "drop")
		w.(http.Flusher).Flush()
		cancel(ended)
		<-r.Context().Done()
	})
	if p, err := lonely(nil).Fetch(ctx, allow("127.0.0.1:"+port(s)), address(t, s.URL)); !errors.Is(err, ended) {
		t.Errorf("%+v %v", p, err)
	}
}

// What deny_hosts names is not fetched: by its name, whatever the case, and by the address to which an
// allowed name leads.
func TestDeniedHosts(t *testing.T) {
	asked := 0
	s := serve(t, func(http.ResponseWriter, *http.Request) { asked++ })
	f := lonely(nil)
	f.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	for _, c := range []struct {
		deny, url, want string
	}{
		{"", "http://a.example.org:PORT/", ""},
		{"*.example.org:1", "http://a.example.org:PORT/", ""},
		{"*.example.org", "http://A.Example.ORG.:PORT/", "deny_hosts names it (*.example.org)"},
		{"127.0.0.0/8", "http://a.example.org:PORT/", "a.example.org leads to 127.0.0.1: deny_hosts names it (127.0.0.0/8)"},
		{"127.0.0.0/8", "http://127.0.0.1:PORT/", "deny_hosts names it (127.0.0.0/8)"},
		{"127.0.0.0/8", "http://[::ffff:127.0.0.1]:PORT/", "deny_hosts names it (127.0.0.0/8)"},
	} {
		p := allow("a.example.org:"+port(s), "127.0.0.1:"+port(s))
		if c.deny != "" {
			h, err := sandbox.ParsePattern(c.deny)
			if err != nil {
				t.Fatal(err)
			}
			p.Network.Deny = []sandbox.HostPort{h}
		}
		before := asked
		_, err := f.Fetch(context.Background(), p, address(t, strings.ReplaceAll(c.url, "PORT", port(s))))
		if (err == nil) != (c.want == "") || err != nil && (!isRefused(err) || !strings.Contains(err.Error(), c.want)) || (asked > before) != (err == nil) {
			t.Errorf("%s denied, %s: %v, asked %v", c.deny, c.url, err, asked > before)
		}
	}
}
