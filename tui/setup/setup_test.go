package setup_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/internal/golden"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/setup"
	"codeagent/tui/tuitest"
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

// person presses keys, and looks.
type person struct {
	t     *testing.T
	at    part.Overlay
	said  string
	done  setup.Choice
	later []func() part.Intent // what runs beside the screen and has not come back
	slow  bool                 // it does not come back by itself
}

func start(t *testing.T, w *work, why string) *person {
	p := &person{t: t}
	s := setup.Setup{
		Setting: part.Setting{Keys: keys.Standard(), Now: time.Now}, Work: w, Why: why,
		Tour: func() part.Intent { p.said = "tour"; return part.Quit{} },
		Done: func(c setup.Choice, words string) part.Intent { p.done, p.said = c, words; return part.Quit{} },
	}
	p.do(s.Show())
	return p
}

func (p *person) do(intent part.Intent) {
	switch w := intent.(type) {
	case part.Show:
		if p.at = w.Overlay; w.Overlay != nil {
			p.do(w.Overlay.Load())
		}
	case part.Beside:
		next := w(p.t.Context())
		if p.slow {
			p.later = append(p.later, next)
			return
		}
		p.do(next())
	case part.All:
		for _, one := range w {
			p.do(one)
		}
	}
}

func (p *person) press(names ...string) {
	p.t.Helper()
	codes := map[string]keys.Key{
		"enter": {Code: '\r'}, "esc": {Code: 0x1b}, "end": {Code: tea.KeyEnd}, "backspace": {Code: 0x7f},
		"ctrl+x": {Code: 'x', Mod: tea.ModCtrl}, "ctrl+r": {Code: 'r', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+t": {Code: 't', Mod: tea.ModCtrl}, "ctrl+y": {Code: 'y', Mod: tea.ModCtrl}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl},
	}
	for _, name := range names {
		k, ok := codes[name]
		if !ok {
			p.t.Fatal(name)
		}
		intent, _ := p.at.Key(k)
		p.do(intent)
	}
}

func (p *person) write(text string) {
	for _, r := range text {
		intent, _ := p.at.Key(keys.Key{Code: r, Text: string(r)})
		p.do(intent)
	}
}

func (p *person) screen(w, h int) string {
	p.t.Helper()
	lines, x, y := p.at.View(paint.New(true), w, h)
	if len(lines) != h || x >= w || y >= h {
		p.t.Errorf("%d lines of %d, cursor at %d, %d", len(lines), h, x, y)
	}
	for i, l := range lines {
		if ansi.StringWidth(l) > w {
			p.t.Errorf("line %d is wider than %d: %q", i, w, l)
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (p *person) has(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if s := p.screen(100, 30); !strings.Contains(s, text) {
			p.t.Errorf("no %q in\n%s", text, s)
		}
	}
}

// TestSetup goes the whole way: a provider, a key that is refused and one that is not, a model that does not
// answer and one that does. The key is on no screen.
func TestSetup(t *testing.T) {
	w := &work{list: providers(), models: 120}
	p := start(t, w, "No model is configured yet.")
	sizes := func(name string) {
		t.Helper()
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
			golden.Check(t, fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]), p.screen(size[0], size[1]))
		}
	}
	secret := func(key string) {
		t.Helper()
		for _, size := range [][2]int{{20, 3}, {40, 15}, {120, 40}} {
			if strings.Contains(p.screen(size[0], size[1]), key) {
				t.Errorf("the key is shown:\n%s", p.screen(size[0], size[1]))
			}
		}
	}
	sizes("providers")
	p.write("groq")
	p.press("enter")
	sizes("key-empty")
	p.write("bad")
	secret("bad")
	p.press("enter")
	sizes("key-refused")
	p.press("enter") // another key
	p.at.Paste("good-key-value\n")
	secret("good-key")
	sizes("key")
	p.press("enter")
	p.has("Model of groq", "121", "128k · images")
	sizes("models")
	p.write("el-7")
	p.press("enter")
	sizes("no-answer")
	secret("good-key")
	p.press("esc")
	p.has("Model of groq", "el-7")
	p.write("7")
	p.press("enter")
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
	p.press("enter")
	if p.done.Title() != "ollama/qwen3:8b" || w.tries != 1 {
		t.Errorf("%+v after %d tries", p.done, w.tries)
	}
	p = start(t, w, "")
	p.write("all 4")
	p.press("enter")
	p.has("Model of ollama", "family/model-3")
	p = start(t, w, "")
	p.write("tour")
	if p.press("enter"); p.said != "tour" {
		t.Errorf("%q", p.said)
	}
}

// TestSetupAddress: another address is checked, its key may be left empty, and a model that nothing lists can
// be named.
func TestSetupAddress(t *testing.T) {
	w := &work{list: providers()}
	p := start(t, w, "")
	p.press("end", "enter")
	p.write("llm.example.com")
	p.press("enter")
	p.has("must look like https://host/v1")
	p.press("ctrl+u")
	p.write("http://llm.example.com/v1")
	p.has("http://llm.example.com/v1")
	p.press("enter")
	p.has("not encrypted", "llm-example-com")
	p.press("enter", "enter")
	p.has("model ")
	p.write("mine")
	p.press("enter")
	if want := (setup.Choice{Provider: "llm-example-com", Address: "http://llm.example.com/v1", Model: "mine"}); w.kept != want {
		t.Errorf("%+v", w.kept)
	}
}

// TestSetupKeys: a kept key is replaced and forgotten in the same list; one of a variable is not.
func TestSetupKeys(t *testing.T) {
	w := &work{list: providers(), models: 2}
	p := start(t, w, "")
	p.write("openai")
	if s := p.screen(100, 30); strings.Contains(s, "another key") || strings.Contains(s, "forgets") {
		t.Errorf("a key of the environment can be changed:\n%s", s)
	}
	p.press("ctrl+x", "ctrl+r")
	p = start(t, w, "")
	p.write("mistral")
	p.has("enters another key", "forgets its key")
	p.press("ctrl+x")
	p.has("Forget the kept key of “mistral”?")
	p.press("enter")
	if p.has("the key of mistral is forgotten"); w.gone != "mistral" {
		t.Errorf("forgot %q", w.gone)
	}
	p.press("ctrl+r")
	p.has("Key of mistral")
	p.press("enter")
	p.has("a key has no spaces") // an empty one
	p.write("x y")
	p.press("enter")
	p.has("a key has no spaces")
	p.press("ctrl+u")
	p.write("another")
	p.press("enter", "enter")
	if w.kept.Key != "another" || w.kept.Provider != "mistral" {
		t.Errorf("%+v", w.kept)
	}
}

// TestKeysStayInTheEntry: while a key is written, no key leads elsewhere, and what was deleted does not come back.
func TestKeysStayInTheEntry(t *testing.T) {
	p := start(t, &work{list: providers()}, "")
	p.write("groq")
	p.press("enter")
	p.write("a-key-value")
	for _, name := range []string{"ctrl+t", "ctrl+y", "ctrl+x", "ctrl+r"} {
		if p.press(name); !strings.Contains(p.screen(80, 24), "11 characters") {
			t.Errorf("%s changed it:\n%s", name, p.screen(80, 24))
		}
	}
	p.press("backspace")
	p.has("10 characters")
	p.press("ctrl+u", "ctrl+y")
	if s := p.screen(80, 24); strings.Contains(s, "characters") {
		t.Errorf("it came back:\n%s", s)
	}
	p.at.Paste(strings.Repeat("k", 40_000))
	p.has("too long")
	p.at.Paste(strings.Repeat("k", 400))
	p.has("400 characters")
	for _, size := range [][2]int{{1, 1}, {10, 2}, {20, 4}, {300, 100}} {
		p.screen(size[0], size[1])
	}
}

// TestAnswerAfterLeaving: what comes back after the person left changes nothing.
func TestAnswerAfterLeaving(t *testing.T) {
	w := &work{list: providers(), models: 2}
	p := start(t, w, "")
	p.write("mistral")
	p.press("enter")
	p.slow = true
	p.press("enter")
	p.has("Trying mistral/family/model-0 …")
	if len(p.later) != 1 {
		t.Fatal(len(p.later))
	}
	answer := p.later[0]
	p.slow = false
	p.press("esc")
	p.has("Model of mistral")
	p.do(answer())
	if p.has("Model of mistral"); p.said != "" {
		t.Errorf("the person left, and then: %q", p.said)
	}
}

// TestCannotKeep: an error of keeping is said, and the steps go on.
func TestCannotKeep(t *testing.T) {
	w := &work{list: providers(), models: 2, broken: errors.New("config.toml: read-only file system")}
	p := start(t, w, "")
	p.press("enter")
	p.has("Cannot keep ollama/qwen3:8b", "read-only file system", "Another provider")
	if p.said != "" {
		t.Error("it is said to be kept")
	}
}

// TestHostileProvider: names of models and errors are shown, not obeyed.
func TestHostileProvider(t *testing.T) {
	for _, nasty := range tuitest.Nasty() {
		w := &hostile{work{list: providers()}, nasty}
		p := start(t, &w.work, "")
		s := setup.Setup{Setting: part.Setting{Keys: keys.Standard(), Now: time.Now}, Work: w, Why: nasty}
		p.do(s.Show())
		drawn := func() {
			t.Helper()
			lines, _, _ := p.at.View(paint.New(true), 60, 20)
			for _, l := range lines {
				tuitest.Harmless(t, l)
			}
		}
		drawn()
		p.write("mistral")
		p.press("enter")
		drawn()
		p.press("enter")
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
