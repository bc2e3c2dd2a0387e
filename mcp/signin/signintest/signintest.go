// Package signintest is an MCP server that wants a sign-in, and the authorization server for it, on
// loopback. Its fields make it misbehave. Start at New.
package signintest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
)

// Servers are the two. Set the fields before the first request.
type Servers struct {
	// URL is that of the MCP server, and Issuer of the authorization server.
	URL, Issuer string
	// Meta replaces fields of the authorization server's metadata, and Answer parameters of the
	// redirect; an empty value removes one.
	Meta   map[string]any
	Answer map[string]string
	// Lives is how long an access token is said to be valid, in seconds.
	Lives int
	// Open: the MCP server wants no sign-in.
	Open bool

	t       T
	mu      sync.Mutex
	pages   map[string]url.Values // by code
	tokens  int
	refresh string
	valid   map[string]bool
	counts  map[string]int
}

// T is what New needs of a test.
type T interface {
	Errorf(format string, args ...any)
	Cleanup(func())
}

// New starts both servers, which end with the test.
func New(t T) *Servers {
	s := &Servers{t: t, Lives: 3600, pages: map[string]url.Values{}, valid: map[string]bool{}, counts: map[string]int{}}
	resource := httptest.NewUnstartedServer(http.HandlerFunc(s.resource))
	authority := httptest.NewUnstartedServer(http.HandlerFunc(s.authority))
	// Set before either serves: what answers a request reads them.
	s.URL, s.Issuer = "http://"+resource.Listener.Addr().String()+"/mcp", "http://"+authority.Listener.Addr().String()
	for _, server := range []*httptest.Server{resource, authority} {
		server.Start()
		t.Cleanup(server.Close)
	}
	return s
}

// Count is how often something was asked for: "code", "refresh", "register", "tools/list" and others.
func (s *Servers) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

// Revoke makes all access tokens invalid, and with refresh also the refresh token.
func (s *Servers) Revoke(refresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.valid)
	if refresh {
		s.refresh = ""
	}
}

// Browse opens a page as a browser with a person who says yes, and returns the last status.
func (s *Servers) Browse(page string) int {
	resp, err := http.Get(page)
	if err != nil {
		s.t.Errorf("%v", err)
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func (s *Servers) resource(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/mcp" {
		send(w, map[string]any{"resource": s.URL, "authorization_servers": []string{s.Issuer}})
		return
	}
	s.mu.Lock()
	open := s.Open || s.valid[r.Header.Get("Authorization")]
	s.mu.Unlock()
	if !open {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL[:len(s.URL)-len("/mcp")]+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	data, err := io.ReadAll(r.Body)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		s.t.Errorf("%v", err)
	}
	s.mu.Lock()
	s.counts[m.Method]++
	s.mu.Unlock()
	switch {
	case m.Method == "initialize":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
	case m.Method == "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`, m.ID)
	case m.Method == "tools/call":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"hello"}]}}`, m.ID)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (s *Servers) authority(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := r.ParseForm(); err != nil {
		s.t.Errorf("%v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		meta := map[string]any{
			"issuer": s.Issuer, "authorization_endpoint": s.Issuer + "/authorize", "token_endpoint": s.Issuer + "/token",
			"registration_endpoint": s.Issuer + "/register", "code_challenge_methods_supported": []string{"S256"},
			"response_types_supported": []string{"code"}, "authorization_response_iss_parameter_supported": true,
		}
		maps.Copy(meta, s.Meta)
		send(w, meta)
	case "/register":
		s.counts["register"]++
		var client map[string]any
		if err := json.NewDecoder(r.Body).Decode(&client); err != nil {
			s.t.Errorf("%v", err)
		}
		client["client_id"] = "client-1"
		w.WriteHeader(http.StatusCreated)
		send(w, client)
	case "/authorize":
		s.authorize(w, r)
	case "/token":
		s.token(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *Servers) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("resource") != s.URL || q.Get("response_type") != "code" {
		s.t.Errorf("the page is asked for with %v", q)
	}
	code := fmt.Sprint("code-", len(s.pages)+1)
	s.pages[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.Issuer}}
	for name, value := range s.Answer {
		if back.Set(name, value); value == "" {
			back.Del(name)
		}
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *Servers) token(w http.ResponseWriter, r *http.Request) {
	f := r.PostForm
	switch f.Get("grant_type") {
	case "authorization_code":
		s.counts["code"]++
		page, ok := s.pages[f.Get("code")]
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != page.Get("code_challenge") || f.Get("redirect_uri") != page.Get("redirect_uri") || f.Get("resource") != s.URL {
			s.t.Errorf("a code is redeemed with %v for a page with %v", f, page)
		}
		delete(s.pages, f.Get("code"))
	case "refresh_token":
		s.counts["refresh"]++
		if s.refresh == "" || f.Get("refresh_token") != s.refresh || f.Get("client_id") == "" {
			w.WriteHeader(http.StatusBadRequest)
			send(w, map[string]any{"error": "invalid_grant"})
			return
		}
	default:
		s.t.Errorf("%v", f)
	}
	s.tokens++
	access := fmt.Sprint("access-", s.tokens)
	s.refresh = fmt.Sprint("refresh-", s.tokens)
	s.valid["Bearer "+access] = true
	send(w, map[string]any{"access_token": access, "refresh_token": s.refresh, "token_type": "Bearer", "expires_in": s.Lives})
}

func send(w io.Writer, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}
