package servers

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"codeagent/config/server"
	"codeagent/mcp"
	"codeagent/sandbox"
)

// TestCloseDuringStart: a server that is started again as the session ends does not outlive it.
func TestCloseDuringStart(t *testing.T) {
	o := testOptions(t)
	mark := filepath.Base(o.Workspace.Folder) + "-close-during-start"
	// The second start says that it has begun, and then nothing more.
	script := `cd "$CODEAGENT_SERVER_DIR"; [ -e second ] && { echo x >begun; sleep 1000; }; >second
` + answers
	set := shell(t, script, mark)
	o.Configured = map[string]server.Settings{"t": set}
	s := Open(t.Context(), o)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(s.folder("t", set), "begun")
	if err := unix.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	restarted := make(chan error, 1)
	go func() { restarted <- s.Restart(t.Context(), "t") }()
	if _, err := os.ReadFile(begun); err != nil {
		t.Fatal(err)
	}
	if !runs(t, mark) {
		t.Fatal("the second start cannot be seen")
	}
	s.Close()
	if runs(t, mark) {
		t.Error("the server outlives the session")
	}
	if err := <-restarted; err == nil {
		t.Error("the second start succeeded")
	}
	if err := s.Restart(t.Context(), "t"); !errors.Is(err, errOver) {
		t.Errorf("a start after the end: %v", err)
	}
}

// runs reports whether a process has mark among its arguments.
func runs(t *testing.T, mark string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Fatal("no processes can be seen: ", err)
	}
	for _, name := range lines {
		if line, err := os.ReadFile(name); err == nil && bytes.Contains(line, []byte(mark)) {
			return true
		}
	}
	return false
}

// TestYesToOneServer: a yes to a tool is bound to the server, not only to its name and words.
func TestYesToOneServer(t *testing.T) {
	o := testOptions(t)
	of := func(set server.Settings) string {
		m := newMember(&Servers{options: o}, "t", set)
		return m.described(mcp.Tool{Name: "a", Sum: "1"})
	}
	user := server.Settings{Command: "node", Args: []string{"a.js"}, Origin: server.OfUser}
	if first, again := of(user), of(user); first != again {
		t.Error("the same server differs")
	}
	seen := map[string]string{of(user): "the user's"}
	for name, set := range map[string]server.Settings{
		"the project's": {Command: "node", Args: []string{"a.js"}, Origin: server.OfProject},
		"the editor's":  {Command: "node", Args: []string{"a.js"}, Origin: server.OfEditor},
		"other words":   {Command: "node", Args: []string{"b.js"}, Origin: server.OfUser},
		"one word":      {Command: "nodea.js", Origin: server.OfUser},
		"elsewhere":     {URL: "https://mcp.example.com/", Origin: server.OfUser},
	} {
		if other, ok := seen[of(set)]; ok {
			t.Errorf("%s is taken for %s", name, other)
		}
		seen[of(set)] = name
	}
}

// TestProtect: files of the workspace that a command line names are protected, however it names them.
func TestProtect(t *testing.T) {
	o := testOptions(t)
	ws := o.Workspace
	for _, name := range []string{"a.js", "b.js", "c.js", "d.js", "other.js"} {
		if err := os.WriteFile(filepath.Join(ws.Folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("d.js", filepath.Join(ws.Folder, "link.js")); err != nil {
		t.Fatal(err)
	}
	set := server.Settings{Command: "node", Args: []string{"a.js", "${HOME}/../work/b.js", "--require=./c.js", "link.js"}, Origin: server.OfProject}
	p := Protect(ws, ws.Policy, map[string]server.Settings{"t": set})
	for name, want := range map[string]bool{"a.js": true, "b.js": true, "c.js": true, "d.js": true, "link.js": true, "other.js": false} {
		if got := p.JudgeWrite(filepath.Join(ws.Folder, name)).Kind == sandbox.KindProtected; got != want {
			t.Errorf("%s is protected: %v", name, got)
		}
	}
}
