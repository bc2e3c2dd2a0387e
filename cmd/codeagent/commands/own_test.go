package commands

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/hostfile"
	"codeagent/prompts"
	"codeagent/sandbox"
)

// TestCommandsIn: which files are commands, and what is read of them.
func TestCommandsIn(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"fix.md": "# Fix an issue\n\nFix issue $1.\n", "deploy-it.md": "---\ndescription: \"Ship it\"\nmodel: x\n---\nShip $ARGUMENTS\n", "odd name.md": "x", "UP.md": "x", "..md": "x", "notes.txt": "x",
		"binary.md": "a\x00b", "latin.md": "caf\xe9", "large.md": strings.Repeat("x", ownBytes+1), "open.md": "---\nno end",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	got, err := commandsIn(dir, "project: ", func(file string) ([]byte, error) { return hostfile.Read(context.Background(), file, ownBytes) })
	want := []prompts.Own{
		{Name: "deploy-it", About: "project: Ship it", Text: "Ship $ARGUMENTS"},
		{Name: "fix", About: "project: Fix an issue", Text: "# Fix an issue\n\nFix issue $1."},
		{Name: "open", About: "project: ---", Text: "---\nno end"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	for _, name := range []string{"binary.md", "latin.md", "large.md", "link.md"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	if got, err := commandsIn(dir+"/absent", "", nil); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestDescribePolicy: what is open is listed, and what is shut.
func TestDescribePolicy(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/ada/src")
	p.DenyRead, p.DenyGlobs = []string{"/home/ada/.ssh"}, []string{"**/.env"}
	p.Protected.Hidden = []string{"/home/ada/.config/codeagent/keys"}
	text := describe(p, "/home/ada", false)
	if weak := describe(p, "/home/ada", true); !strings.Contains(weak, "codeagent's own files, but this machine does not enforce it\n  ~/.config/codeagent/keys\n") {
		t.Errorf("%q", weak)
	}
	for _, want := range []string{"may write\n  ~/src\n", "neither read nor write\n  ~/.ssh\n  **/.env\n", "may reach\n  no host\n", "never read, of codeagent's own files\n  ~/.config/codeagent/keys\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	p.Network.Mode = sandbox.NetworkFull
	if text := describe(p, "", false); !strings.Contains(text, "every host") {
		t.Errorf("%q", text)
	}
	if text := describe(sandbox.FullAccess(), "", false); !strings.Contains(text, "no sandbox") {
		t.Errorf("%q", text)
	}
}
