package settings_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"codeagent/tui/keys"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/settings"
	"codeagent/tui/tuitest/overlaytest"
)

// rig is the list over a file and a session that are maps.
type rig struct {
	overlaytest.Person
	file  map[string]string
	mouse string
	used  string
}

func start(t *testing.T) *rig {
	r := &rig{Person: overlaytest.Person{T: t}, file: map[string]string{"tui.notify": "bell"}, mouse: "true"}
	table := []settings.Setting{
		{Key: "model", Value: "groq/llama", Source: "--model", Fixed: true, About: "The model to ask."},
		{Key: "ask_for_approval", Value: "on-request", About: "When to ask.", Choices: []string{"untrusted", "on-request", "never"}},
		{Key: "context.compact_at", Value: "80", About: "How full the context may become."},
		{Key: "tui.mouse", Value: "true", About: "false leaves wheel and drag to the terminal.", Choices: []string{"true", "false"}},
		{Key: "tui.title", Value: "true", About: "The terminal's title.", Choices: []string{"true", "false"}},
		{Key: "tui.notify", Value: "auto", About: "How you are called.", Choices: []string{"auto", "bell", "off"}},
		{Key: "web_search", Value: "false", About: "true lets the provider search the web with its own tool, where it has one; the answer shows the sources. No question is asked, so it stays off with sandbox.mode = \"strict\", with granular where that refuses network or fetch, and where the tool fetch_url is off.", Choices: []string{"true", "false"}},
		{Key: "reasoning_effort", About: "How long the model may think.", Choices: []string{"", "low", "high"}},
	}
	l := settings.List{
		Setting: part.Setting{Keys: keys.Standard(), Now: time.Now},
		Read: func(context.Context) ([]settings.Setting, error) {
			out := append([]settings.Setting{}, table...)
			for i := range out {
				if v, ok := r.file[out[i].Key]; ok {
					out[i].Value, out[i].Source = v, "config.toml:3"
				} else if out[i].Source == "" {
					out[i].Source = "default"
				}
			}
			return out, nil
		},
		Write: func(_ context.Context, key, value string) (string, error) {
			if value == "999" {
				return "", errors.New("cannot keep context.compact_at: use a whole number from 0 to 95")
			}
			r.file[key] = value
			return "kept in config.toml: " + key + " = " + value, nil
		},
		Live: map[string]settings.Live{
			"tui.mouse":        {Now: func() string { return r.mouse }, Use: func(v string) part.Intent { r.mouse = v; return nil }},
			"ask_for_approval": {Now: func() string { return "on-request" }, Use: func(v string) part.Intent { r.used = v; return nil }},
			"model":            {Show: func() part.Intent { return part.Show{Overlay: picker.New(keys.Standard(), "Models")} }},
		},
	}
	r.Do(l.Show())
	return r
}

func (r *rig) enter() { r.Press("enter") }

func (r *rig) find(text string) {
	r.Press("ctrl+u")
	r.Write(text)
}

// TestSettings: a value is changed for the session where that is possible, else in the file; the list says where
// each comes from.
func TestSettings(t *testing.T) {
	r := start(t)
	r.Golden("settings")
	r.Has("--model sets it for this run")

	// One with long words keeps its value, its source and the answer in sight.
	r.find("web_search")
	r.Golden("settings-long")
	r.find("")

	// One that is true or false changes at once: for the session, and kept by another key.
	r.find("mouse")
	if r.enter(); r.mouse != "false" || r.file["tui.mouse"] != "" {
		t.Errorf("the mouse is %s, the file says %q", r.mouse, r.file["tui.mouse"])
	}
	r.Has("false", "this session", "keeps its value")
	if r.Press("ctrl+s"); r.file["tui.mouse"] != "false" || strings.Contains(r.Notes, "next start") {
		t.Errorf("kept %q: %s", r.file["tui.mouse"], r.Notes)
	}
	r.Has("config.toml:3")

	// One that cannot change in the session is kept, and that is said.
	r.find("title")
	r.Has("A change holds from the next start on")
	if r.enter(); r.file["tui.title"] != "false" || !strings.Contains(r.Notes, "it holds from the next start on") {
		t.Errorf("kept %q: %s", r.file["tui.title"], r.Notes)
	}

	// Choices are a list, with the present one marked.
	r.find("notify")
	r.enter()
	r.Has("bell ✓", "from the next start on")
	r.find("off")
	if r.enter(); r.file["tui.notify"] != "off" {
		t.Errorf("kept %q", r.file["tui.notify"])
	}
	r.Has("Settings", "tui.notify")
	r.find("effort")
	r.Has("(unset)")
	r.find("approval")
	r.enter()
	r.Has("uses it in this session")
	r.find("never")
	if r.enter(); r.used != "never" || r.file["ask_for_approval"] != "" || r.At != nil {
		t.Errorf("used %q, the file says %q", r.used, r.file["ask_for_approval"])
	}

	// A text is written; what does not fit is said and changes nothing.
	r = start(t)
	r.find("compact")
	r.enter()
	r.find("999")
	r.enter()
	if r.Has("use a whole number from 0 to 95"); r.file["context.compact_at"] != "" {
		t.Error("it was kept")
	}
	r.enter()
	r.find("70")
	if r.enter(); r.file["context.compact_at"] != "70" {
		t.Errorf("kept %q", r.file["context.compact_at"])
	}

	// One with a list of its own opens that, and Esc goes back.
	r.find("model")
	r.enter()
	r.Has("Models", "goes back")
	r.Press("esc")
	r.Has("Settings")
}
