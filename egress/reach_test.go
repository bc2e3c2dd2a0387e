package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// A name of a stranger's that leads to a server of this machine leads nowhere,
// unless that very address is allowed. The last row is the attack without the
// defence.
func TestNamesDoNotLeadInside(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secret") })
	at := "http://evil.example:" + port(s) + "/"
	full := sandbox.Policy{Network: sandbox.Network{Mode: sandbox.NetworkFull}}
	for _, tt := range []struct {
		name, addresses string
		policy          sandbox.Policy
		reached         bool
	}{
		{"loopback", "127.0.0.1", allow("evil.example:" + port(s)), false},
		{"mapped", "::ffff:127.0.0.1", allow("evil.example:" + port(s)), false},
		{"unspecified", "0.0.0.0", allow("evil.example:" + port(s)), false},
		{"several", "::1 0.0.0.0 127.0.0.1", allow("evil.example:" + port(s)), false},
		{"full network", "127.0.0.1", full, false},
		{"no sandbox", "127.0.0.1", sandbox.FullAccess(), false},
		{"the name of localhost is not this name", "127.0.0.1", allow("evil.example:"+port(s), "localhost:"+port(s)), false},
		{"another port of the address", "127.0.0.1", allow("evil.example:"+port(s), "127.0.0.1:1"), false},
		{"the address is allowed", "127.0.0.1", allow("evil.example:"+port(s), "127.0.0.1:"+port(s)), true},
	} {
		p, err := lonely(names{"evil.example": tt.addresses}).Fetch(context.Background(), tt.policy, address(t, at))
		if reached := string(p.Body) == "secret"; reached != tt.reached || !reached && !isRefused(err) {
			t.Errorf("%s: %q %v", tt.name, p.Body, err)
		}
	}
}

// A redirect does not lead there either, though the policy lets everything be
// reached: it is the server's wish and nobody's here.
func TestRedirectsDoNotLeadInside(t *testing.T) {
	inside := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secret") })
	to := ""
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	f := lonely(names{"localhost": "127.0.0.1", "evil.example": "127.0.0.1"})
	for _, host := range []string{"127.0.0.1", "localhost", "evil.example", "[::ffff:127.0.0.1]"} {
		to = "http://" + host + ":" + port(inside) + "/"
		for name, policy := range map[string]sandbox.Policy{"full network": {Network: sandbox.Network{Mode: sandbox.NetworkFull}}, "no sandbox": sandbox.FullAccess()} {
			if p, err := f.Fetch(context.Background(), policy, address(t, s.URL)); !isRefused(err) {
				t.Errorf("%s, %s: %q %v", host, name, p.Body, err)
			}
		}
		named := strings.Trim(to[len("http://"):], "/")
		if p, err := f.Fetch(context.Background(), allow("127.0.0.1:"+port(s), "127.0.0.1:"+port(inside), named), address(t, s.URL)); string(p.Body) != "secret" {
			t.Errorf("%s, named: %q %v", host, p.Body, err)
		}
	}
}

// What was judged is what is dialled: the name is looked up once.
func TestANameIsLookedUpOnce(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") })
	f, asked := lonely(nil), 0
	f.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		if asked++; host != "rebound.example." {
			t.Errorf("looked up %q", host)
		}
		if asked > 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	p, err := f.Fetch(context.Background(), allow("rebound.example:"+port(s), "127.0.0.1:"+port(s)), address(t, "http://Rebound.example.:"+port(s)))
	if err != nil || string(p.Body) != "page" || asked != 1 {
		t.Errorf("%q after %d lookups: %v", p.Body, asked, err)
	}
}

func TestLocalhostByItsName(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") })
	a := address(t, "http://localhost:"+port(s))
	for _, policy := range []sandbox.Policy{allow("localhost:" + port(s)), sandbox.FullAccess()} {
		if p, err := lonely(names{"localhost": "127.0.0.1"}).Fetch(context.Background(), policy, a); err != nil || string(p.Body) != "page" {
			t.Errorf("%q %v", p.Body, err)
		}
	}
	if p, err := lonely(names{"localhost": "10.0.0.1"}).Fetch(context.Background(), allow("localhost:"+port(s)), a); !isRefused(err) {
		t.Errorf("a localhost elsewhere: %q %v", p.Body, err)
	}
}

// An address that is public and this machine's own is inside all the same.
func TestOwnAddresses(t *testing.T) {
	r := route{at: address(t, "http://evil.example/"), asked: address(t, "http://evil.example/"), own: func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("93.184.215.14"), Mask: net.CIDRMask(24, 32)}}, nil
	}}
	for addr, want := range map[string]bool{"93.184.215.14": true, "93.184.215.15": false} {
		if why := r.refused(netip.MustParseAddr(addr)); (why != "") != want {
			t.Errorf("%s: refused because %q, want a refusal: %v", addr, why, want)
		}
	}
}

// Through a proxy a name is looked up by the proxy. What it means here is
// judged all the same, where it means anything.
func TestProxies(t *testing.T) {
	var through []string
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		through = append(through, r.Host)
		fmt.Fprint(w, "by proxy")
	})
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := lonely(names{"evil.example": "10.0.0.1"})
	f.proxy = func(*http.Request) (*url.URL, error) { return u, nil }
	p, err := f.Fetch(context.Background(), allow("unknown.example:80"), address(t, "http://unknown.example/"))
	if err != nil || string(p.Body) != "by proxy" || fmt.Sprint(through) != "[unknown.example]" {
		t.Errorf("%q %v %v", p.Body, through, err)
	}
	for _, host := range []string{"evil.example", "10.0.0.1"} {
		if p, err := f.Fetch(context.Background(), sandbox.FullAccess(), address(t, "http://"+host)); host == "evil.example" && !isRefused(err) {
			t.Errorf("%s: %q %v", host, p.Body, err)
		}
	}
	f.proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New(`invalid proxy "http://me:secret@x"`) }
	if _, err := f.Fetch(context.Background(), allow("unknown.example:80"), address(t, "http://unknown.example/")); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// Over TLS the proxy carries the stream: the server proves itself to codeagent,
// and the proxy's password stays with the proxy.
func TestProxiesCarryTLS(t *testing.T) {
	var told http.Header
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told = r.Header
		fmt.Fprint(w, "behind the proxy")
	}))
	t.Cleanup(s.Close)
	key := ""
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Proxy-Authorization")
		if r.Method != http.MethodConnect || r.Host != "example.com:443" {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		carry(t, w, s.Listener.Addr().String())
	})
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("me", "secret")
	f := lonely(nil)
	f.proxy = func(*http.Request) (*url.URL, error) { return u, nil }
	if _, err := f.Fetch(context.Background(), allow("example.com:443"), address(t, "https://example.com/")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	f.roots = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	p, err := f.Fetch(context.Background(), allow("example.com:443"), address(t, "https://example.com/"))
	if err != nil || string(p.Body) != "behind the proxy" || key == "" || told.Get("Proxy-Authorization") != "" {
		t.Errorf("%q %v; the proxy got %q, the server %v", p.Body, err, key, told)
	}
	if _, err := f.Fetch(context.Background(), allow("other.example:443"), address(t, "https://other.example/")); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a proxy that says no: %v", err)
	}
}

// carry joins the client of a CONNECT with a server, until either ends.
func carry(t *testing.T, w http.ResponseWriter, to string) {
	server, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	defer server.Close()
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	fmt.Fprint(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { // ends with server, which is closed below
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	_, _ = io.Copy(server, client)
}
