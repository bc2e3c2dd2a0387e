package servers

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/config/server"
)

// triesPaths is a server that writes to its file "read" which of the paths in its file "paths" it can read.
const triesPaths = `cd; while IFS= read -r p; do cat "$p" >/dev/null && echo "$p"; done <paths >read
` + answers

// TestHome: a server reads its program with what that is installed in, what its settings name, and the
// workspace; of the home folder nothing else.
func TestHome(t *testing.T) {
	o := testOptions(t)
	home, work := o.Workspace.Place.Home, o.Workspace.Folder
	all := []string{
		".ssh/id", ".codex/auth.json", "notes/a", "notes/b", "src/app/dist/x", "src/app/data", "src/app/run", "src/other/data", "x/node_modules/m/x", "x/data",
		"sdk/go/src/a.go", "sdk/go/bin/go", "sdk/go/pkg/tool/x", ".tool/bin/tool", ".tool/lib/code", ".tool/credentials", "inst/v1/bin/run", "inst/v1/lib/code", "inst/v1/config", "../work/code",
	}
	put := func(name, text string, mode os.FileMode) {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range all {
		put(name, "x", 0o600)
	}
	put("src/app/package.json", "{}", 0o600)
	put("inst/v1/bin/run", "#!/bin/sh\nexec /bin/sh \"$@\"\n", 0o700)
	put("src/app/run", "x", 0o700)
	put("sdk/go/bin/go", "#!/bin/sh\nexec /bin/sh \"$@\"\n", 0o700)
	put("inst/v1/bin/self", "#!"+home+"/inst/v1/bin/self", 0o700) // nothing starts it, but its name is a word
	put("../work/led", "#!"+home+"/src/app/run", 0o700)
	put(".tool/bin/tool", "#!/usr/bin/env run\n. \"$1\"", 0o700)
	o.Workspace.Place.Home = filepath.Dir(home) + "/link"
	if err := os.Symlink(home, o.Workspace.Place.Home); err != nil {
		t.Fatal(err)
	}
	paths := []byte(home + "/" + strings.Join(all, "\n"+home+"/") + "\n")
	o.Workspace.Stdio.Environ = []string{"HOME=" + home, "PATH=/usr/bin:/bin:" + work + ":" + home + "/inst/v1/bin"}
	put("../work/script", triesPaths, 0o600)
	if err := errors.Join(os.Symlink(home+"/.codex/auth.json", work+"/planted"), os.Symlink(home+"/.tool/bin/tool", work+"/tool"), os.Symlink(home+"/src/app/run", work+"/lead")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		command  string // "" for a shell
		args     []string
		env      map[string]string
		box      server.Sandbox
		origin   string
		want     []string // beside the workspace and the folder in PATH
		problem  string
		inServer string // a path that exists in its own home
	}{
		{name: "nothing is named"},
		{name: "the workspace is closed", box: server.Sandbox{Workspace: "none"}},
		{name: "a file", args: []string{"~/notes/a"}, want: []string{"notes/a"}, inServer: "notes/a"},
		{name: "a folder, in an option", args: []string{"--dir=" + home + "/notes"}, want: []string{"notes/a", "notes/b"}, inServer: "notes/b"},
		{name: "in a script", args: []string{"cat '" + home + "/notes/b'|cat"}, want: []string{"notes/b"}},
		{name: "in a variable", env: map[string]string{"PLACES": "/nothing:" + home + "/notes"}, want: []string{"notes/a", "notes/b"}},
		{name: "a file of a package", args: []string{home + "/src/app/dist/x"}, want: []string{"src/app/dist/x", "src/app/data", "src/app/run"}},
		{name: "a file among packages", args: []string{home + "/x/node_modules/m/x"}, want: []string{"x/node_modules/m/x"}},
		{name: "a key, a home, a link of a command", args: []string{"~/.ssh", home, filepath.Dir(home), "/", work + "/planted", o.Workspace.Paths.Servers}},
		{name: "by a project", command: "/bin/sh", args: []string{"~/notes/a", home + "/src/app/dist/x"}, env: map[string]string{"X": home + "/notes"}, origin: server.OfProject},
		{name: "by a setting", box: server.Sandbox{Read: []string{"~/notes", "~/.ssh"}}, want: []string{".ssh/id", "notes/a", "notes/b"}, inServer: ".ssh/id"},
		{name: "the home by a setting", box: server.Sandbox{Read: []string{"~"}}, problem: "contains your home folder"},
		{name: "other servers by a setting", box: server.Sandbox{Write: []string{o.Workspace.Paths.Servers + "/u"}}, problem: "those of MCP servers"},
		{name: "a program in a prefix", command: home + "/inst/v1/bin/run", want: []string{"inst/v1/lib/code"}},
		{name: "a program in a shared prefix, by a link, and its interpreter", command: work + "/tool", want: []string{".tool/bin/tool", ".tool/lib/code", "inst/v1/lib/code"}},
		{name: "a toolchain of Go", command: home + "/sdk/go/bin/go", want: []string{"sdk/go/src/a.go", "sdk/go/bin/go", "sdk/go/pkg/tool/x"}},
		{name: "a program of a project", command: home + "/inst/v1/bin/run", origin: server.OfProject, want: []string{"inst/v1/lib/code"}},
		{name: "an interpreter in a script of a command", args: []string{work + "/led"}, want: []string{"src/app/run"}},
		{name: "a word that is a program of a command", args: []string{"lead"}},
		{name: "a word that is a program", args: []string{"run", "self"}, want: []string{"inst/v1/lib/code"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := server.Settings{Command: c.command, Args: append([]string{work + "/script"}, c.args...), Env: c.env, Sandbox: c.box, Origin: c.origin}
			if c.command == "" {
				set.Command, set.Args = "/bin/sh", append([]string{"-c", triesPaths}, c.args...)
			}
			set = complete(t, set)
			o.Configured = map[string]server.Settings{"t": set}
			own := (&Servers{options: o}).folder("t", set)
			defer os.RemoveAll(own)
			if err := errors.Join(os.MkdirAll(own, 0o700), os.WriteFile(own+"/paths", paths, 0o600)); err != nil {
				t.Fatal(err)
			}
			s := Open(t.Context(), o)
			defer s.Close()
			if err := s.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			st := s.Status()[0]
			if c.problem != "" {
				if !strings.Contains(st.Problem, c.problem) {
					t.Errorf("%q, want %q", st.Problem, c.problem)
				}
				return
			}
			if st.State != Running {
				t.Fatal(st.Problem)
			}
			text, err := os.ReadFile(own + "/read")
			if err != nil {
				t.Fatal(err)
			}
			want := append(c.want, "inst/v1/bin/run")
			if c.box.Workspace != "none" {
				want = append(want, "../work/code")
			}
			slices.Sort(want)
			got := strings.Fields(strings.ReplaceAll(string(text), home+"/", ""))
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("it read %q, want %q; %v", got, want, st.Refused)
			}
			if _, err := os.Stat(own + "/" + c.inServer); err != nil {
				t.Error(err)
			}
		})
	}
	// A server that makes its home lead elsewhere gets no link of codeagent's there.
	set := complete(t, server.Settings{Command: "/bin/sh", Sandbox: server.Sandbox{Read: []string{"~/x/data", "~/notes/a"}}})
	own := t.TempDir()
	if err := errors.Join(os.Symlink(work, own+"/x"), showIn(own, home, o.Workspace.Files, set)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(work + "/data"); err == nil {
		t.Error("codeagent made a link where a server led it")
	}
	if to, err := os.Readlink(own + "/notes/a"); to != home+"/notes/a" {
		t.Errorf("%q, %v", to, err)
	}
	bare := exec.Command("/bin/sh", "-c", `while IFS= read -r p; do cat "$p" || exit 1; done`)
	bare.Stdin = bytes.NewReader(paths)
	if out, err := bare.CombinedOutput(); err != nil {
		t.Errorf("without a sandbox not all can be read: %v %s", err, out)
	}
}
