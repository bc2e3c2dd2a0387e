package gitrun_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/gitrun"
	"codeagent/sandbox"
)

// TestDiff: what differs, with the files that git does not track.
func TestDiff(t *testing.T) {
	dir := repository(t)
	git(t, dir, "checkout", "-qb", "side")
	git(t, dir, "commit", "-qam", "a message")
	write(t, 0o644, "three\n", dir, "a")
	write(t, 0o644, "ignored\n", dir, ".gitignore")
	write(t, 0o644, "secret\n", dir, "ignored")
	write(t, 0o644, "first\n\nlast", dir, "sub", "new file")
	write(t, 0o644, "x\n", dir, "a\nb")
	write(t, 0o644, "x\x00y\n", dir, "picture")
	write(t, 0o644, "outside\n", dir, "..", filepath.Base(dir)+".outside")
	if err := os.Symlink("../"+filepath.Base(dir)+".outside", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	// The settings of the repository change no format that is parsed.
	for _, set := range []string{"grep.column", "color.grep", "color.diff", "diff.relative", "grep.fullName"} {
		git(t, dir, "config", set, map[bool]string{true: "always", false: "true"}[strings.HasPrefix(set, "color.")])
	}
	g := gitrun.New(gitrun.Options{Runner: confined(t), Program: gitProgram, Policy: sandbox.WorkspaceWrite(dir), Timeout: patience})
	untracked := "diff --git a/sub/new file b/sub/new file\nnew file, untracked\n--- /dev/null\n+++ b/sub/new file\n@@ -0,0 +1,3 @@\n+first\n+\n+last\n"
	for _, row := range []struct {
		name       string
		of         gitrun.Of
		with, lack []string
	}{
		{"uncommitted", gitrun.Of{}, []string{"-two\n+three\n", untracked, "b/picture\nnew file, untracked\ndiff", `"a/a\nb"`}, []string{"secret", "outside\n", "x\x00"}},
		{"base", gitrun.Of{Base: "main"}, []string{"-one\n+three\n", untracked}, []string{"a message"}},
		{"commit", gitrun.Of{Commit: "HEAD"}, []string{"a message", "-one\n+two\n"}, []string{"three", "untracked"}},
	} {
		for _, from := range []string{dir, filepath.Join(dir, "sub")} {
			c, err := g.Diff(t.Context(), from, row.of)
			if err != nil || c.Cut || c.Top != dir {
				t.Errorf("%s in %s: %+v, %v", row.name, from, c, err)
			}
			for _, part := range row.with {
				if !strings.Contains(c.Text, part) {
					t.Errorf("%s in %s lacks %q:\n%s", row.name, from, part, c.Text)
				}
			}
			for _, part := range row.lack {
				if strings.Contains(c.Text, part) {
					t.Errorf("%s in %s has %q:\n%s", row.name, from, part, c.Text)
				}
			}
		}
	}
	for _, name := range []string{"--output=x", "-p", "a b", "x\ny", strings.Repeat("x", 300), "absent", "HEAD^{tree}", "HEAD:a", "main..HEAD"} {
		for _, of := range []gitrun.Of{{Base: name}, {Commit: name}} {
			if _, err := g.Diff(t.Context(), dir, of); err == nil {
				t.Errorf("%+v is taken", of)
			}
		}
	}
}

// TestDiffOfAMerge: what the merge brought, as of one commit.
func TestDiffOfAMerge(t *testing.T) {
	dir := repository(t)
	git(t, dir, "commit", "-qam", "two")
	git(t, dir, "checkout", "-qb", "side")
	write(t, 0o644, "brought\n", dir, "new")
	git(t, dir, "add", "new")
	git(t, dir, "commit", "-qm", "of the side")
	git(t, dir, "checkout", "-q", "main")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "of main")
	git(t, dir, "merge", "-qm", "the merge", "side")
	g := gitrun.New(gitrun.Options{Runner: confined(t), Program: gitProgram, Policy: sandbox.WorkspaceWrite(dir), Timeout: patience})
	c, err := g.Diff(t.Context(), dir, gitrun.Of{Commit: "HEAD"})
	if err != nil || !strings.Contains(c.Text, "the merge") || strings.Count(c.Text, "+brought\n") != 1 {
		t.Fatalf("%v\n%s", err, c.Text)
	}
}

// TestDiffOfAShallowClone: what the clone lacks is said. git alone would show each file as new.
func TestDiffOfAShallowClone(t *testing.T) {
	dir := repository(t)
	git(t, dir, "commit", "-qam", "two")
	git(t, dir, "checkout", "-qb", "side")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "three")
	head := func(name string) string {
		out, err := bare(t, dir, "rev-parse", name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	write(t, 0o644, head("main")+"\n", dir, ".git", "shallow")
	g := gitrun.New(gitrun.Options{Runner: confined(t), Program: gitProgram, Policy: sandbox.WorkspaceWrite(dir), Timeout: patience})
	if all, err := bare(t, dir, "show", "main"); err != nil || !strings.Contains(string(all), "new file mode") {
		t.Fatalf("git shows no file as new: %v\n%s", err, all)
	}
	if c, err := g.Diff(t.Context(), dir, gitrun.Of{Commit: "main"}); err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("%+v, %v", c, err)
	}
	for _, of := range []gitrun.Of{{Commit: "side"}, {Base: "main"}, {}} {
		if _, err := g.Diff(t.Context(), dir, of); err != nil {
			t.Errorf("%+v: %v", of, err)
		}
	}
	write(t, 0o644, head("main")+"\n"+head("side")+"\n", dir, ".git", "shallow")
	if c, err := g.Diff(t.Context(), dir, gitrun.Of{Base: "main"}); err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestDiffOfMuch: a long change is cut, and so are long and many untracked files.
func TestDiffOfMuch(t *testing.T) {
	long := strings.Repeat("0123456789\n", 20000)
	for name, set := range map[string]func(dir string){
		"tracked":   func(dir string) { write(t, 0o644, long, dir, "a") },
		"untracked": func(dir string) { write(t, 0o644, long, dir, "new") },
		"many": func(dir string) {
			for i := range 400 {
				write(t, 0o644, "", dir, strings.Repeat("x", 200)+string(rune('a'+i%26))+strings.Repeat("y", i/26))
			}
		},
	} {
		dir := repository(t)
		set(dir)
		g := gitrun.New(gitrun.Options{Runner: confined(t), Program: gitProgram, Policy: sandbox.WorkspaceWrite(dir), Timeout: patience})
		c, err := g.Diff(t.Context(), dir, gitrun.Of{})
		if err != nil || !c.Cut || len(c.Text) > 64<<10 || len(c.Text) < 1000 {
			t.Errorf("%s: %d bytes, cut %v, %v", name, len(c.Text), c.Cut, err)
		}
	}
}

// TestDiffWithoutCommit: before the first commit everything is new.
func TestDiffWithoutCommit(t *testing.T) {
	repository(t) // skips where there is no git
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	write(t, 0o644, "staged\n", dir, "s")
	write(t, 0o644, "loose\n", dir, "l")
	git(t, dir, "add", "s")
	g := gitrun.New(gitrun.Options{Runner: confined(t), Program: gitProgram, Policy: sandbox.WorkspaceWrite(dir), Timeout: patience})
	c, err := g.Diff(t.Context(), dir, gitrun.Of{})
	if err != nil || !strings.Contains(c.Text, "+staged\n") || !strings.Contains(c.Text, "+loose\n") {
		t.Errorf("%+v, %v", c, err)
	}
}
