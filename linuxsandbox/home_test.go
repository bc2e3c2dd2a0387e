//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// homeAttacks reach for codeagent's own folders in a workspace that is the home folder. Each is a
// shell script that runs there. It succeeds if it prints the secret, or if the folders have
// changed.
var homeAttacks = []struct{ name, script string }{
	{"read the settings", `cat .config/codeagent/config.toml`},
	{"read a session", `cat .local/state/codeagent/sessions/*`},
	{"read what undo keeps", `cat .local/state/codeagent/undo/*/*`},
	{"read through a link", `ln -s .config/codeagent l; cat l/config.toml`},
	{"read through /proc", `cat /proc/self/cwd/.config/codeagent/config.toml`},
	{"read from a program in the folder", `cd .config/codeagent && cat config.toml`},
	{"read through a second name", `ln .config/codeagent/config.toml second; cat second`},
	{"copy a folder above", `cp -r .config other; cat other/codeagent/config.toml`},
	{"move and read", `mv .config other; cat other/codeagent/config.toml`},
	{"write the settings", `echo evil >> .config/codeagent/config.toml`},
	{"write settings that are absent", `echo evil > .config/codeagent/rules.toml`},
	{"write through a link", `ln -s .config/codeagent l; echo evil > l/rules.toml`},
	{"empty a session", `: > .local/state/codeagent/sessions/s.jsonl`},
	{"plant a session", `echo evil > .local/state/codeagent/sessions/t.jsonl`},
	{"change what undo keeps", `for f in .local/state/codeagent/undo/*/*; do echo evil > "$f"; done; echo evil > .local/state/codeagent/undo/s/small`},
	{"plant an output", `echo evil > .local/state/codeagent/output/o`},
	{"open the folder to others", `chmod 777 .config/codeagent`},
	{"open a folder above to others", `chmod 777 .local/state`},
	{"change the mode of its parent", `chmod 711 .config`},
	{"change the mode of the parent's parent by descriptor", `exec 9<.local; chmod 711 /proc/self/fd/9`},
	{"change its time", `touch -d 2001-01-01 .config/codeagent`},
	{"remove the settings", `rm -rf .config/codeagent`},
	{"remove all records", `rm -rf .local`},
	{"move the folder", `mv .config/codeagent .config/other`},
	{"move its parent", `mv .config other; mkdir -p .config/codeagent; echo evil > .config/codeagent/config.toml`},
	{"move the parent of the state", `mv .local/state .local/other`},
	{"move the parent's parent", `mv .local other`},
	{"move another folder over it", `rm -r .config/codeagent; mkdir other; mv -T other .config/codeagent`},
	{"put a link in its place", `mv .config/codeagent .config/x; ln -s ../other .config/codeagent`},
	{"rename a file over it", `echo evil > f; mv f .config/codeagent/config.toml`},
	{"rename a file out of it", `mv .config/codeagent/config.toml f`},
}

// TestHome: in a workspace that is the home folder, nothing reaches codeagent's own folders. If no
// mounts or no broker protect them, no command runs.
func TestHome(t *testing.T) { tests.InSettings(t, "^TestHomeInSetting$") }

const homeSecret = "secret of codeagent"

// newHome is a home folder with codeagent's own folders.
func newHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "home")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".config/codeagent/config.toml", ".local/state/codeagent/sessions/s.jsonl", ".local/state/codeagent/undo/s/small", ".local/state/codeagent/output/out"} {
		file := filepath.Join(home, name)
		text := homeSecret
		if filepath.Base(name) == "out" { // commands may read this one
			text = ""
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func homePolicy(home string) sandbox.Policy {
	p := sandbox.WorkspaceWrite(home)
	state := home + "/.local/state/codeagent"
	p.Protected.Own = []string{home + "/.config/codeagent", state}
	p.Protected.Hidden = []string{home + "/.config/codeagent", state + "/sessions", state + "/undo"}
	return p
}

// ownTree describes codeagent's own folders with modes, contents and times: nothing there may
// change. Of the folders above them, the modes may not change.
func ownTree(t *testing.T, home string) string {
	t.Helper()
	var out strings.Builder
	for _, dir := range []string{".config", ".local", ".local/state"} {
		mode := "gone"
		if info, err := os.Lstat(filepath.Join(home, dir)); err == nil {
			mode = info.Mode().String()
		}
		out.WriteString(dir + " " + mode + "\n")
	}
	for _, dir := range []string{".config/codeagent", ".local/state/codeagent"} {
		err := filepath.Walk(filepath.Join(home, dir), func(name string, info os.FileInfo, err error) error {
			if err != nil {
				out.WriteString(name + " is gone\n")
				return nil
			}
			var data []byte
			if info.Mode().IsRegular() {
				data, _ = os.ReadFile(name)
			}
			out.WriteString(strings.Join([]string{name, info.Mode().String(), info.ModTime().String(), string(data)}, " ") + "\n")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// TestHomeInSetting is the body of TestHome.
func TestHomeInSetting(t *testing.T) {
	b, f := backendInSetting(t, "TestHome")
	env := []string{"PATH=/bin:/usr/bin"}
	if !f.Broker || !f.Namespaces {
		home := newHome(t)
		if _, err := sandboxtest.Enforcement(b, homePolicy(home)); err == nil || !strings.Contains(err.Error(), home+"/.config/codeagent") {
			t.Errorf("without mounts: %v, want an error that names the folder", err)
		}
		return
	}
	for _, a := range homeAttacks {
		t.Run(a.name, func(t *testing.T) {
			script := "umask 022; " + a.script + " 2>/dev/null; :"
			home := newHome(t)
			was := ownTree(t, home)
			bare := runBare(t, home, env, script)
			if !strings.Contains(bare, homeSecret) && ownTree(t, home) == was {
				t.Error("does not work without a sandbox either, so nothing is shown")
			}
			home = newHome(t)
			was = ownTree(t, home)
			_, out := sandboxtest.Output(t, b, homePolicy(home), sandbox.Command{Path: "bash", Args: []string{"bash", "-c", script}, Dir: home, Env: env})
			if strings.Contains(out, homeSecret) {
				t.Errorf("it was read: %q", out)
			}
			if is := ownTree(t, home); is != was {
				t.Errorf("it was changed:\n%s\nwas\n%s", is, was)
			}
		})
	}
	home := newHome(t)
	_, out := sandboxtest.Output(t, b, homePolicy(home), sandbox.Command{
		Path: "bash", Args: []string{"bash", "-c", `echo one > .bashrc; mkdir -p .config/other; echo two > .config/other/f; mv .bashrc moved; cat moved .config/other/f; cat .local/state/codeagent/output/out`}, Dir: home, Env: env,
	})
	if out != "one\ntwo\n" {
		t.Errorf("ordinary work in the home folder: %q", out)
	}
}

// runBare runs the script without a sandbox and returns what it printed.
func runBare(t *testing.T, dir string, env []string, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
