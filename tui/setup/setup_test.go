package setup_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/setup"
	"codeagent/tui/tuitest"
	"codeagent/tui/tuitest/overlaytest"
)

// work plays providers: "good" and "another" are keys, and model 7 does not answer.
type work struct {
	list   []setup.Provider
	models int
	kept   setup.Choice
	gone   string
	tries  int
	broken error // what keeping says
}

func (w *work) Place() string {
	return "It is kept in ~/.config/codeagent/keys/keys.json, mode 600: only your user can read that file, and commands in the sandbox cannot."
}
func (w *work) Providers(context.Context) ([]setup.Provider, error) { return w.list, nil }
func (w *work) At(address string) (setup.Provider, error) {
	if !strings.HasPrefix(address, "http") {
		return setup.Provider{}, errors.New("must look like https://host/v1")
	}
	return setup.Provider{Name: "llm-example-com", Host: "llm.example.com", Asks: true, Warning: "this address is not encrypted: others on the network can read the key"}, nil
}
func (w *work) CheckKey(key setup.Key) error {
	if key == "" || strings.Contains(string(key), " ") {
		return errors.New("a key has no spaces")
	}
	return nil
}
func (w *work) Models(_ context.Context, c setup.Choice) (rows []picker.Row, err error) {
	if c.Key == "bad" {
		return nil, errors.New("the provider rejected the API key (401): there is no such key")
	}
	for i := range w.models {
		rows = append(rows, picker.Row{Id: fmt.Sprintf("family/model-%d", i), Text: fmt.Sprintf("family/model-%d", i), About: "128k · images"})
	}
	return rows, nil
}
func (w *work) Try(_ context.Context, c setup.Choice) error {
	if w.tries++; c.Model == "family/model-7" {
		return errors.New("the account has no credit left (402)")
	}
	return nil
}
func (w *work) Keep(_ context.Context, c setup.Choice) (string, error) {
	w.kept = c
	return "kept in ~/.config/codeagent/config.toml: " + c.Title(), w.broken
}
func (w *work) Forget(_ context.Context, provider string) error { w.gone = provider; return nil }

func providers() []setup.Provider {
	return []setup.Provider{
		{Name: "ollama", About: "on this machine", Fixed: true, Models: []string{"qwen3:8b", "gpt-oss:20b", "gemma3", "llama3.2"}},
		{Name: "openai", Host: "api.openai.com", About: "$OPENAI_API_KEY is used", Fixed: true},
		{Name: "mistral", Host: "api.mistral.ai", About: "the kept key", Kept: true},
		{Name: "groq", Host: "api.groq.com", About: "needs a key", Asks: true},
		{Name: "openrouter", Host: "openrouter.ai", About: "needs a key", Asks: true},
	}
}

// player sets up a model, and notes what became of it.
type player struct {
	overlaytest.Person
	said string
	done setup.Choice
}

func start(t *testing.T, w setup.Work, why string) *player {
	p := &player{Person: overlaytest.Person{T: t}}
	s := setup.Setup{
		Setting: part.Setting{Keys: keys.Standard(), Now: time.Now}, Work: w, Why: why,
		Tour: func() part.Intent { p.said = "tour"; return part.Quit{} },
		Done: func(c setup.Choice, words string) part.Intent { p.done, p.said = c, words; return part.Quit{} },
	}
	p.Do(s.Show())
	return p
}

// TestSetup goes the whole way: a provider, a key that is refused and one that is not, a model that does not
// answer and one that does. The key is on no screen.
func TestSetup(t *testing.T) {
	w := &work{list: providers(), models: 120}
	p := start(t, w, "No model is configured yet.")
	secret := func(key string) {
		t.Helper()
		for _, size := range [][2]int{{20, 3}, {40, 15}, {120, 40}} {
			if strings.Contains(p.Screen(size[0], size[1]), key) {
				t.Errorf("the key is shown:\n%s", p.Screen(size[0], size[1]))
			}
		}
	}
	p.Golden("providers")
	p.Write("groq")
	p.Press("enter")
	p.Golden("key-empty")
	p.Write("bad")
	secret("bad")
	p.Press("enter")
	p.Golden("key-refused")
	p.Press("enter") // another key
	p.At.Paste("good-key-value\n")
	secret("good-key")
	p.Golden("key")
	p.Press("enter")
	p.Has("Model of groq", "121", "128k · images")
	p.Golden("models")
	p.Write("el-7")
	p.Press("enter")
	p.Golden("no-answer")
	secret("good-key")
	p.Press("esc")
	p.Has("Model of groq", "el-7")
	p.Write("7")
	p.Press("enter")
	if want := (setup.Choice{Provider: "groq", Key: "good-key-value", Model: "family/model-77"}); w.kept != want || p.done != want || !strings.HasPrefix(p.said, "kept in") {
		t.Errorf("kept %#v %q, done %#v %q", w.kept, string(w.kept.Key), p.done, p.said)
	}
	if all := fmt.Sprintf("%v %+v %#v %s", w.kept, w.kept, w.kept, w.kept.Key); strings.Contains(all, "good") {
		t.Errorf("a choice shows its key: %s", all)
	}
}

// TestSetupLocal: a model of a server on this machine takes one step, the tour too.
func TestSetupLocal(t *testing.T) {
	w := &work{list: providers(), models: 4}
	p := start(t, w, "")
	p.Press("enter")
	if p.done.Title() != "ollama/qwen3:8b" || w.tries != 1 {
		t.Errorf("%+v after %d tries", p.done, w.tries)
	}
	p = start(t, w, "")
	p.Write("all 4")
	p.Press("enter")
	p.Has("Model of ollama", "family/model-3")
	p = start(t, w, "")
	p.Write("tour")
	if p.Press("enter"); p.said != "tour" {
		t.Errorf("%q", p.said)
	}
}

// TestSetupAddress: another address is checked, its key may be left empty, and a model that nothing lists can
// be named.
func TestSetupAddress(t *testing.T) {
	w := &work{list: providers()}
	p := start(t, w, "")
	p.Press("end", "enter")
	p.Write("llm.example.com")
	p.Press("enter")
	p.Has("must look like https://host/v1")
	p.Press("ctrl+u")
	p.Write("http://llm.example.com/v1")
	p.Has("http://llm.example.com/v1")
	p.Press("enter")
	p.Has("not encrypted", "llm-example-com")
	p.Press("enter", "enter")
	p.Has("model ")
	p.Write("mine")
	p.Press("enter")
	if want := (setup.Choice{Provider: "llm-example-com", Address: "http://llm.example.com/v1", Model: "mine"}); w.kept != want {
		t.Errorf("%+v", w.kept)
	}
}

// TestSetupKeys: a kept key is replaced and forgotten in the same list; one of a variable is not.
func TestSetupKeys(t *testing.T) {
	w := &work{list: providers(), models: 2}
	p := start(t, w, "")
	p.Write("openai")
	if s := p.Screen(100, 30); strings.Contains(s, "another key") || strings.Contains(s, "forgets") {
		t.Errorf("a key of the environment can be changed:\n%s", s)
	}
	p.Press("ctrl+x", "ctrl+r")
	p = start(t, w, "")
	p.Write("mistral")
	p.Has("enters another key", "forgets its key")
	p.Press("ctrl+x")
	p.Has("Forget the kept key of “mistral”?")
	p.Press("enter")
	if p.Has("the key of mistral is forgotten"); w.gone != "mistral" {
		t.Errorf("forgot %q", w.gone)
	}
	p.Press("ctrl+r")
	p.Has("Key of mistral")
	p.Press("enter")
	p.Has("a key has no spaces") // an empty one
	p.Write("x y")
	p.Press("enter")
	p.Has("a key has no spaces")
	p.Press("ctrl+u")
	p.Write("another")
	p.Press("enter", "enter")
	if w.kept.Key != "another" || w.kept.Provider != "mistral" {
		t.Errorf("%+v", w.kept)
	}
}

// TestKeysStayInTheEntry: while a key is written, no key leads elsewhere, and what was deleted does not come back.
func TestKeysStayInTheEntry(t *testing.T) {
	p := start(t, &work{list: providers()}, "")
	p.Write("groq")
	p.Press("enter")
	p.Write("a-key-value")
	for _, name := range []string{"ctrl+t", "ctrl+y", "ctrl+x", "ctrl+r"} {
		if p.Press(name); !strings.Contains(p.Screen(80, 24), "11 characters") {
			t.Errorf("%s changed it:\n%s", name, p.Screen(80, 24))
		}
	}
	p.Press("backspace")
	p.Has("10 characters")
	p.Press("ctrl+u", "ctrl+y")
	if s := p.Screen(80, 24); strings.Contains(s, "characters") {
		t.Errorf("it came back:\n%s", s)
	}
	p.At.Paste(strings.Repeat("k", 40_000))
	p.Has("too long")
	p.At.Paste(strings.Repeat("k", 400))
	p.Has("400 characters")
	for _, size := range [][2]int{{1, 1}, {10, 2}, {20, 4}, {300, 100}} {
		p.Screen(size[0], size[1])
	}
}

// TestAnswerAfterLeaving: what comes back after the person left changes nothing.
func TestAnswerAfterLeaving(t *testing.T) {
	w := &work{list: providers(), models: 2}
	p := start(t, w, "")
	p.Write("mistral")
	p.Press("enter")
	p.Slow = true
	p.Press("enter")
	p.Has("Trying mistral/family/model-0 …")
	if len(p.Later) != 1 {
		t.Fatal(len(p.Later))
	}
	answer := p.Later[0]
	p.Slow = false
	p.Press("esc")
	p.Has("Model of mistral")
	p.Do(answer())
	if p.Has("Model of mistral"); p.said != "" {
		t.Errorf("the person left, and then: %q", p.said)
	}
}

// TestCannotKeep: an error of keeping is said, and the steps go on.
func TestCannotKeep(t *testing.T) {
	w := &work{list: providers(), models: 2, broken: errors.New("config.toml: read-only file system")}
	p := start(t, w, "")
	p.Press("enter")
	p.Has("Cannot keep ollama/qwen3:8b", "read-only file system", "Another provider")
	if p.said != "" {
		t.Error("it is said to be kept")
	}
}

// TestHostileProvider: names of models and errors are shown, not obeyed.
func TestHostileProvider(t *testing.T) {
	for _, nasty := range tuitest.Nasty() {
		w := &hostile{work{list: providers()}, nasty}
		p := start(t, w, nasty)
		drawn := func() {
			t.Helper()
			lines, _, _ := p.At.View(paint.New(true), 60, 20)
			for _, l := range lines {
				tuitest.Harmless(t, l)
			}
		}
		drawn()
		p.Write("mistral")
		p.Press("enter")
		drawn()
		p.Press("enter")
		drawn()
	}
}

// hostile is a provider with one text for all.
type hostile struct {
	work
	text string
}

func (h *hostile) Models(context.Context, setup.Choice) ([]picker.Row, error) {
	return []picker.Row{{Id: h.text, Text: h.text, About: h.text}}, nil
}
func (h *hostile) Try(context.Context, setup.Choice) error { return errors.New(h.text) }
