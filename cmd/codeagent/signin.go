package main

import (
	"context"
	"errors"
	"iter"

	"codeagent/config"
	"codeagent/model"
)

// hinting is a client that says what to set when the provider does not accept
// the key, or is not at that address. All that asks a provider goes through it: a
// turn on the screen or in exec, a list of models, doctor.
type hinting struct {
	client
	key, address []string
}

func (h hinting) Models(ctx context.Context) ([]string, error) {
	served, err := h.client.Models(ctx)
	return served, h.hinted(err)
}

func (h hinting) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		h.client.Stream(ctx, r)(func(d model.Delta, err error) bool { return yield(d, h.hinted(err)) })
	}
}

func (h hinting) hinted(err error) error {
	switch {
	case notSignedIn(err):
		return &hintError{err: err, code: exitSignIn, hints: h.key}
	case notThere(err) && len(h.address) > 0:
		return &hintError{err: err, code: exitFailed, hints: h.address}
	}
	return err
}

// notSignedIn: the key is missing, wrong, or may not use the model.
func notSignedIn(err error) bool {
	var refused *model.Error
	return errors.As(err, &refused) && refused.Kind == model.SignIn
}

// notThere: the server has nothing at the address that was asked.
func notThere(err error) bool {
	var refused *model.Error
	return errors.As(err, &refused) && refused.Status == 404
}

// keyHints say what to set for the key of p.
func (b *box) keyHints(p config.Provider) []string { return p.KeyHints(b.s.env, b.paths.File) }
