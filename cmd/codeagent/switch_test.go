package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestSwitchOnTheScreen: the person switches to another provider's model during a session. A
// missing model, or one without a key, is refused, and another session is resumed in the same
// process.
func TestSwitchOnTheScreen(t *testing.T) {
	t.Parallel()
	srv := answering(t, func(r scripted.Request) scripted.Reply {
		if r.Model == "absent" {
			return scripted.Reply{Status: 404, Body: `{"error":{"message":"there is no such model"}}`}
		}
		return scripted.Reply{Text: r.Model + " was asked"}
	})
	other := answering(t, func(r scripted.Request) scripted.Reply {
		if strings.Contains(string(r.Body), `"reasoning_effort":"high"`) {
			return scripted.Reply{Text: "the other one answers after long thought"}
		}
		return scripted.Reply{Text: "the other one answers"}
	})
	u := newUser(t, "self", -1)
	settings := "[providers.other]\nbase_url = '" + other.URL + "'\n[providers.locked]\nbase_url = '" + other.URL + "'\nkey_env = 'NO_SUCH_KEY'\n"
	if err := os.MkdirAll(u.home+"/.config/codeagent", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.home+"/.config/codeagent/config.toml", []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) *golden.Terminal {
		cmd := u.codeagent(args...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		return golden.Start(t, cmd, 100, 30)
	}
	cmd := u.codeagent("exec", "--model", "first", "an earlier question")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	if r := run1(t, cmd); r.code != 0 {
		t.Fatal(r)
	}
	term := start("--model", "first")
	term.WaitFor("Ask codeagent")
	term.Write("a question\r")
	term.WaitFor("first was asked")
	term.WaitGone(working)
	term.Write("/model absent\r")
	term.WaitFor("there is no such model")
	term.WaitFor("still using first")
	term.WaitGone(switching)
	listModels(t, term, "first ✓", "other/scripted") // of the provider in the settings
	term.Write("other")
	term.WaitFor("› other/scripted")
	term.Write("\r")
	term.WaitFor("now using other/scripted")
	term.WaitGone(switching)
	term.Write("again\r")
	term.WaitFor("the other one answers")
	term.WaitGone(working)
	term.Write("/model locked/any\r")
	term.WaitFor("no key for the provider locked")
	term.WaitFor("still using other/scripted")
	term.WaitGone(switching)

	term.Write("/sessions\r")
	term.WaitFor("Sessions of this folder")
	term.Write("earlier")
	term.WaitFor("1 of 2")
	term.Write("\r")
	term.WaitFor("resumed session")
	term.WaitFor("an earlier question")
	term.Write("and on\r")
	term.WaitUntil("an answer in the other session", func(s string) bool { return strings.Count(s, "first was asked") == 2 })
	term.WaitGone(working)
	term.Write("/sessions\r")
	term.WaitFor("Sessions of this folder")
	term.WaitFor("› an earlier question ✓")
	term.Write("\x1b[B")
	term.WaitFor("› a question") // the one that was left for this one
	term.Write("\r")
	term.WaitFor("using other/scripted, as last used")
	term.Write("/model high\r")
	term.WaitFor("reasoning effort: high")
	for _, before := range []string{"a question", "in a new one"} { // each has the model and the effort of the one before it
		term.Write("/new\r")
		// Not the tail of the session before, which stands in the terminal until the next screen is drawn.
		term.WaitUntil("the new session", func(s string) bool {
			return strings.Contains(s, "Ask codeagent") && strings.Contains(s, "using other/scripted, as last used") && !strings.Contains(s, "┃ "+before)
		})
		term.Write("in a new one\r")
		term.WaitFor("the other one answers after long thought")
		term.WaitGone(working)
	}
	term.Write("/quit\r")
	if err := term.WaitExit(); err != nil {
		t.Errorf("ended with %v", err)
	}
	files, err := filepath.Glob(u.home + "/.local/state/codeagent/sessions/*.jsonl")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	var all []byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	if n := strings.Count(string(all), `"model":"other/scripted"`); n != 4 {
		t.Errorf("the record names the new model %d times:\n%s", n, all)
	}
}

// listModels opens the list of models until it contains both, the one in use and another
// provider's: the list does not wait long for others.
func listModels(t *testing.T, term *golden.Terminal, used, other string) {
	t.Helper()
	for range 20 {
		term.Write("/model\r")
		term.WaitFor(used)
		if strings.Contains(term.Screen(), other) {
			return
		}
		term.Write("\x1b")
		term.WaitGone(used)
	}
	t.Fatalf("%s is never listed:\n%s", other, term.Screen())
}

// TestWithoutAModel: a server that runs on this machine is used after one key, and /model works there and in
// the tour. Nothing is written before.
func TestWithoutAModel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ollama", "lmstudio", "llamacpp", "vllm", "tour"} {
		u := newUser(t, "self", -1)
		srv := answering(t, func(r scripted.Request) scripted.Reply { return scripted.Reply{Text: r.Model + " was asked"} })
		folder := filepath.Join(u.home, ".config", "codeagent")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		served := name
		if name == "tour" {
			served = "ollama"
		}
		if err := os.WriteFile(filepath.Join(folder, "config.toml"), []byte("[providers."+served+"]\nbase_url = \""+srv.URL+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		term := golden.Start(t, u.codeagent(), 80, 24)
		term.WaitFor("on this machine")
		if name == "tour" {
			term.Write("\x1b[B")
		}
		term.Write("\r")
		if name == "tour" {
			term.WaitFor("s stop")
			term.Write("\x19s")
			term.WaitFor("Stopped")
		} else if _, err := os.Lstat(filepath.Join(u.work, "codeagent-tour.txt")); err == nil {
			t.Errorf("%s: the tour's file was made", name)
		}
		term.WaitFor("Ask codeagent")
		term.Write("/model " + served + "/another\r")
		term.WaitFor("now using " + served + "/another")
		term.WaitGone(switching)
		term.Write("a question\r")
		term.WaitFor("another was asked")
		term.WaitGone(working)
		term.Write(leave)
		_ = term.WaitExit()
	}
}

// TestKeptFromTheScreen: a theme that was chosen lasts over /new and /fork; what one key keeps stands in the
// settings beside what the person wrote there, and the next start uses it.
func TestKeptFromTheScreen(t *testing.T) {
	answers := func(r scripted.Request) scripted.Reply {
		thought := "at once"
		if strings.Contains(string(r.Body), `"reasoning_effort":"high"`) {
			thought = "after long thought"
		}
		return scripted.Reply{Text: r.Model + " answers " + thought}
	}
	srv, other := answering(t, answers), answering(t, answers)
	u := newUser(t, "self", -1)
	file := filepath.Join(u.home, ".config/codeagent/config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	own := "# mine\nmodel_provider = 'one' # why\nmodel = 'first'\n[providers.one]\nbase_url = '" + srv.URL + "'\n[providers.two]\nbase_url = '" + other.URL + "'\n"
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	term := golden.Start(t, u.codeagent(), 100, 30)
	pick := func(command, filter, key, says string) {
		if command == "/model" {
			listModels(t, term, "one/first ✓", filter)
		} else {
			term.Write(command + "\r")
			term.WaitFor("uses and keeps it")
		}
		term.Write(filter)
		term.WaitFor("› " + filter)
		term.Write(key)
		term.WaitFor(says)
		term.WaitGone(switching)
	}
	used := func(theme string) {
		term.Write("/theme\r")
		term.WaitFor("› " + theme + " ✓")
		term.Write("\x1b")
		term.WaitGone("uses and keeps it")
	}
	term.WaitFor("Ask codeagent")
	ask := func(answer string) {
		term.Write("a question\r")
		term.WaitFor(answer)
		term.WaitGone(working)
	}
	ask("first answers at once")
	pick("/theme", "light", "\r", "theme light, until codeagent ends")
	term.Write("/new\r")
	term.WaitUntil("the new session", func(s string) bool {
		return strings.Contains(s, "Ask codeagent") && !strings.Contains(s, "answers at once")
	})
	used("light")
	ask("first answers at once")
	term.Write("/fork\r")
	term.WaitFor("forked")
	used("light")

	pick("/theme", "dark", "\x13", "tui.theme")
	pick("/effort", "high", "\x13", "reasoning_effort")
	pick("/model", "two/scripted", "\x13", `model = "two/scripted"`)
	term.Write(leave)
	_ = term.WaitExit()
	got, err := os.ReadFile(file)
	want := "# mine\nmodel_provider = 'two' # why\nmodel = 'scripted'\nreasoning_effort = 'high'\n" +
		strings.TrimPrefix(own, "# mine\nmodel_provider = 'one' # why\nmodel = 'first'\n") + "\n[tui]\ntheme = 'dark'\n"
	if err != nil || string(got) != want {
		t.Errorf("the settings are\n%s\n%v\nwant\n%s", got, err, want)
	}
	term = golden.Start(t, u.codeagent(), 100, 30)
	term.WaitFor("Ask codeagent")
	used("dark")
	ask("scripted answers after long thought")
	term.Write(leave)
	_ = term.WaitExit()
}
