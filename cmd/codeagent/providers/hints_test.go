package providers

import (
	"context"
	"crypto/tls"
	"errors"
	"iter"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/model"
)

// An error of a provider reads in plain words, and says what to do: no name of a kind
// within codeagent stands in it.
func TestErrorsOfProvidersSayWhatToDo(t *testing.T) {
	h := hintClient{key: []string{"set OPENAI_API_KEY"}, address: []string{"set base_url"}, wire: "set wire"}
	for kind, want := range map[model.ErrorKind]string{
		model.SignIn: "set OPENAI_API_KEY", model.RateLimited: "wait and send it again", model.ContextFull: "new session",
		model.Transport: "codeagent doctor", model.ServerFault: "later",
	} {
		err := h.hinted(&model.Error{Kind: kind, Status: 499}, nil)
		code, message, hints := cli.ExitOf(err)
		all := message + "\n" + strings.Join(hints, "\n")
		if !strings.Contains(all, want) || strings.Contains(all, string(kind)) && strings.Contains(string(kind), "_") || strings.Contains(all, "model: ") {
			t.Errorf("%s: %d %s", kind, code, all)
		}
		if signIn := kind == model.SignIn; signIn != (code == cli.ExitSignIn) {
			t.Errorf("%s ends with %d", kind, code)
		}
	}
	plain := errors.New("something else")
	if err := h.hinted(plain, nil); !errors.Is(err, plain) || err.Error() != plain.Error() {
		t.Errorf("%v", err)
	}
}

// A model that the provider does not have, a certificate that cannot be verified and a server without TLS each say
// what to do; another 404 is about the address.
func TestHintsOfCauses(t *testing.T) {
	h := hintClient{address: []string{"set base_url"}}
	for want, err := range map[string]*model.Error{
		"--model NAME":  {Kind: model.BadRequest, Status: 404, Message: "The model `x` does not exist"},
		"set base_url":  {Kind: model.BadRequest, Status: 404, Message: "not found"},
		"SSL_CERT_FILE": {Kind: model.Transport, Err: &tls.CertificateVerificationError{Err: errors.New("x509")}},
		"http://":       {Kind: model.Transport, Err: tls.RecordHeaderError{Msg: "first record"}},
	} {
		if _, _, hints := cli.ExitOf(h.hinted(err, h.address)); len(hints) != 1 || !strings.Contains(hints[0], want) {
			t.Errorf("%v: %q, want %s", err, hints, want)
		}
	}
}

// listed is an adapter whose provider lists every model with a context of 32,768 tokens.
type listed struct{ client }

func (listed) Listing(string) (model.Listing, bool) { return model.Listing{Window: 32_768}, true }
func (listed) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) { yield(model.Finished{}, nil) }
}

// An answer brings the context by the provider's list, unless the settings say it.
func TestContextOfTheList(t *testing.T) {
	for name, want := range map[string]int{"set": 0, "other": 32_768} {
		h := hintClient{client: listed{}, prices: &prices{client: listed{}, own: func(string) model.Price { return model.Price{} }, sized: func(name string) bool { return name == "set" }}}
		for d := range h.Stream(t.Context(), model.Request{Model: name}) {
			if got := d.(model.Finished).Window; got != want {
				t.Errorf("%s: %d", name, got)
			}
		}
	}
	for want, c := range map[int64]Chosen{8_000: {Limits: config.ModelLimits{Context: 8_000}, Model: listed{}}, 32_768: {Model: listed{}, kept: 1}, 1: {kept: 1}} {
		if got := c.Context(); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}
