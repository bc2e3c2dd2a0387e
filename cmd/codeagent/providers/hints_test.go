package providers

import (
	"context"
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
