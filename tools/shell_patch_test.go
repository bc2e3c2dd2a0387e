package tools

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/event/word"
)

const onePatch = "*** Begin Patch\n*** Update File: f\n-old\n+new $HOME `x` \\\n*** End Patch\n"

func TestAsPatch(t *testing.T) {
	plain := strings.ReplaceAll(onePatch, " $HOME `x` \\", "")
	for _, tt := range []struct {
		name, command string
		folder, patch string // of one that is a patch
		err           bool
	}{
		{"quoted", "apply_patch <<'EOF'\n" + onePatch + "EOF", "", onePatch, false},
		{"double quoted", "apply_patch << \"PATCH\"\n" + onePatch + "PATCH\n", "", onePatch, false},
		{"no space", "apply_patch<<'EOF'\n" + onePatch + "EOF\n\n  ", "", onePatch, false},
		{"unquoted, nothing to expand", "apply_patch <<EOF\n" + plain + "EOF\n", "", plain, false},
		{"unquoted, to be expanded", "apply_patch <<EOF\n" + onePatch + "EOF\n", "", "", true},
		{"cd", "cd sub/dir && apply_patch <<'EOF'\n" + onePatch + "EOF\n", "sub/dir", onePatch, false},
		{"cd, quoted", "cd 'my $dir' && apply_patch <<'EOF'\n" + onePatch + "EOF\n", "my $dir", onePatch, false},
		{"cd, double quoted, next line", "cd \"my dir\" &&\n  apply_patch <<'EOF'\n" + onePatch + "EOF\n", "my dir", onePatch, false},
		{"carriage returns are content", "apply_patch <<'EOF'\na\r\nb\nEOF", "", "a\r\nb\n", false},
		{"mark inside a line", "apply_patch <<'EOF'\n+EOF\n EOF\nEOF", "", "+EOF\n EOF\n", false},

		{"another program", "git apply <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"a longer name", "apply_patches <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"something before", "ls; apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"an assignment", "X=1 apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"something after", "apply_patch <<'EOF'\n" + onePatch + "EOF\nrm -rf x\n", "", "", false},
		{"something after the first line's mark", "apply_patch <<'EOF' && rm -rf x\n" + onePatch + "EOF\n", "", "", false},
		{"a pipe", "apply_patch <<'EOF' | tee x\n" + onePatch + "EOF\n", "", "", false},
		{"a file", "apply_patch <<'EOF' > x\n" + onePatch + "EOF\n", "", "", false},
		{"an argument", "apply_patch -R <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"in the background", "apply_patch <<'EOF' &\n" + onePatch + "EOF\n", "", "", false},
		{"never ended", "apply_patch <<'EOF'\n" + onePatch, "", "", false},
		{"tabs stripped", "apply_patch <<-'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"a here-string", "apply_patch <<<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"a mark in pieces", "apply_patch <<E'O'F\n" + onePatch + "EOF\n", "", "", false},
		{"quotes that do not match", "apply_patch <<'EOF\"\n" + onePatch + "EOF\n", "", "", false},
		{"cd expands", "cd $HOME && apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"cd expands in quotes", "cd \"$(pwd)\" && apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"cd expands a home", "cd ~ && apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"cd matches", "cd s* && apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"cd back", "cd - && apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"cd with a semicolon", "cd sub; apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"cd with or", "cd sub || apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"two cds", "cd a && cd b && apply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"a comment", "# x\napply_patch <<'EOF'\n" + onePatch + "EOF\n", "", "", false},
		{"a subshell", "(apply_patch <<'EOF'\n" + onePatch + "EOF\n)", "", "", false},
		{"quoted as an argument", "apply_patch '" + plain + "'", "", "", false},
	} {
		c, ok, err := asPatch(tt.command)
		if ok != (tt.patch != "") || errors.Is(err, errPatchExpands) != tt.err || c.folder != tt.folder || c.patch != tt.patch {
			t.Errorf("%s: %v %v %+v", tt.name, ok, err, c)
		}
	}
}

// A command is read as a patch exactly if bash would pass the same text to a program of that
// name, in the same folder.
func FuzzAsPatch(f *testing.F) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("bash is not installed")
	}
	for _, c := range []string{
		"apply_patch <<'EOF'\n" + onePatch + "EOF", "apply_patch <<EOF\na\nEOF\n", "cd 'a b' && apply_patch <<\"X\"\n$a\nX\n \n", "cd a &&\napply_patch<<E\nE\n",
		"cd ./a && apply_patch <<'1'\n1 \n\x01\xff\n1\n", "apply_patch <<'EOF'\na\r\n'EOF'\nEOF\r\nEOF", "\n\t apply_patch <<'EOF'\nEOF", "cd b/../a && apply_patch <<'E'\nE",
	} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if strings.ContainsRune(command, 0) || len(command) > 10_000 {
			return
		}
		c, ok, _ := asPatch(command)
		if !ok {
			return
		}
		// cd gets its own arguments, and apply_patch the patch.
		script := "cd() { printf 'cd %s\\n' \"$*\"; }\napply_patch() { printf 'patch %s\\n' $#; cat; }\n" + command
		run := exec.Command(bash, "-c", script)
		run.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
		run.Dir = t.TempDir()
		out, err := run.Output()
		want := "patch 0\n" + c.patch
		if strings.Contains(strings.SplitN(command, "<<", 2)[0], "cd") {
			want = "cd " + c.folder + "\n" + want
		}
		if err != nil || string(out) != want {
			t.Fatalf("%q: bash says %q (%v), this reads %q", command, out, err, want)
		}
	})
}

func TestShellAppliesAPatch(t *testing.T) {
	p := newPlace(t, map[string]string{"sub/f": "old\n", "f": "untouched\n"})
	command := "cd sub && apply_patch <<'EOF'\n" + onePatch + "EOF\n"
	c, err := p.plan("shell", args{"command": command, "sandbox_permissions": "require_escalated", "justification": "j"})
	if err != nil {
		t.Fatal(err)
	}
	a := c.Action()
	if a.Kind != word.KindEdit || a.Title != "edit sub/f" || a.Folder != filepath.Join(p.ws, "sub") || a.Tool != "apply_patch" || a.Wish.Unsandboxed || a.Wish.Justification != "j" || a.CallID != "c1" ||
		len(a.Paths) != 1 || a.Paths[0] != filepath.Join(p.ws, "sub/f") {
		t.Errorf("%+v", a)
	}
	r := p.ok("shell", args{"command": command})
	if p.read("sub/f") != "new $HOME `x` \\\n" || p.read("f") != "untouched\n" || len(r.Changes) != 1 {
		t.Errorf("%q %+v", p.read("sub/f"), r)
	}
	contains(t, "result", r.Text, "Done:\nupdate sub/f (+1 -1)", "call it directly")
	p.ok("shell", args{"workdir": "sub", "command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nEOF"})
	if p.read("sub/f") != "(absent)" || p.read("f") == "(absent)" {
		t.Errorf("workdir was not followed: sub/f is %q, f is %q", p.read("sub/f"), p.read("f"))
	}

	for command, want := range map[string]string{
		"cd nope && apply_patch <<'EOF'\n" + onePatch + "EOF": "there is no folder nope",
		"apply_patch <<'EOF'\nhello\nEOF":                     `the first line must be "*** Begin Patch"`,
		"apply_patch <<EOF\n" + onePatch + "EOF":              "<<'EOF' with the quotes",
	} {
		if _, err := p.plan("shell", args{"command": command}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// A path outside becomes a question, as in any other patch.
	if _, err := p.do("shell", args{"command": "cd ../out && apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: secret\n*** End Patch\nEOF"}); err == nil || len(p.asked) != 1 {
		t.Errorf("not asked: %v", err)
	}
	// If the tool is disabled, a command cannot replace it.
	p.options.Disabled = map[string]bool{"apply_patch": true}
	if c, err := p.plan("shell", args{"command": command}); err != nil || c.Action().Kind != word.KindCommand {
		t.Errorf("%v", err)
	}
}
