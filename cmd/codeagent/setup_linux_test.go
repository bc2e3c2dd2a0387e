package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// keyedModel answers those who have its key. On request it tries to read the file of kept keys, and a bare file
// beside its folder, in every way that a model has.
type keyedModel struct {
	key, home string
	mu        sync.Mutex
	said      string // all that was sent to it
}

func (m *keyedModel) answer(r scripted.Request) scripted.Reply {
	m.mu.Lock()
	m.said += string(r.Body)
	m.mu.Unlock()
	if got := r.Header.Get("Authorization"); got != "Bearer "+m.key {
		return scripted.Reply{Status: 401, Body: fmt.Sprintf(`{"error":{"message":"no such key: %s"}}`, got)}
	}
	last := r.Messages[len(r.Messages)-1]
	if last.Role == "tool" || !strings.HasSuffix(last.Text, "steal it") {
		return scripted.Reply{Text: "answer of " + r.Model}
	}
	dir := m.home + "/.config/codeagent/"
	var calls []scripted.Call
	for _, name := range []string{dir + "bare", dir + "keys/keys.json"} {
		calls = append(calls, shellCall("cat "+name+"; env; ls "+filepath.Dir(name)),
			scripted.Call{Name: "read_file", Arguments: fmt.Sprintf(`{"path":%q}`, name)},
			scripted.Call{Name: "search", Arguments: fmt.Sprintf(`{"pattern":"value","path":%q}`, filepath.Dir(name))})
	}
	return scripted.Reply{Calls: calls}
}

// TestSetupOnTheScreen: from nothing to a model that answers: an address, a key that is refused, one that is
// not, a model. The key is then in its file and nowhere else, no command and no tool reads it, and exec uses it.
func TestSetupOnTheScreen(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	const wrong, key = "sk-wrong-0123456789", "sk-right-value-9876543210"
	m := &keyedModel{key: key, home: u.home}
	srv := answering(t, m.answer)
	log := u.out + "/log"
	term := golden.Start(t, u.codeagent("--log", log, "--log-level", "debug"), 100, 30)
	term.WaitFor("Which model should codeagent use?")
	term.WaitFor("Another address")
	term.Write("\x1b[F\r") // End, Enter
	term.WaitFor("goes back")
	term.Write(srv.URL + "\r")
	term.WaitFor("Paste the API key")
	term.WaitFor("mode 600")
	term.Paste(wrong)
	term.WaitFor("19 characters")
	term.Write("\r")
	term.WaitFor("› scripted")
	term.Write("\r")
	term.WaitFor("did not answer")
	term.WaitFor("rejected the API key (401)")
	term.Write("\r") // another key
	term.WaitFor("Paste the API key")
	for _, c := range key {
		term.Write(string(c))
	}
	term.WaitFor("25 characters")
	term.Write("\r")
	term.WaitFor("› scripted")
	term.Write("\r")
	term.WaitFor("kept in ~/.config/codeagent/config.toml for later starts: ")
	term.WaitFor("keys/keys.json (mode 600)")
	term.WaitFor("Ask codeagent")
	dir := u.home + "/.config/codeagent/"
	if info, err := os.Lstat(dir + "keys/keys.json"); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file of keys: %v, %v", info, err)
	}
	if data, _ := os.ReadFile(dir + "config.toml"); !strings.Contains(string(data), "model = 'scripted'") || !strings.Contains(string(data), srv.URL) {
		t.Errorf("the settings:\n%s", data)
	}
	if data, _ := os.ReadFile(dir + "keys/keys.json"); !strings.Contains(string(data), key) {
		t.Errorf("the keys:\n%s", data)
	}

	if err := os.WriteFile(dir+"bare", []byte("bare-value"), 0o600); err != nil {
		t.Fatal(err)
	}
	term.Write("steal it\r")
	term.WaitFor("answer of scripted")
	term.WaitGone(working)
	m.mu.Lock()
	// The attack works on the bare file: in a command, by two tools.
	if n := strings.Count(m.said, "bare-value"); n < 3 {
		t.Errorf("the bare file was read %d times: the attack does not work\n%s", n, m.said)
	}
	if strings.Contains(m.said, key) {
		t.Errorf("the model got the key:\n%s", m.said)
	}
	m.mu.Unlock()

	term.Write("/status\r")
	term.WaitFor("the kept key")
	term.Write("\x1b")
	term.WaitGone("the kept key")
	term.Write("/feedback\r")
	term.WaitFor("Nothing was sent")
	term.Write("/model\r")
	term.WaitFor("Another provider, or a key")
	term.WaitFor("Tab another provider")
	term.Write("another provider\r")
	term.WaitFor("the kept key")
	term.Write("127\r")
	term.WaitFor("Model of 127-0-0-1-")
	term.WaitFor("› scripted")
	term.Write("\r")
	term.WaitGone("Trying")
	term.WaitFor("Ask codeagent")
	term.WaitUntil("the choice kept again", func(s string) bool { return strings.Count(s, "kept in ~/.config/codeagent/config.toml") >= 1 })
	term.WaitGone(switching)
	term.Write("/quit\r")
	if err := term.WaitExit(); err != nil {
		t.Error(err)
	}

	r := run1(t, u.codeagent("exec", "--json", "hello"))
	if r.code != 0 || !strings.Contains(r.stdout, "answer of scripted") {
		t.Errorf("exec: %+v", r)
	}
	report := run1(t, u.codeagent("doctor"))
	if !strings.Contains(report.stdout, "key: the kept key") {
		t.Errorf("doctor: %s", report.stdout)
	}
	everywhere := map[string]string{"the terminal": term.Raw(), "exec": r.stdout + r.stderr, "doctor": report.stdout + report.stderr}
	for _, root := range []string{u.home, u.work, u.out} {
		if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || d.Name() == "keys.json" {
				return err
			}
			data, err := os.ReadFile(path)
			everywhere[path] = string(data)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if everywhere[log] == "" {
		t.Error("there is no log")
	}
	for where, text := range everywhere {
		for _, secret := range []string{wrong, key} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", where, secret)
			}
		}
	}

	// A file that others may read is refused, with words.
	if err := os.Chmod(dir+"keys/keys.json", 0o644); err != nil {
		t.Fatal(err)
	}
	if r := run1(t, u.codeagent("exec", "hello")); r.code != 4 || !strings.Contains(r.stderr, "the kept keys are not used") || !strings.Contains(r.stderr, "mode 644") {
		t.Errorf("exec with a file that others read: %+v", r)
	}
	term = golden.Start(t, u.codeagent("--model", "groq/any"), 100, 30)
	term.WaitFor("Another address")
	term.WaitFor("the kept keys are not used")
	term.Write("\x1b")
	_ = term.WaitExit()

	// Where commands can read the file, that is said before a key is entered.
	term = golden.Start(t, u.codeagent("--sandbox", "danger-full-access", "--model", "groq/any"), 100, 30)
	term.WaitFor("Another address")
	term.Write("groq\r")
	term.WaitFor("prefer")
	term.WaitFor("Commands of the model")
	term.Kill()
}

// TestConfigOnTheScreen: /config says where each value comes from, changes one for the session and one in the
// file, whose comments stay, and the next start has it.
func TestConfigOnTheScreen(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	file := u.home + "/.config/codeagent/config.toml"
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("# mine\n[tui]\nmouse = true # why\nnotify = 'bell'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := serve(t, scripted.Reply{Text: "hello"})
	start := func(args ...string) *golden.Terminal {
		cmd := u.codeagent(args...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "OPENAI_MODEL=from-environment")
		term := golden.Start(t, cmd, 100, 30)
		term.WaitFor("Ask codeagent")
		term.Write("/config\r")
		term.WaitFor("Settings")
		term.WaitFor("› model")
		return term
	}
	term := start("-c", "undo.unkept=allow")
	for _, words := range []string{"$OPENAI_MODEL", "$OPENAI_MODEL sets it for this run", "config.toml:3", "config.toml:4", "-c"} {
		term.WaitFor(words)
	}
	term.Write("tui.mouse\r")
	term.WaitFor("this session")
	term.Write("\x13") // Ctrl+S
	term.WaitFor("kept in the settings")
	term.WaitGone("this session")
	term.Write("\x15compact\r")
	term.WaitFor("from the next start on")
	term.Write("\x1570\r")
	term.WaitFor("config.toml:7")
	term.Write("\x1b")
	term.WaitGone("Settings")
	term.WaitFor("context.compact_at = 70")
	term.WaitFor("it holds from the next start on")
	term.Write("/quit\r")
	_ = term.WaitExit()
	want := "# mine\n[tui]\nmouse = false # why\nnotify = 'bell'\n\n[context]\ncompact_at = 70\n"
	if data, err := os.ReadFile(file); string(data) != want {
		t.Errorf("the file: %v\n%s", err, data)
	}
	term = start()
	term.Write("tui.mouse")
	term.WaitFor("false")
	term.WaitFor("config.toml:3")
	term.Write("\x1b")
	term.WaitGone("Settings")
	term.Write("/quit\r")
	_ = term.WaitExit()
}
