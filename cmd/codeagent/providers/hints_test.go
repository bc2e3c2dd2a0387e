package providers

import (
	"errors"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
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
