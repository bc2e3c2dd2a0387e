//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"codeagent/linuxsandbox/plan"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestFirstCommandShowsTheMachine: a session whose first keeper runs a command knows the same of
// this machine as one that was probed.
func TestFirstCommandShowsTheMachine(t *testing.T) {
	probed := newBackend(t)
	defer probed.Close()
	want, err := probed.probe(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, policy := range map[string]sandbox.Policy{
		"read-only":          sandbox.ReadOnly(),
		"the host's network": {Network: sandbox.Network{Mode: sandbox.NetworkFull}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t)
			defer b.Close()
			if st, _ := sandboxtest.Output(t, b, policy, sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: "/"}); st.Exit != 0 {
				t.Errorf("status %d", st.Exit)
			}
			got, err := b.probe(nil)
			if err != nil {
				t.Fatal(err)
			}
			got.Thread = want.Thread
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v\nwant %+v", got, want)
			}
		})
	}
}

// TestAhead: a keeper that was started before its command was known serves a command or a probe, has
// the command's descriptors and no others, and ends with the backend if nobody used it.
func TestAhead(t *testing.T) {
	start := func(t *testing.T) (*Backend, firstKeeper) {
		b, err := New(Options{Helper: tests.Helper(t), Ahead: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		o, err := b.ahead()
		if err != nil {
			t.Skip("this machine has not everything: ", err)
		}
		return b, o
	}
	for name, row := range map[string]struct {
		foreground bool
		probe      bool
		session    string // of the keeper, in its PID namespace
	}{
		"a command":                   {session: "1"},
		"a command in the foreground": {foreground: true, session: "0"},
		"a probe":                     {probe: true, session: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			b, o := start(t)
			if row.probe {
				if _, err := b.probe(nil); err != nil {
					t.Fatal(err)
				}
			}
			const script = `cut -d" " -f6 /proc/1/stat; for n in /proc/self/fd/*; do echo "${n##*/}"; done; cat`
			in := filepath.Join(t.TempDir(), "in")
			if err := os.WriteFile(in, []byte("read"), 0o600); err != nil {
				t.Fatal(err)
			}
			stdin, err := os.Open(in)
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			st, got := sandboxtest.Output(t, b, sandbox.ReadOnly(), sandbox.Command{
				Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/bin:/usr/bin"}, Dir: "/", Stdin: stdin, Foreground: row.foreground,
			})
			// The shell lists the folder by a descriptor of its own.
			if want := row.session + "\n0\n1\n2\n3\nread"; st.Exit != 0 || got != want && got != strings.Replace(want, "\n3", "", 1) {
				t.Errorf("status %d; the command says %q, want %q", st.Exit, got, want)
			}
			if b.ahead != nil || b.namespaces != o.made {
				t.Error("the keeper that was started ahead was not used")
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		b, o := start(t)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(o.keeper.pid, 0); err != unix.ESRCH {
			t.Errorf("the keeper is still there: %v", err)
		}
	})
	for _, probe := range []bool{false, true} {
		t.Run(fmt.Sprintf("somebody killed it, and a probe is first: %v", probe), func(t *testing.T) {
			b, o := start(t)
			if err := unix.Kill(o.keeper.pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if !probe {
				if st, _ := sandboxtest.Output(t, b, sandbox.ReadOnly(), sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: "/"}); st.Exit != 0 {
					t.Errorf("status %d", st.Exit)
				}
			}
			if f, err := b.probe(nil); err != nil || !f.Namespaces || f.NoPIDs != "" {
				t.Errorf("the session's facts: %+v, %v", f, err)
			}
		})
	}
}

// TestCloseWaitsForKeepers: a keeper ends behind its command, and the backend not before it.
func TestCloseWaitsForKeepers(t *testing.T) {
	b := newBackend(t)
	var keepers []int
	for range 3 {
		p, err := sandboxtest.Start(b, t.Context(), sandbox.ReadOnly(), sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: "/"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := p.Wait(); err != nil || st.Exit != 0 {
			t.Fatal(st, err)
		}
		keepers = append(keepers, p.(*process).keeper.pid)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range keepers {
		if err := unix.Kill(pid, 0); err != unix.ESRCH {
			t.Errorf("keeper %d is still there: %v", pid, err)
		}
	}
}

// TestFirstCommandWaits: if the first keeper shows anything but what its order was planned for, its
// command does not run.
func TestFirstCommandWaits(t *testing.T) {
	ws := t.TempDir()
	p := sandbox.WorkspaceWrite(ws)
	cmd := sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", ": >made"}, Dir: ws}
	command, err := newCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		hope func(*plan.Facts)
		runs bool
	}{
		{"as planned", func(*plan.Facts) {}, true},
		{"another Landlock", func(f *plan.Facts) { f.LandlockABI++ }, false},
		{"another way to take sockets", func(f *plan.Facts) { f.Sockets++ }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBackend(t)
			defer b.Close()
			one, err := b.planFirst(func() {})
			if err != nil {
				t.Skip(err)
			}
			planned := one.hoped
			row.hope(&one.hoped)
			proc, err := b.startUnder(t.Context(), sandboxtest.Resolved(p), cmd, command, nil, planned, one)
			if err == nil {
				_, err = proc.Wait()
			}
			made := filepath.Join(ws, "made")
			_, none := os.Lstat(made)
			_ = os.Remove(made)
			if row.runs && err != nil {
				t.Skip("this machine has not everything: ", err)
			}
			if runs := none == nil; runs != row.runs || one.adopted != row.runs || !row.runs && !errors.Is(err, errOrdinary) {
				t.Errorf("ran: %v; adopted: %v; %v", runs, one.adopted, err)
			}
		})
	}
}
