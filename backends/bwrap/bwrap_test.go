//go:build linux

package bwrap

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

var tests = attack.Tests{Package: "codeagent/backends/bwrap", Env: []string{sandboxtest.NoPause}}

func TestMain(m *testing.M) {
	sandboxtest.Main()
	os.Exit(m.Run())
}

func bwrapPath(t testing.TB) string {
	t.Helper()
	program, err := attack.LookIn(attack.Path, Name)
	if err != nil {
		t.Skip(err)
	}
	return program
}

func newBackend(t testing.TB) *linuxsandbox.Backend {
	t.Helper()
	b, err := New(bwrapPath(t), linuxsandbox.Options{Helper: tests.Helper(t)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestConformance: the same suite as of the native backend.
func TestConformance(t *testing.T) {
	sandboxtest.Run(t, func() resolved.Backend { return newBackend(t) })
}

// TestConformanceAsUser runs it as an ordinary user.
func TestConformanceAsUser(t *testing.T) { tests.AsUser(t, "^TestConformance$") }

// TestEveryField: what becomes of each field of the policy here and on the native backend.
func TestEveryField(t *testing.T) {
	native, err := linuxsandbox.New(linuxsandbox.Options{Helper: tests.Helper(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { native.Close() })
	other := newBackend(t)
	t.Cleanup(func() { other.Close() })
	backendtest.EveryField(t, machine.Rows{Every: 1}, native, other)
}

// TestEveryFieldAsUser runs it as an ordinary user.
func TestEveryFieldAsUser(t *testing.T) { tests.AsUser(t, "^TestEveryField$") }

// swapping changes the file system between codeagent's look at the policy and bwrap's.
type swapping struct {
	outer
	// swap is called at the second call: the first is of a probe.
	swap  func()
	calls *int
	argv  *[]string
}

func (s swapping) Argv(e linuxsandbox.Enclosure) (argv []string, err error) {
	argv, err = s.outer.Argv(e)
	if *s.calls++; *s.calls == 2 {
		s.swap()
	}
	*s.argv = argv
	return argv, err
}

// TestSwapped: a link that is put in the place of a write root or of a protected file does not open what it leads to.
// bwrap alone follows it.
func TestSwapped(t *testing.T) {
	for what, to := range map[string]string{"ws": "away", "ws/.envrc": "../away/.envrc"} {
		t.Run(what, func(t *testing.T) {
			base := t.TempDir()
			place, away := filepath.Join(base, what), filepath.Join(base, "away")
			for _, dir := range []string{base + "/ws", away} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, dir := range []string{base + "/ws", away} {
				if err := os.WriteFile(dir+"/.envrc", []byte("mine\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			// What the command writes if it runs: into the folder, and in place of the protected file.
			const script = "echo x > f; rm -f .envrc; echo x > .envrc"
			var argv []string
			swap := func() {
				if err := errors.Join(os.Rename(place, base+"/moved"), os.Symlink(to, place)); err != nil {
					t.Fatal(err)
				}
			}
			b, err := linuxsandbox.NewInside(linuxsandbox.Options{Helper: tests.Helper(t)}, swapping{outer: outer(bwrapPath(t)), swap: func() {}, calls: new(int), argv: &argv})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			cmd := sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: base + "/ws", Env: []string{"PATH=/bin:/usr/bin"}}
			policy := sandbox.WorkspaceWrite(base + "/ws")
			if st, out := sandboxtest.Output(t, b, policy, cmd); st.Exit == 0 {
				t.Fatalf("the protected file could be replaced: %s", out)
			}
			swapped, err := linuxsandbox.NewInside(linuxsandbox.Options{Helper: tests.Helper(t)}, swapping{outer: outer(bwrapPath(t)), swap: swap, calls: new(int), argv: &argv})
			if err != nil {
				t.Fatal(err)
			}
			defer swapped.Close()
			_, err = sandboxtest.Start(swapped, t.Context(), policy, cmd, nil)
			var bad *sandbox.StartError
			if !errors.As(err, &bad) || bad.Code != sandbox.ExitCannotConfine {
				t.Errorf("%v, want a StartError of code 125", err)
			}
			if deceived := written(base); deceived != "" {
				t.Errorf("the command changed %s", deceived)
			}
			bare := exec.Command(argv[0], append(argv[1:], "/bin/sh", "-c", "cd "+base+"/ws && "+script)...)
			out, _ := bare.CombinedOutput()
			if written(base) == "" {
				t.Errorf("bwrap alone is not deceived either, so nothing is shown: %s", out)
			}
		})
	}
}

// written is what a deceived command has changed below base.
func written(base string) string {
	for _, path := range []string{"/away/f", "/ws/.envrc", "/away/.envrc"} {
		if data, err := os.ReadFile(base + path); err == nil && string(data) == "x\n" {
			return path
		}
	}
	return ""
}

// inOwnMounts runs the test again with a variable, in a mount namespace of its own: no other test meets its mounts.
func inOwnMounts(t *testing.T, variable string) {
	t.Helper()
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// envMounted is set in the processes of TestMountsOfOthers that see the mount.
const envMounted = "BWRAP_TEST_MOUNTED"

// TestMountsOfOthers: a mount in a closed folder of another user, which bwrap leaves writable, is no reason to refuse.
func TestMountsOfOthers(t *testing.T) {
	switch mounted := os.Getenv(envMounted) != ""; {
	case os.Getuid() != 0 && !mounted:
		t.Skip("needs root to mount")
	case os.Getuid() != 0:
		if st, out := sandboxtest.Output(t, newBackend(t), sandbox.ReadOnly(), sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: "/"}); st.Exit != 0 {
			t.Errorf("%+v %s", st, out)
		}
	case !mounted:
		inOwnMounts(t, envMounted+"=1")
	default:
		dir, err := os.MkdirTemp("/var/tmp", "of-others")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := errors.Join(os.Mkdir(dir+"/in", 0o777), unix.Mount("none", dir+"/in", "tmpfs", 0, "")); err != nil { // dir is 0700
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir+"/in", 0) })
		tests.AsUser(t, "^TestMountsOfOthers$")
	}
}

// envShared names the folder of TestLaterMounts in the processes that see its mounts.
const envShared = "BWRAP_TEST_SHARED"

// TestLaterMounts: what is mounted while a command runs does not appear for it, as root and as an ordinary user. bwrap
// alone shows it.
func TestLaterMounts(t *testing.T) {
	dir := os.Getenv(envShared)
	switch {
	case dir == "" && os.Getuid() != 0:
		t.Skip("needs root to mount")
	case dir == "":
		if dir, err := os.MkdirTemp("/var/tmp", "later-mounts"); err != nil {
			t.Fatal(err)
		} else {
			t.Cleanup(func() { os.RemoveAll(dir) })
			inOwnMounts(t, envShared+"="+dir)
		}
	case os.Getuid() != 0:
		tryLaterMount(t, dir)
	default:
		if err := errors.Join(os.Chmod(dir, 0o755), unix.Mount(dir, dir, "", unix.MS_BIND, ""), unix.Mount("", dir, "", unix.MS_SHARED, ""), os.Mkdir(dir+"/at", 0o755), os.Mkdir(dir+"/say", 0o777), os.Chmod(dir+"/say", 0o777)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		go func() { // ends with the process
			for {
				await(dir+"/say/ready", true)
				err := errors.Join(os.Remove(dir+"/say/ready"), unix.Mount("none", dir+"/at", "tmpfs", 0, "mode=777"), os.WriteFile(dir+"/say/mounted", nil, 0o644))
				await(dir+"/say/done", true)
				if err = errors.Join(err, unix.Unmount(dir+"/at", 0), os.Remove(dir+"/say/done"), os.Remove(dir+"/say/mounted")); err != nil {
					panic(err)
				}
			}
		}()
		tryLaterMount(t, dir)
		tests.AsUser(t, "^TestLaterMounts$")
	}
}

// await waits until path is there, or gone.
func await(path string, there bool) {
	for {
		if _, err := os.Lstat(path); (err == nil) == there {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func tryLaterMount(t *testing.T, dir string) {
	t.Helper()
	script := "cd " + dir + "; : >say/ready; until [ -e say/mounted ]; do sleep 0.05; done; echo x >at/f && echo through"
	over := func() {
		if err := os.WriteFile(dir+"/say/done", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		await(dir+"/say/mounted", false)
	}
	out, _ := exec.Command(bwrapPath(t), "--ro-bind", "/", "/", "--bind", dir+"/say", dir+"/say", "/bin/sh", "-c", script).CombinedOutput()
	if over(); !strings.Contains(string(out), "through") {
		t.Errorf("bwrap alone does not show the mount, so nothing is shown: %s", out)
	}
	_, got := sandboxtest.Output(t, newBackend(t), sandbox.WorkspaceWrite(dir+"/say"), sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: dir, Env: []string{"PATH=/bin:/usr/bin"}})
	if over(); strings.Contains(got, "through") || !strings.Contains(got, "at/f") {
		t.Errorf("as uid %d: %s", os.Getuid(), got)
	}
}
