//go:build linux

package linuxsandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

const secretText = "the-secret-itself"

// denyRoute is one way to a denied file. The script prints the secret if nothing stops it; $SECRET
// and $HOME are paths.
type denyRoute struct{ item, name, script string }

var denyRoutes = []denyRoute{
	{"E2", "by its name", `cat $HOME/.ssh/id`},
	{"E2", "by a link made inside", `ln -s $HOME/.ssh/id l; cat l`},
	{"E2", "by a link that was there before", `cat before`},
	{"E2", "by a chain of links to its folder", `ln -s $HOME/.ssh d; ln -s d e; cat e/id`},
	{"E2", "by the folder's own link", `cat $HOME/.linked/id`},
	{"E6", "by /proc/self/root", `cat /proc/self/root$HOME/.ssh/id`},
	{"E6", "by /proc/PID/root", `cat /proc/$$/root$HOME/.ssh/id`},
	{"E6", "by /proc/self/cwd", `cd $HOME; cat /proc/self/cwd/.ssh/id`},
	{"E6", "from inside its folder", `cd $HOME/.ssh; cat id`},
	{"E6", "by a descriptor of the folder", `exec python3 -c 'import os
d = os.open(os.environ["HOME"] + "/.ssh", os.O_PATH); print(os.read(os.open("id", 0, dir_fd=d), 99))'`},
	{"E6", "by /dev/fd of a descriptor without rights", `exec python3 -c 'import os
f = os.open(os.environ["HOME"] + "/.ssh/id", os.O_PATH); print(open("/dev/fd/%d" % f).read())'`},
	{"E6", "by /proc/self/fd/N/..", `exec python3 -c 'import os
d = os.open(os.environ["HOME"] + "/.sshfoo", os.O_PATH); print(open("/proc/self/fd/%d/../.ssh/id" % d).read())'`},
	{"E6", "by a shell's redirection", `cat /dev/fd/3 3< $HOME/.ssh/id`},
	{"E9", "by a neighbour whose name begins alike", `cat $HOME/.sshfoo/../.ssh/id`},
	{"E9", "by dots and slashes", `cat $HOME/./.ssh//..//.ssh/./id`},
	{"E17", "a file inside a folder that is readable", `cat $HOME/project/keys/one`},
	{"E17", "a single file of a folder", `cat $HOME/.netrc`},
	{"E19", "by a hard link made inside", `ln $HOME/.ssh/id h; cat h`},
	{"E19", "by a hard link of a link", `ln -P before h; cat h`},
	{"E11", "by renaming it", `mv $HOME/.ssh/id i; cat i`},
	{"E11", "by renaming its folder", `mv $HOME/.ssh s; cat s/id`},
	{"E11", "by renaming an ancestor", `mv $HOME $HOME.away; cat $HOME.away/.ssh/id`},
	{"E11", "by exchanging it", `exec python3 -c 'import ctypes, os
open("x", "w").close(); ctypes.CDLL(None).renameat2(-100, b"x", -100, (os.environ["HOME"] + "/.ssh/id").encode(), 2); print(open("x").read())'`},
	{"E2", "by copying the folder", `cp -r $HOME/.ssh c; cat c/id`},
	{"E2", "by packing it", `tar cf - -C $HOME .ssh | tar xOf -`},
	{"E2", "by running it", `$HOME/.ssh/run`},
	{"E2", "by an interpreter", `. $HOME/.ssh/run`},
	{"E2", "by a child in another session", `setsid -w sh -c 'cat $HOME/.ssh/id'`},
}

// denyPlace is a home folder with secrets, and a workspace.
type denyPlace struct {
	home, ws string
	denied   []string
}

func newDenyPlace(t *testing.T) denyPlace {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base = filepath.Join(base, "odd*[1]") // an exact path is literal, whatever its characters
	p := denyPlace{home: filepath.Join(base, "home"), ws: filepath.Join(base, "ws")}
	for name, text := range map[string]string{
		"home/.ssh/id": secretText, "home/.ssh/run": "echo " + secretText, "home/.netrc": secretText, "home/.sshfoo/open": "open to all",
		"home/project/keys/one": secretText, "home/project/readme": "open to all", "ws/own": "open to all", "home/.real/id": secretText,
	} {
		file := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"ws/before": p.home + "/.ssh/id", "home/.linked": ".real"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".ssh", ".netrc", "project/keys", ".linked", ".absent"} {
		p.denied = append(p.denied, filepath.Join(p.home, name))
	}
	return p
}

func (p denyPlace) command(script string) sandbox.Command {
	return sandbox.Command{Path: "bash", Args: []string{"bash", "-c", script}, Dir: p.ws, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + p.home, "LC_ALL=C"}}
}

// TestDenyRead: each route prints the secret if reading it is not denied, and prints nothing if it
// is.
func TestDenyRead(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	for _, route := range denyRoutes {
		t.Run(route.name, func(t *testing.T) {
			open := newDenyPlace(t)
			// Everything except reading must be allowed here. Otherwise another rule could block
			// the route.
			st, out := sandboxtest.Output(t, b, sandbox.WorkspaceWrite(filepath.Dir(open.ws)), open.command(route.script))
			if !strings.Contains(out, secretText) {
				t.Fatalf("the secret is not printed although reading it is allowed: %+v\n%s", st, out)
			}
			shut := newDenyPlace(t)
			p := sandbox.WorkspaceWrite(shut.ws)
			p.DenyRead = shut.denied
			st, out = sandboxtest.Output(t, b, p, shut.command(route.script))
			if strings.Contains(out, secretText) {
				t.Errorf("%s, uid %d: it was read: %+v\n%s", route.item, os.Getuid(), st, out)
			}
			if data, err := os.ReadFile(filepath.Join(shut.home, ".ssh/id")); err != nil || string(data) != secretText {
				t.Errorf("%s: the file itself: %q, %v", route.item, data, err)
			}
		})
	}
}

// TestDenyReadLeavesTheRest: other files stay readable (E9, E21).
func TestDenyReadLeavesTheRest(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	place := newDenyPlace(t)
	p := sandbox.WorkspaceWrite(place.ws)
	p.DenyRead = place.denied
	st, out := sandboxtest.Output(t, b, p, place.command(`set -e
cat $HOME/.sshfoo/open $HOME/project/readme own; ls /usr/bin >/dev/null; echo x > new; cat new; git init -q .; git status --porcelain; python3 -c 'import json'`))
	if st.Exit != 0 || strings.Count(out, "open to all") != 3 {
		t.Errorf("uid %d: %+v\n%s", os.Getuid(), st, out)
	}
}

// TestDenyReadThatCannotBeHeld: a denial is enforced, refused or reported as a weakness, never
// dropped (E16, E17).
func TestDenyReadThatCannotBeHeld(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	place := newDenyPlace(t)
	if err := os.WriteFile(filepath.Join(place.ws, ".env"), []byte(secretText), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(place.home, ".netrc"), filepath.Join(place.ws, "netrc")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, deny, script, weakness string }{
		{"glob", "**/.env", "cat .env", "deny-read-glob"},
		{"a file that appears later", "**/.env.local", "printf " + secretText + " > .env.local; cat .env.local", "deny-read-glob"},
		{"inside a write root", filepath.Join(place.ws, ".env"), "cat .env", ""},
		{"a second name from before", filepath.Join(place.home, ".netrc"), "cat netrc", "deny-read-link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sandbox.WorkspaceWrite(place.ws)
			if strings.HasPrefix(c.deny, "**") {
				p.DenyGlobs = []string{c.deny}
			} else {
				p.DenyRead = []string{c.deny}
			}
			e, err := sandboxtest.Enforcement(b, p)
			if err != nil {
				if !strings.Contains(err.Error(), c.deny) {
					t.Errorf("the refusal does not name it: %v", err)
				}
				return
			}
			st, out := sandboxtest.Output(t, b, p, place.command(c.script))
			confessed := false
			for _, w := range e.Weaknesses {
				confessed = confessed || w.ID == c.weakness && strings.Contains(w.What, c.deny)
			}
			if strings.Contains(out, secretText) && !confessed {
				t.Errorf("it was read, and nothing said so: %+v\n%s\n%+v", st, out, e.Weaknesses)
			}
		})
	}
}

func TestDenyAsUser(t *testing.T) { tests.AsUser(t, "^TestDenyRead") }
