package gitrun_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/gitrun"
	layout "codeagent/internal/git"
	"codeagent/sandbox"
)

// TestHistory: a path has the contents that it had before the commits of HEAD and of the branch that it follows,
// as a regular file, when these were noted. What a command put into the store since has no place in it.
func TestHistory(t *testing.T) {
	dir := repository(t)
	hash := func(text string) string {
		out, err := bare(t, dir, "hash-object", "-w", write(t, 0o644, text, dir, "hashed"))
		if err != nil {
			t.Fatal(err, out)
		}
		return strings.TrimSpace(out)
	}
	commit := func(text string) string {
		write(t, 0o755, text, dir, "s", "d", "f")
		git(t, dir, "add", "s")
		git(t, dir, "commit", "-qm", text)
		out, err := bare(t, dir, "rev-parse", "HEAD")
		if err != nil {
			t.Fatal(err, out)
		}
		return strings.TrimSpace(out)
	}
	commit("one")
	if err := os.Symlink("one", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "link")
	two := commit("two")
	upstream := commit("upstream")
	git(t, dir, "update-ref", "refs/remotes/origin/main", upstream)
	git(t, dir, "reset", "-q", "--hard", two)
	git(t, dir, "config", "branch.main.remote", "origin")
	git(t, dir, "config", "branch.main.merge", "refs/heads/main")
	tree := layout.Tree{Top: dir, Dirs: []string{filepath.Join(dir, ".git")}}
	loose := gitrun.Tips(t.Context(), tree)
	git(t, dir, "pack-refs", "--all")
	tips := gitrun.Tips(t.Context(), tree)
	if want := []string{two, upstream}; !slices.Equal(tips, want) || !slices.Equal(loose, want) {
		t.Fatalf("%q %q, want %q", tips, loose, want)
	}
	commit("later")
	// The tree of the folder s/d of one gets another content, and git shows it.
	out, err := bare(t, dir, "rev-parse", "HEAD~2:s/d")
	if err != nil {
		t.Fatal(err, out)
	}
	evil, forged := hash("evil"), strings.TrimSpace(out)
	content := "100644 f\x00"
	for i := 0; i < len(evil); i += 2 {
		var b byte
		fmt.Sscanf(evil[i:], "%02x", &b)
		content += string([]byte{b})
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	fmt.Fprintf(z, "tree %d\x00%s", len(content), content)
	z.Close()
	if err := os.Remove(filepath.Join(dir, ".git/objects", forged[:2], forged[2:])); err != nil {
		t.Fatal(err)
	}
	write(t, 0o444, packed.String(), dir, ".git/objects", forged[:2], forged[2:])
	if out, err := bare(t, dir, "show", "HEAD~2:s/d/f"); err != nil || out != "evil" {
		t.Fatalf("git notices it: %v %s", err, out)
	}
	g := gitrun.New(gitrun.Options{Runner: confined(t), Program: gitProgram, Policy: sandbox.WorkspaceWrite(dir), Timeout: patience})
	h := g.History(dir, tips)
	for name, want := range map[string][]string{"s/d/f": {hash("two"), hash("upstream")}, "a": {hash("one\n")}, "link": nil, "s/d": nil, "s/d/f/x": nil, "absent": nil, "": nil, "../a": nil} {
		slices.Sort(want)
		v := h.Versions(t.Context(), name)
		var got []string
		for b := range v.Blobs {
			got = append(got, b.ID)
			if b.Executable != (name == "s/d/f") {
				t.Errorf("%s: %+v", name, b)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || v.Folder != (name == "s/d") {
			t.Errorf("%s: %+v, want %q", name, v, want)
		}
	}
	if v := g.History(dir, []string{"--all"}).Versions(t.Context(), "a"); len(v.Blobs) > 0 {
		t.Errorf("%+v", v)
	}
}
