package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
)

// TestEditorsServersApart: what a server of an editor keeps, no server of its name reads that has
// another command line or another workspace, and the same one finds it again.
func TestEditorsServersApart(t *testing.T) {
	here := testOptions(t)
	ws := here.Workspace
	other := filepath.Join(filepath.Dir(ws.Folder), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := here
	var err error
	if elsewhere.Workspace, err = workspace.Open(t.Context(), ws.Stdio, cli.Flags{Folder: other}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(elsewhere.Workspace.Close)
	// It looks for the key of every server, and keeps a key of its own.
	const script = `cat "$1"/*/key "$1"/*/*/key >"$CODEAGENT_SERVER_DIR/found"; echo "$0" >"$CODEAGENT_SERVER_DIR/key"; ` + answers
	run := func(o Options, name, origin, word string) string {
		set := complete(t, server.Settings{Command: "/bin/sh", Args: []string{"-c", script, word, ws.Paths.Servers}, Origin: origin})
		o.Configured = map[string]server.Settings{name: set}
		s := Open(t.Context(), o)
		defer s.Close()
		if err := s.Ready(t.Context()); err != nil || s.Status()[0].State != Running {
			t.Fatalf("%v, %+v", err, s.Status())
		}
		found, err := os.ReadFile(filepath.Join(s.folder(name, set), "found"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(strings.TrimSpace(string(found)), "\n", " ")
	}
	for _, c := range []struct {
		o                        Options
		name, origin, word, want string
	}{
		{here, "t", server.OfEditor, "first", ""}, {here, "t", server.OfEditor, "first", "first"},
		{here, "t", server.OfEditor, "second", ""}, {elsewhere, "t", server.OfEditor, "first", ""},
		{here, "u", server.OfEditor, "first", ""}, {here, "t", server.OfUser, "first", ""}, {here, "t", server.OfProject, "first", ""},
		{elsewhere, "t", server.OfProject, "first", ""}, {here, "t", server.OfEditor, "first", "first"},
	} {
		if got := run(c.o, c.name, c.origin, c.word); got != c.want {
			t.Errorf("%s %s %s in %s found the keys of %q, want %q", c.origin, c.name, c.word, c.o.Workspace.Folder, got, c.want)
		}
	}
	bare := exec.Command("/bin/sh", "-c", `cat "$1"/*/key "$1"/*/*/key`, "bare", ws.Paths.Servers)
	if keys, _ := bare.Output(); strings.Count(string(keys), "\n") != 7 { // the way works without the sandbox
		t.Errorf("a program outside the sandbox finds %q", keys)
	}
}
