//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// A command with mounts has its own /tmp, /var/tmp and /dev/shm. A workspace below them is mounted
// inside one of these mounts, for which Landlock must allow only reading.

// TestWorkspacesInTemp runs TestWorkspaceInTempInSetting in every setting.
func TestWorkspacesInTemp(t *testing.T) { tests.InSettings(t, "^TestWorkspaceInTempInSetting$") }

// tempPlaces are the positions of a workspace relative to the folders for temporary files. Each
// creates a workspace in dir, its own folder below base, and a policy.
var tempPlaces = []struct {
	name, base string
	make       func(t *testing.T, dir string) (ws string, p sandbox.Policy)
}{
	{"right below /tmp", "/tmp", placeAt("")},
	{"deep below /tmp", "/tmp", placeAt("a/b/ws")},
	{"right below /var/tmp", "/var/tmp", placeAt("")},
	{"deep below /var/tmp", "/var/tmp", placeAt("a/b/ws")},
	{"below /dev/shm", "/dev/shm", placeAt("")},
	{"deep below /dev/shm", "/dev/shm", placeAt("a/b/ws")},
	{"one of two roots in one folder of /tmp", "/tmp", func(t *testing.T, dir string) (string, sandbox.Policy) {
		ws, p := placeAt("one")(t, dir)
		other, _ := placeAt("two")(t, dir)
		p.Write = append(p.Write, sandbox.Root{Path: other})
		return ws, p
	}},
	{"below a root of /tmp", "/tmp", func(t *testing.T, dir string) (string, sandbox.Policy) {
		ws, p := placeAt("outer/inner")(t, dir)
		p.Write = append(p.Write, sandbox.Root{Path: filepath.Dir(ws)})
		return ws, p
	}},
	{"in /tmp, with a root elsewhere", "/tmp", func(t *testing.T, dir string) (string, sandbox.Policy) {
		ws, p := placeAt("")(t, dir)
		p.Write = append(p.Write, sandbox.Root{Path: t.TempDir()})
		return ws, p
	}},
	{"in the shared /tmp", "/tmp", func(t *testing.T, dir string) (string, sandbox.Policy) {
		ws, p := placeAt("")(t, dir)
		p.SharedTemp = true
		return ws, p
	}},
	{"around the folder for temporary files", "/tmp", func(t *testing.T, dir string) (string, sandbox.Policy) {
		ws, p := placeAt("")(t, dir)
		p.Temp = filepath.Join(ws, "temp")
		return ws, p
	}},
	{"by a link", "/tmp", func(t *testing.T, dir string) (string, sandbox.Policy) {
		ws, p := placeAt("real/ws")(t, dir)
		link := filepath.Join(dir, "link")
		if err := os.Symlink(filepath.Dir(ws), link); err != nil {
			t.Fatal(err)
		}
		return link + "/ws", p
	}},
}

// placeAt is a workspace at path below its folder.
func placeAt(path string) func(t *testing.T, dir string) (string, sandbox.Policy) {
	return func(t *testing.T, dir string) (string, sandbox.Policy) {
		t.Helper()
		ws := filepath.Join(dir, path)
		if err := os.MkdirAll(ws, 0o755); err != nil {
			t.Fatal(err)
		}
		p := sandbox.WorkspaceWrite(ws)
		p.Temp = t.TempDir()
		return ws, p
	}
}

// tempAttacks change what is protected in a workspace: by a shell script, or by a deed of a program
// that nobody can examine. watch must not change. Words of protecttest stand for names.
var tempAttacks = []struct{ name, script, watch string }{
	{"a hook", `echo evil > sub/.git/hooks/pre-commit`, "sub/.git"},
	{"a folder with a hook moved", `mv sub sub2`, "sub"},
	{"{shell}", `echo evil > {shell}`, "{shell}"},
	{"{agent2}", `echo evil > {agent2}`, "{agent2}"},
	{"{agent2} moved into place", `echo evil > x && mv x {agent2}`, "{agent2}"},
	{"{agent2} from the folder for temporary files", `echo evil > "$TMPDIR/x" && mv "$TMPDIR/x" {agent2}`, "{agent2}"},
	{"a folder with {shell} from there", `mkdir "$TMPDIR/f" && echo evil > "$TMPDIR/f/{shell}" && mv "$TMPDIR/f" f`, "f/{shell}"},
	{"the folder of a denied file renamed", `mv conf conf2`, "conf"},
	{"not readable: {shell}", "shell", "{shell}"},
	{"not readable: {agent2}", "agent", "{agent2}"},
	{"not readable: a hook", "hook", "sub/.git"},
	{"not readable: a folder with a hook moved", "move", "sub"},
	{"not readable: mode", "fchmod mine", "mine"},
	{"race", "race", "sub/.git"},
}

func TestWorkspaceInTempInSetting(t *testing.T) {
	b, e := backendInSetting(t, "TestWorkspacesInTemp")
	sample := machine.Sample(t, 3)
	for i, place := range tempPlaces {
		if !sample.Has(i) {
			continue
		}
		t.Run(place.name, func(t *testing.T) {
			for _, a := range tempAttacks {
				dir, err := os.MkdirTemp(place.base, "codeagent-place")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { attack.RemoveAll(dir) })
				ws, p := place.make(t, dir)
				furnishTemp(t, ws, p.Temp)
				if slices.Contains(e.Active(), "mountns") { // without namespaces the policy is refused
					p.DenyRead = []string{filepath.Join(canonical(t, ws), "conf/key")}
				} else if a.watch == "conf" {
					continue
				}
				attackInTemp(t, b, p, ws, protecttest.In(a.script), protecttest.In(a.watch), a.name)
			}
			legitInTemp(t, b, e, place.base, place.make)
		})
	}
}

func canonical(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// furnishTemp creates a repository and protected files in the workspace.
func furnishTemp(t *testing.T, ws, temp string) {
	t.Helper()
	put := func(path, text string) error {
		full := filepath.Join(ws, path)
		return errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644))
	}
	err := errors.Join(put(protecttest.In("{shell}"), "mine\n"), put("mine", "data\n"), put("conf/key", "key\n"), put("sub/.git/HEAD", "ref: refs/heads/main\n"),
		put("sub/.git/hooks/sample", "x\n"), put("sub/.git/objects/x", "x\n"), put("other/x", "x\n"), os.MkdirAll(temp, 0o755))
	if err != nil {
		t.Fatal(err)
	}
}

// attackInTemp makes one attack without the sandbox on a copy, where it must succeed, and then in
// the sandbox.
func attackInTemp(t *testing.T, b *linuxsandbox.Backend, p sandbox.Policy, ws, script, watch, name string) {
	t.Helper()
	look := func(ws string) string {
		var out strings.Builder
		attack.Describe(&out, filepath.Join(ws, watch))
		return out.String()
	}
	copied := filepath.Join(t.TempDir(), "copy")
	furnishTemp(t, copied, filepath.Join(copied, "temp"))
	before := look(copied)
	alone := script
	if script == "race" {
		alone = untilWon
	}
	cmd := tempAttack(alone, copied, filepath.Join(copied, "temp"))
	bare := exec.Command(cmd.Path)
	bare.Args, bare.Dir, bare.Env = cmd.Args, cmd.Dir, cmd.Env
	if out, err := bare.CombinedOutput(); err != nil || look(copied) == before {
		t.Errorf("%s: does not work without a sandbox: %v %s", name, err, out)
	}
	attack.RemoveAll(copied)
	before = look(ws)
	_, out := sandboxtest.Output(t, b, p, tempAttack(script, ws, p.Temp))
	if after := look(ws); after != before {
		t.Errorf("%s: ESCAPE\nbefore %s\nafter  %s\n%s", name, before, after, out)
	}
}

// tempAttack is the command of an attack.
func tempAttack(script, ws, temp string) sandbox.Command {
	cmd := sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin", "TMPDIR=" + temp}}
	if !strings.Contains(script, " ") || blindDeeds[script] != nil {
		cmd.Path, cmd.Args = os.Args[0], []string{tempVictimName, script, ws}
	}
	return cmd
}

// tempVictimName is the argv[0] of a victim that does one deed in a workspace.
const tempVictimName = "escape-temp"

// tempVictim takes over the process if it was started as such a victim.
func tempVictim() {
	if filepath.Base(os.Args[0]) != tempVictimName {
		return
	}
	p, err := place{in: os.Args[2], out: os.Args[2]}, errors.New("no such deed")
	if times, races := races[os.Args[1]]; races {
		err = hookRace(p, times)
	} else if blindDeeds[os.Args[1]] != nil {
		err = blind(os.Args[1])(p)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// races are the racing operations, and how often they write. Without a sandbox they run until the
// race is won.
var races = map[string]int{"race": 3000, untilWon: math.MaxInt}

const untilWon = "race-until-won"

// hookRace swaps a folder with one that contains a hook, while the hook is written under the
// folder's name. It writes the given number of times, and continues until there were 500 swaps: on
// a busy machine one thread could finish before the other starts.
func hookRace(p place, times int) error {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	if err := os.Symlink("../sub/.git/hooks", p.in+"/other/l"); err != nil {
		return err
	}
	if err := os.Mkdir(p.in+"/other/d", 0o755); err != nil {
		return err
	}
	var flips atomic.Int32
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, p.in+"/other/d", unix.AT_FDCWD, p.in+"/other/l", unix.RENAME_EXCHANGE)
				flips.Add(1)
			}
		}
	})
	for n := 0; n < times || flips.Load() < 500; n++ {
		_ = writeTo(p.in+"/other/d/pre-commit", unix.O_WRONLY|unix.O_CREAT)
		if there(p.in + "/sub/.git/hooks/pre-commit") {
			return nil
		}
	}
	return errLost
}

// legitInTemp does ordinary work in such a workspace, and checks what is reported about it.
func legitInTemp(t *testing.T, b *linuxsandbox.Backend, e sandbox.Enforcement, base string, make func(*testing.T, string) (string, sandbox.Policy)) {
	t.Helper()
	dir, err := os.MkdirTemp(base, "codeagent-place")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(dir) })
	ws, p := make(t, dir)
	furnishTemp(t, ws, p.Temp)
	var told []string
	cmd := tempAttack(protecttest.In(`set -e; echo x > new; mkdir d; mv new d/new; chmod 600 mine; echo y >> mine; ln mine d/second; rm d/new
echo x > "$TMPDIR/x"; mkdir -p "$TMPDIR/e/{editor/}"; echo x > "$TMPDIR/e/{editor}"; mv "$TMPDIR/e" "$TMPDIR/g"; mv "$TMPDIR/x" d/x
ln -s x "$TMPDIR/l"; git init -q "$TMPDIR/repo"; git -C "$TMPDIR/repo" config a.b c; rm -rf "$TMPDIR/g" "$TMPDIR/repo"; cat d/x; echo done`), ws, p.Temp)
	cmd.Observer = sandboxtest.Observer(func(_ int, _, path string) { told = append(told, strings.TrimPrefix(path, canonical(t, ws)+"/")) })
	if st, out := sandboxtest.Output(t, b, p, cmd); st.Exit != 0 || !strings.HasSuffix(out, "x\ndone\n") {
		t.Errorf("%+v %s", st, out)
	}
	if want := []string{"new", "d", "mine"}; e.Observes && !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
