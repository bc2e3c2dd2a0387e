package signin

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/mcp"
	"codeagent/mcp/signin/signintest"
	"codeagent/sandbox"
)

func signedIn(t *testing.T, s *signintest.Servers) (Grant, error) {
	t.Helper()
	return Login(t.Context(), Options{Server: s.URL, Show: func(page, host string) {
		if !strings.HasPrefix(page, "http://"+host+"/authorize?") {
			t.Errorf("shown %s at %s", page, host)
		}
		s.Browse(page)
	}})
}

// A sign-in is kept for the user alone, its tokens are sent, and renewed when they end.
func TestLogin(t *testing.T) {
	s := signintest.New(t)
	s.Lives = 1 // which is over before it is used
	g, err := signedIn(t, s)
	if err != nil {
		t.Fatal(err)
	}
	store := Store{t.TempDir()}
	if err := store.Write("web", g); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(store.Dir, "web.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	s.Lives = 3600
	c, err := mcp.OverHTTP(t.Context(), s.URL, nil, mcp.Options{Name: "web", Startup: time.Minute, Call: time.Minute, SignIn: store.Tokens("web", s.URL)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func() error {
		_, err := c.Call(t.Context(), "echo", nil, nil)
		return err
	}
	if err := call(); err != nil || s.Count("refresh") != 1 {
		t.Errorf("%v, renewed %d times", err, s.Count("refresh"))
	}
	s.Revoke(false)
	if err := call(); err != nil || s.Count("refresh") != 2 {
		t.Errorf("after a refusal: %v, renewed %d times", err, s.Count("refresh"))
	}
	s.Revoke(true)
	if err := call(); !errors.Is(err, mcp.ErrSignIn) || !strings.Contains(err.Error(), "codeagent mcp login web") {
		t.Errorf("after the end: %v", err)
	}
	if gone, err := store.Remove("web"); err != nil || !gone {
		t.Errorf("%v %v", gone, err)
	}
	if gone, err := store.Remove("web"); err != nil || gone {
		t.Errorf("%v %v", gone, err)
	}
}

// A refresh token may be used once: users of a sign-in at the same time renew it once.
func TestRenewedOnce(t *testing.T) {
	s := signintest.New(t)
	s.Lives = 1
	g, err := signedIn(t, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Lives = 3600
	store := Store{t.TempDir()}
	if err := store.Write("web", g); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { // each as a process of its own would
			if token, err := store.Tokens("web", s.URL).Token(t.Context(), ""); err != nil || token != "access-2" {
				t.Errorf("%q %v", token, err)
			}
		})
	}
	all.Wait()
	if s.Count("refresh") != 1 {
		t.Errorf("renewed %d times", s.Count("refresh"))
	}
}

// The tokens of one address are not those of another, whatever the server is called.
func TestOtherAddress(t *testing.T) {
	store := Store{t.TempDir()}
	if err := store.Write("web", Grant{Server: "https://one.example/mcp", Access: "a"}); err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]string{"https://one.example/mcp": "a", "https://two.example/mcp": "", "http://one.example/mcp": "", "https://one.example/mcp/": ""} {
		if token, err := store.Tokens("web", server).Token(t.Context(), ""); err != nil || token != want {
			t.Errorf("%s: %q %v", server, token, err)
		}
	}
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a stranger got %s %v", r.Method, r.Header)
	}))
	defer stranger.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a" {
			t.Errorf("without the token: %v", r.Header)
		}
		http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	if err := store.Write("web", Grant{Server: s.URL, Access: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := mcp.OverHTTP(t.Context(), s.URL, nil, mcp.Options{Name: "web", Startup: time.Minute, Call: time.Minute, SignIn: store.Tokens("web", s.URL)}); err == nil {
		t.Error("connected")
	}
}

// What a hostile server or authorization server says ends the sign-in, and no token is asked for.
func TestHostileAuthority(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a stranger got %s %s", r.Method, r.URL)
	}))
	defer stranger.Close()
	moved := func(path string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, stranger.URL+path, http.StatusTemporaryRedirect)
		}))
		t.Cleanup(s.Close)
		return s.URL + path
	}
	for name, tt := range map[string]struct {
		change func(*signintest.Servers)
		want   string
	}{
		"another issuer in the answer":    {func(s *signintest.Servers) { s.Answer = map[string]string{"iss": "https://evil.example"} }, "issuer"},
		"no issuer where one is promised": {func(s *signintest.Servers) { s.Answer = map[string]string{"iss": ""} }, "iss"},
		"another issuer in the metadata":  {func(s *signintest.Servers) { s.Meta = map[string]any{"issuer": "https://evil.example"} }, "issuer"},
		"no PKCE":                         {func(s *signintest.Servers) { s.Meta = map[string]any{"code_challenge_methods_supported": []string{}} }, "PKCE"},
		"a script as the page":            {func(s *signintest.Servers) { s.Meta = map[string]any{"authorization_endpoint": "javascript:alert(1)"} }, "scheme"},
		"a page without TLS": {func(s *signintest.Servers) {
			s.Meta = map[string]any{"authorization_endpoint": "http://evil.example/a"}
		}, "HTTPS"},
		"a page with an escape sequence": {func(s *signintest.Servers) {
			s.Meta = map[string]any{"authorization_endpoint": "https://evil.example/\u202e"}
		}, "cannot be opened|HTTPS"},
		"tokens without TLS":       {func(s *signintest.Servers) { s.Meta = map[string]any{"token_endpoint": "http://evil.example/t"} }, "HTTPS"},
		"tokens elsewhere":         {func(s *signintest.Servers) { s.Meta = map[string]any{"token_endpoint": moved("/token")} }, "redirects to another address"},
		"a registration elsewhere": {func(s *signintest.Servers) { s.Meta = map[string]any{"registration_endpoint": moved("/register")} }, "redirects to another address"},
		"the addresses of a cloud": {func(s *signintest.Servers) {
			s.Meta = map[string]any{"registration_endpoint": "https://169.254.169.254/latest"}
		}, "non-public|169.254.169.254"},
		"a refusal in the answer": {func(s *signintest.Servers) { s.Answer = map[string]string{"error": "access_denied\x1b[2J", "code": ""} }, "refused: access_denied␛"},
		"no sign-in is wanted":    {func(s *signintest.Servers) { s.Open = true }, "asks for none"},
	} {
		t.Run(name, func(t *testing.T) {
			s := signintest.New(t)
			tt.change(s)
			g, err := Login(t.Context(), Options{Server: s.URL, Show: func(page, _ string) {
				if u, err := url.Parse(page); err == nil && u.Host == s.Issuer[len("http://"):] {
					s.Browse(page)
				}
			}})
			held := false
			for _, want := range strings.Split(tt.want, "|") {
				held = held || err != nil && strings.Contains(err.Error(), want)
			}
			if !held || g.Access != "" || s.Count("code") != 0 {
				t.Errorf("%v, %d codes redeemed", err, s.Count("code"))
			}
		})
	}
}

// Any page of the browser can send requests to the port of the answer. They end nothing.
func TestForeignAnswers(t *testing.T) {
	s := signintest.New(t)
	_, err := Login(t.Context(), Options{Server: s.URL, Show: func(page, _ string) {
		u, _ := url.Parse(page)
		back := u.Query().Get("redirect_uri")
		for _, foreign := range []string{back, back + "?state=&code=x", back + "?state=guess&code=x&error=no", strings.TrimSuffix(back, "/callback") + "/?state=" + url.QueryEscape(u.Query().Get("state"))} {
			if status := s.Browse(foreign); status != http.StatusBadRequest {
				t.Errorf("%s: %d", foreign, status)
			}
		}
		if resp, err := http.PostForm(back+"?state="+url.QueryEscape(u.Query().Get("state")), url.Values{"code": {"x"}}); err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%v %v", resp, err)
		}
		if status := s.Browse(page); status != http.StatusOK {
			t.Errorf("the real answer: %d", status)
		}
	}})
	if err != nil || s.Count("code") != 1 {
		t.Errorf("%v, %d codes redeemed", err, s.Count("code"))
	}
}

// A sign-in that a person leaves ends with its context.
func TestLeft(t *testing.T) {
	s := signintest.New(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	if _, err := Login(ctx, Options{Server: s.URL, Show: func(string, string) { cancel(gone) }}); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

// A server on the public internet cannot send codeagent to addresses inside, and what is named can be
// reached.
func TestDoor(t *testing.T) {
	host := func(text string) sandbox.HostPort {
		h, err := sandbox.ParseHostPort(text)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	at, _ := url.Parse("https://mcp.example.com/mcp")
	d := newDoor(at, []sandbox.HostPort{host("auth.corp:443")})
	for _, tt := range []struct {
		host, address string
		open          bool
	}{
		{"mcp.example.com:443", "93.184.215.14", true},
		{"login.example.com:443", "93.184.215.15", true},
		{"login.example.com:443", "127.0.0.1", false},
		{"login.example.com:443", "10.0.0.1", false},
		{"login.example.com:443", "169.254.169.254", false},
		{"login.example.com:443", "::1", false},
		{"login.example.com:443", "64:ff9b::a00:1", false},
		{"auth.corp:443", "10.0.0.1", true},
		{"auth.corp:8443", "10.0.0.1", false},
		{"mcp.example.com:443", "10.9.9.9", true}, // the user's own choice
		{"login.example.com:443", "10.9.9.9", false},
		{"mcp.example.com:22", "10.0.0.1", false},
	} {
		if err := d.judge(host(tt.host), netip.MustParseAddr(tt.address)); (err == nil) != tt.open {
			t.Errorf("%s at %s: %v", tt.host, tt.address, err)
		}
	}
	// It is asked about real connections.
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer inside.Close()
	if resp, err := d.client().Get(inside.URL); err == nil || !strings.Contains(err.Error(), "--allow-host 127.0.0.1:") {
		t.Errorf("%v %v", resp, err)
	}
	own, _ := url.Parse(inside.URL)
	if _, err := newDoor(own, nil).client().Get(inside.URL); err != nil {
		t.Error(err)
	}
	// Nothing is sent in plain text over a network.
	if resp, err := newDoor(at, nil).client().Get("http://mcp.example.com/"); err == nil || !strings.Contains(err.Error(), "without https") {
		t.Errorf("%v %v", resp, err)
	}
}
