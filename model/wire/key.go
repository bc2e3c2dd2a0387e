package wire

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"codeagent/model"
)

// keyring holds a key that KeyFrom returns when it is first needed, and again when the
// provider rejects it: keys of clouds are valid for an hour.
type keyring struct {
	from func(context.Context) (string, error)

	mu   sync.Mutex
	key  string   // guarded by mu; empty: not known
	seen []string // guarded by mu; all keys so far, which errors must not show
}

// get returns the key. It calls KeyFrom if the key is not known, or is the rejected one.
func (k *keyring) get(ctx context.Context, refused string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != "" && k.key != refused {
		return k.key, nil
	}
	key, err := k.from(ctx)
	key = strings.TrimSpace(key)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", &model.Error{Kind: model.SignIn, Message: clean("no key: " + err.Error()), Err: err}
	case key == "" || strings.ContainsAny(key, "\r\n"):
		return "", &model.Error{Kind: model.SignIn, Message: "no key: the command for it printed nothing, or more than one line"}
	}
	k.key = key
	if !slices.Contains(k.seen, key) {
		k.seen = append(k.seen, key)
	}
	return key, nil
}

// secrets returns the keys so far; nil for a nil keyring.
func (k *keyring) secrets() []string {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.seen)
}

// send sends req with the key, and once more with a new key if the provider rejects it.
func (k *keyring) send(req *http.Request, do func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	key, err := k.get(req.Context(), "")
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := do(req)
	e := new(model.Error)
	if !errors.As(err, &e) || e.Status != http.StatusUnauthorized || req.GetBody == nil && req.Body != nil {
		return resp, err
	}
	fresh, kerr := k.get(req.Context(), key)
	if kerr != nil || fresh == key {
		return resp, err
	}
	if req.GetBody != nil {
		if req.Body, kerr = req.GetBody(); kerr != nil {
			return resp, err
		}
	}
	req.Header.Set("Authorization", "Bearer "+fresh)
	return do(req)
}
