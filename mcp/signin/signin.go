// Package signin signs a person in to an MCP server that is reached by URL, and keeps what that gave:
// OAuth 2.1 as the Model Context Protocol uses it, with the SDK's client flow (authorization code with
// PKCE, dynamic registration, issuer checks). It opens no browser: it says which page to open, and
// waits on loopback for the answer.
//
// Threat: the MCP server, the authorization server that it names and every page in the person's
// browser are hostile. So requests go only to addresses that are public, to the server's own, and to
// those that the person named (door.go); an answer on loopback counts only with the state of this
// sign-in (redirect.go); tokens are kept in a file that no command can read, and are sent to the
// address alone for which they were given (store.go).
//
// Start reading at Login.
package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// Options says where to sign in, and who asks the person.
type Options struct {
	// Server is the URL of the MCP server, and Headers are sent to it.
	Server  string
	Headers map[string]string
	// ClientID and ClientSecret are those of a client that the person registered; empty: codeagent
	// registers itself.
	ClientID, ClientSecret string
	// Port is that of the answer on loopback; 0: any.
	Port int
	// Hosts are hosts of the sign-in that may have an address that is not public.
	Hosts []sandbox.HostPort
	// Show shows the person the page to open. host is where it leads. Both are safe to show.
	Show func(page, host string)
}

// Grant is what a sign-in gave. It holds secrets.
type Grant struct {
	Server       string             `json:"server"` // the URL that it is for
	TokenURL     string             `json:"token_url"`
	ClientID     string             `json:"client_id"`
	ClientSecret string             `json:"client_secret,omitempty"`
	Style        int                `json:"style"` // an oauth2.AuthStyle
	Scopes       []string           `json:"scopes,omitempty"`
	Hosts        []sandbox.HostPort `json:"hosts,omitempty"`
	Access       string             `json:"access"`
	Refresh      string             `json:"refresh,omitempty"`
	Expires      time.Time          `json:"expires,omitzero"`
}

// Bounds of a sign-in.
const (
	// patience is how long the person has.
	patience = 10 * time.Minute
	// requestTime bounds each request.
	requestTime = 30 * time.Second
	// maxPage bounds the URL of the page to open, in bytes, and maxWords an error.
	maxPage  = 8 << 10
	maxWords = 600
)

// initialize is the request to which a server answers that it wants a sign-in.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"codeagent","version":"1"}}}`

// Login signs the person in. Errors are safe to show.
func Login(ctx context.Context, o Options) (Grant, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("nobody signed in within ten minutes"))
	defer cancel()
	g, err := login(ctx, o)
	switch {
	case err != nil && ctx.Err() != nil:
		return Grant{}, context.Cause(ctx)
	case err != nil:
		return Grant{}, errors.New(visible.Line(short.Cut(err.Error(), maxWords)))
	}
	return g, nil
}

func login(ctx context.Context, o Options) (Grant, error) {
	at, err := url.Parse(o.Server)
	if err != nil {
		return Grant{}, err
	}
	if !safe(at) {
		return Grant{}, errors.New("a sign-in needs https:// in the server's url")
	}
	via := newDoor(at, o.Hosts).client()
	req, resp, err := ask(ctx, via, o)
	if err != nil {
		return Grant{}, err
	}
	if resp.StatusCode != http.StatusUnauthorized {
		resp.Body.Close()
		return Grant{}, fmt.Errorf("the server answered HTTP %d without a sign-in: it asks for none", resp.StatusCode)
	}
	answer, err := listen(o.Port)
	if err != nil {
		resp.Body.Close()
		return Grant{}, err
	}
	defer answer.close()
	g := Grant{Server: o.Server, Hosts: o.Hosts}
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: answer.url, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: via,
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return answer.fetch(ctx, a.URL, o.Show)
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			g.TokenURL, g.ClientID, g.ClientSecret, g.Style, g.Scopes = c.Endpoint.TokenURL, c.ClientID, c.ClientSecret, int(c.Endpoint.AuthStyle), c.Scopes
			return oauth2.StaticTokenSource(t), g.take(t)
		},
	}
	if o.ClientID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ClientID}
		if o.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
		}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "codeagent", RedirectURIs: []string{answer.url}, GrantTypes: []string{"authorization_code", "refresh_token"},
			ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		resp.Body.Close()
		return Grant{}, err
	}
	if err := handler.Authorize(ctx, req, resp); err != nil {
		return Grant{}, err
	}
	return g, nil
}

// ask sends the request to which the server answers that it wants a sign-in.
func ask(ctx context.Context, via *http.Client, o Options) (*http.Request, *http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.Server, strings.NewReader(initialize))
	if err != nil {
		return nil, nil, err
	}
	for name, value := range o.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := via.Do(req)
	return req, resp, err
}

// take takes a token of an answer.
func (g *Grant) take(t *oauth2.Token) error {
	if t.AccessToken == "" || !strings.EqualFold(t.Type(), "bearer") || strings.ContainsFunc(t.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the authorization server gave no bearer token")
	}
	g.Access, g.Expires = t.AccessToken, t.Expiry
	if t.RefreshToken != "" { // otherwise the old one stays valid
		g.Refresh = t.RefreshToken
	}
	return nil
}

// safe reports an address that nobody on the way can read: https, or this machine.
func safe(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	local := err == nil && ip.IsLoopback() || strings.EqualFold(u.Hostname(), "localhost")
	return u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && local)
}
