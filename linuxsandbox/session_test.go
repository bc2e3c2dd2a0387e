//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"codeagent/sandbox"
)

// TestFirstCommandShowsTheMachine: a session whose first keeper runs a command knows the same of
// this machine as one that was probed.
func TestFirstCommandShowsTheMachine(t *testing.T) {
	probed := newBackend(t)
	defer probed.Close()
	want, err := probed.probe()
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
			if st, _ := run(t, b, policy, sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: "/"}); st.Exit != 0 {
				t.Errorf("status %d", st.Exit)
			}
			got, err := b.probe()
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
		hope func(*facts)
		runs bool
	}{
		{"as planned", func(*facts) {}, true},
		{"another Landlock", func(f *facts) { f.LandlockABI++ }, false},
		{"another way to take sockets", func(f *facts) { f.Sockets++ }, false},
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
			proc, err := b.startUnder(t.Context(), p, cmd, command, nil, planned, one)
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
