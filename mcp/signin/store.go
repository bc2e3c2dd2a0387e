package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

// Store keeps what sign-ins gave, a file for each server. No command can read its folder.
type Store struct{ Dir string }

// maxKept bounds a file, in bytes.
const maxKept = 256 << 10

func (s Store) file(name string) string { return filepath.Join(s.Dir, name+".json") }

// Read returns what the sign-in to the server called name gave, if that was one to the URL server.
func (s Store) Read(ctx context.Context, name, server string) (g Grant, ok bool, err error) {
	data, err := hostfile.Read(ctx, s.file(name), maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return g, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil {
		return Grant{}, false, fmt.Errorf("the sign-in to %s: %w", name, err)
	}
	if g.Server != server || g.Access == "" {
		return Grant{}, false, nil
	}
	return g, true, nil
}

// Write keeps what a sign-in gave.
func (s Store) Write(name string, g Grant) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return hostfile.Write(s.file(name), data, 0o600)
}

// Has reports whether there is a sign-in under that name, to whatever address.
func (s Store) Has(name string) bool {
	_, err := hostfile.Lstat(s.file(name))
	return err == nil
}

// Remove forgets a sign-in, and reports whether there was one.
func (s Store) Remove(name string) (bool, error) {
	err := hostfile.Remove(s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Tokens gives the tokens of one server. It is safe for concurrent use, and so are several of them,
// also in several processes.
type Tokens struct {
	store        Store
	name, server string

	mu  sync.Mutex
	now Grant // guarded by mu
}

// Tokens returns the tokens for the server called name at a URL.
func (s Store) Tokens(name, server string) *Tokens {
	return &Tokens{store: s, name: name, server: server}
}

// early is how long before its end a token is no longer used.
const early = 30 * time.Second

// Token returns a token for the server; "": there is no sign-in, or it has ended. refused is the token
// that the server has just refused, or "": then another one is asked for.
func (t *Tokens) Token(ctx context.Context, refused string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if usable(t.now, refused) {
		return t.now.Access, nil
	}
	g, ok, err := t.store.Read(ctx, t.name, t.server)
	if err != nil || !ok {
		t.now = Grant{}
		return "", err
	}
	if !usable(g, refused) {
		if g, ok, err = t.refreshed(ctx, refused); err != nil || !ok {
			return "", err
		}
	}
	t.now = g
	return g.Access, nil
}

func usable(g Grant, refused string) bool {
	return g.Access != "" && g.Access != refused && (g.Expires.IsZero() || time.Until(g.Expires) > early)
}

// refreshed asks the authorization server for another token. A refresh token may be used once, so
// one process at a time does that, and another takes what it got.
func (t *Tokens) refreshed(ctx context.Context, refused string) (g Grant, ok bool, err error) {
	unlock, err := hostfile.Lock(t.store.Dir)
	if err != nil {
		return g, false, err
	}
	defer unlock()
	g, ok, err = t.store.Read(ctx, t.name, t.server)
	if err != nil || !ok || usable(g, refused) {
		return g, ok, err
	}
	if g.Refresh == "" {
		return g, false, nil
	}
	at, err := url.Parse(g.TokenURL)
	if err != nil || !safe(at) {
		return g, false, fmt.Errorf("the sign-in to %s: its token_url is not valid", t.name)
	}
	// The login has judged this host, and its own certificate says that it is the same.
	via := newDoor(at, append([]sandbox.HostPort{hostOf(at)}, g.Hosts...)).client()
	c := oauth2.Config{ClientID: g.ClientID, ClientSecret: g.ClientSecret, Scopes: g.Scopes, Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: oauth2.AuthStyle(g.Style)}}
	fresh, err := c.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, via), &oauth2.Token{RefreshToken: g.Refresh}).Token()
	var answered *oauth2.RetrieveError
	switch {
	case errors.As(err, &answered) && answered.Response != nil && slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized}, answered.Response.StatusCode):
		return g, false, nil // the sign-in has ended
	case err != nil:
		return g, false, fmt.Errorf("the sign-in to %s cannot be renewed: %w", t.name, err)
	}
	if err := g.take(fresh); err != nil {
		return g, false, err
	}
	return g, true, t.store.Write(t.name, g)
}
