package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// onScreen starts codeagent on a terminal against a provider at url.
func onScreen(t *testing.T, url string, args ...string) (*golden.Terminal, user) {
	t.Helper()
	u := newUser(t, "self", -1)
	cmd := u.codeagent(args...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+url, "OPENAI_API_KEY=test-key-value")
	return golden.Start(t, cmd, 100, 30), u
}

// serve answers request after request, whatever it asks.
func serve(t *testing.T, replies ...scripted.Reply) *scripted.Server {
	t.Helper()
	return answering(t, scripted.InOrder(replies...))
}

// answering answers requests as handle says.
func answering(t *testing.T, handle scripted.Handler) *scripted.Server {
	t.Helper()
	srv, err := scripted.Start(context.Background(), handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func shellCall(command string) scripted.Call {
	return scripted.Call{Name: "shell", Arguments: `{"command":"` + command + `"}`}
}

// TestTroubledProvidersOnTheScreen: the screen reports whatever a provider does, the next
// message works, and quitting restores the terminal.
func TestTroubledProvidersOnTheScreen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		replies []scripted.Reply
		want    []string // on the screen before the next message is typed
	}{
		{"slow", []scripted.Reply{{Text: "it drips but it comes", Piece: 3, Delay: 20 * time.Millisecond}}, []string{"it drips but it comes"}},
		{"dies in the middle", []scripted.Reply{{Text: "first try never ends, does it", Fault: scripted.Drop, After: 2}, {Text: "the second is whole"}}, []string{"the second is whole"}},
		{"429 with Retry-After", []scripted.Reply{
			{Status: 429, Header: http.Header{"Retry-After": {"1"}}, Body: `{"error":{"message":"slow down"}}`}, {Text: "after the wait"},
		}, []string{"after the wait"}},
		{"401", []scripted.Reply{{Status: 401, Body: `{"error":{"message":"bad key test-key-value"}}`}}, []string{"the provider rejected the API key (401)", "set OPENAI_API_KEY to a key of this server", "another variable: api_key_env in"}},
		{"malformed arguments", []scripted.Reply{{Calls: []scripted.Call{{Name: "shell", Arguments: `{"command": `}}}, {Text: "understood"}}, []string{"understood"}},
		{"an unknown tool", []scripted.Reply{{Calls: []scripted.Call{{Name: "no_such_tool", Arguments: "{}"}}}, {Text: "then without"}}, []string{"no_such_tool", "then without"}},
		{"two calls at once", []scripted.Reply{
			{Calls: []scripted.Call{shellCall("echo left-$((1+1))"), shellCall("echo right-$((2+2))")}, Interleave: true}, {Text: "both came"},
		}, []string{"left-2", "right-4", "both came"}},
		// It exceeds the model's context, so the next turn begins with a summary.
		{"10 MB of text", []scripted.Reply{
			{Text: strings.Repeat("words and words\n\n", 10<<20/17) + "the very end", Piece: 8192}, {Text: "many words were said"},
		}, []string{"the very end"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := serve(t, append(tt.replies, scripted.Reply{Text: "still-here"})...)
			term, _ := onScreen(t, srv.URL, "--model", "test", "hello")
			for _, want := range tt.want {
				term.WaitFor(want)
			}
			term.WaitGone("Working")
			term.Write("and now?\r")
			term.WaitFor("still-here")
			if strings.Contains(term.Raw(), "test-key-value") {
				t.Error("the key is on the screen")
			}
			term.Write(leave)
			if err := term.WaitExit(); err != nil {
				t.Errorf("it ended with %v", err)
			}
			if term.AltScreenHeld() {
				t.Error("the terminal is left on the other screen")
			}
		})
	}
}

// TestFirstPictureDoesNotWaitForTheProvider: if no model is named, the provider's list is
// requested with the first message, not before the screen appears.
func TestFirstPictureDoesNotWaitForTheProvider(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	srv := serve(t, scripted.Reply{Text: "hello from the first"})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
			http.Redirect(w, r, srv.URL+"/models", http.StatusTemporaryRedirect)
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	term, _ := onScreen(t, slow.URL+"/v1")
	term.WaitFor("Ask codeagent")
	term.WaitFor(unnamedModel)
	close(answer)
}

// unnamedModel is what the footer shows until the provider has named a model.
const unnamedModel = "the provider's model"

// TestFirstServedModelIsTaken: the name is requested with the first message.
func TestFirstServedModelIsTaken(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Reply{Text: "hello from the first"})
	term, _ := onScreen(t, srv.URL, "hello")
	term.WaitFor("hello from the first")
	term.WaitGone(unnamedModel + " ·") // in the footer
	if got := srv.Requests(); len(got) == 0 || got[len(got)-1].Model == "" {
		t.Errorf("no model was named: %+v", got)
	}
}

// TestNoListOfModels: for a provider without a list the screen shows a helpful line and
// stays usable.
func TestNoListOfModels(t *testing.T) {
	t.Parallel()
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	term, _ := onScreen(t, none.URL+"/v1", "hello")
	term.WaitFor("--model")
	term.WaitFor("Ask codeagent")
}

// TestStoppedTourSaysWhatItLeft: no offer comes after a stop, so the last lines say it.
func TestStoppedTourSaysWhatItLeft(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	term := golden.Start(t, u.codeagent(), 100, 40)
	term.WaitFor("The tour")
	term.Write("\r")
	term.WaitFor("s stop")
	term.Write("\x19") // Ctrl+Y
	term.Write("s")
	term.WaitFor("Stopped")
	term.Write(leave)
	_ = term.WaitExit()
	if !strings.Contains(term.Raw(), "to remove: rm "+u.work+"/codeagent-tour.txt") {
		t.Errorf("the file is not told:\n%s", term.Screen())
	}
}
