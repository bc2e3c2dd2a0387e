package languages

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/event"
	"codeagent/sandbox"
)

// session is a session with the fake server for files that end with .bad.
type session struct {
	*Languages
	base, work string
	mu         sync.Mutex
	warned     []string
}

func newSession(t *testing.T, args ...string) *session {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "codeagent") // not in a folder that commands may write
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{base: base, work: base + "/work"}
	quoted := ""
	for _, a := range append([]string{"serve"}, args...) {
		quoted += "'''" + a + "''', "
	}
	for name, text := range map[string]string{
		"work/a.bad": "BAD old\nok\n", "work/.git/HEAD": "ref: refs/heads/main\n", "home/.ssh/id_x": "secret\n", "home/hidden": "secret\n", "other/x": "secret\n",
		"home/.config/codeagent/config.toml": "[sandbox]\ndeny_read = [\"work/hidden.bad\"]\n[diagnostics.servers.fake]\ncommand = '" + exe + "'\nargs = [" + quoted + "]\nextensions = [\".bad\"]\n",
		"work/hidden.bad":                    "secret\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "work/hidden", base+"/work/hidden")
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	env := []string{"HOME=" + base + "/home", "PATH=" + os.Getenv("PATH")}
	ws, err := workspace.Open(t.Context(), cli.Stdio{In: null, Out: null, Err: null, Environ: env, Text: &cli.Output{W: io.Discard}}, cli.Flags{Folder: s.work})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ws.Close)
	s.Languages = New(Options{Workspace: ws, Trusted: func(p sandbox.Policy) sandbox.Policy { return p }, Warn: func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.warned = append(s.warned, text)
	}})
	t.Cleanup(s.Close)
	return s
}

// edit writes a file of the workspace, waits for the server's reports, and returns what the next call finds.
func (s *session) edit(t *testing.T, name, before, after string) (text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.work, name), []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.changed(t, []event.FileChange{{Path: name, Kind: sandbox.Updated, Before: &before, After: &after}}, sandbox.Changes{})
}

func (s *session) changed(t *testing.T, edits []event.FileChange, changed sandbox.Changes) (text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, answered := range s.check(ctx, edits, changed) {
		select {
		case <-answered:
		case <-ctx.Done():
			t.Fatal("no answer")
		}
	}
	return flat(s.After(ctx, nil, sandbox.Changes{}))
}

func flat(found []event.Diagnostics) string {
	var out []string
	for _, d := range found {
		out = append(append(out, d.Title), d.Lines...)
	}
	return strings.Join(out, "\n")
}

// TestAfter: the errors that an edit brings are found once, also when a command makes it.
func TestAfter(t *testing.T) {
	s := newSession(t, "well")
	if processes(s.base) != "" {
		t.Error("a server runs before the first change")
	}
	for _, step := range []struct{ before, after, want string }{
		{"BAD old\nok\n", "ok\nBAD old\nBAD new\n", "1 new error (fake)\na.bad:3:1: error: BAD new"},
		{"ok\nBAD old\nBAD new\n", "BAD old\nBAD new\n", ""},
		{"BAD old\nBAD new\n", "BAD new\nBAD new\n", "1 new error (fake)\na.bad:2:1: error: BAD new"},
		{"BAD new\nBAD new\n", "ok\n", ""},
		{"ok\n", "BAD old\n", "1 new error (fake)\na.bad:1:1: error: BAD old"},
	} {
		if step.want != "" {
			step.want = "since the last edit: " + step.want
		}
		if got := s.edit(t, "a.bad", step.before, step.after); got != step.want {
			t.Errorf("%q -> %q: %q, want %q", step.before, step.after, got, step.want)
		}
	}
	if err := os.WriteFile(s.work+"/b.bad", []byte("BAD b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		kind sandbox.ChangeKind
		want string
	}{
		{"b.bad", sandbox.Added, "since the last edit: 1 new error (fake)\nb.bad:1:1: error: BAD b"},
		{"a.bad", sandbox.Updated, ""}, // known from the edits
		{"hidden.bad", sandbox.Updated, ""}, {"../other/x.bad", sandbox.Updated, ""}, {"c.txt", sandbox.Added, ""},
	} {
		changes := sandbox.Changes{List: []sandbox.Change{{Path: filepath.Join(s.work, c.name), Kind: c.kind}}}
		if got := s.changed(t, nil, changes); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.name, got, c.want)
		}
	}
	if s.warned != nil {
		t.Error(s.warned)
	}
}
