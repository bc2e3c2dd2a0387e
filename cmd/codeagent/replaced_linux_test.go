package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
)

// TestReplacedHelper: codeagent runs only the helper that it was built with. Each attack is first
// shown to succeed on a codeagent that was built without the helper's sum.
func TestReplacedHelper(t *testing.T) {
	t.Parallel()
	without := filepath.Join(t.TempDir(), "unchecked")
	if err := goBuild(without, ".", entryFlag()); err != nil {
		t.Fatal(err)
	}
	eachUser(t, func(t *testing.T, u user) {
		helper, trace := u.bin+"/linux-sandbox-helper", u.out+"/ran"
		evil, unchecked := u.out+"/evil", u.bin+"/unchecked"
		if err := goBuild(evil, "./testdata/replaced", "-X main.trace="+trace); err != nil {
			t.Fatal(err)
		}
		attack.CopyFile(t, without, unchecked)
		good, err := os.ReadFile(helper)
		if err != nil {
			t.Fatal(err)
		}
		bad, err := os.ReadFile(evil)
		if err != nil {
			t.Fatal(err)
		}
		put := func(name string, data []byte) error {
			return errors.Join(os.RemoveAll(name), machine.WriteProgram(name, data))
		}
		// ran runs program and reports whether anything but the true helper did.
		ran := func(program string, args ...string) (bool, string) {
			cmd := u.codeagent(args...)
			cmd.Path = program
			var said bytes.Buffer
			cmd.Stderr = &said
			err := cmd.Run()
			_, outside := os.Stat(trace)
			_, made := os.Stat(u.work + "/made")
			if outside == nil || made == nil {
				if err := errors.Join(os.RemoveAll(trace), os.RemoveAll(u.work+"/made")); err != nil {
					t.Fatal(err)
				}
				return true, said.String()
			}
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 125 {
				t.Errorf("%q: %v, want status 125: %s", args, err, &said)
			}
			return false, said.String()
		}
		command := []string{"sandbox", "--", "touch", "made"}
		for name, attack := range map[string]func() error{
			"other bytes":   func() error { return put(helper, bad) },
			"one byte more": func() error { return put(helper, append(good[:len(good):len(good)], 0)) },
			"a link":        func() error { return errors.Join(os.Remove(helper), os.Symlink(evil, helper)) },
			"rewritten":     func() error { return machine.WriteProgram(helper, bad) },
		} {
			if err := put(helper, good); err != nil {
				t.Fatal(err)
			}
			if done, said := ran(u.bin+"/codeagent", command...); !done { // the true helper, just before
				t.Fatalf("%s: the true helper: %s", name, said)
			}
			if err := attack(); err != nil {
				t.Fatal(err)
			}
			if done, said := ran(unchecked, command...); !done {
				t.Errorf("%s: the attack fails without the check: %s", name, said)
			}
			for _, args := range [][]string{
				command,
				append([]string{"-C", u.work}, command...),
				append([]string{"-c", "sandbox.fallback=warn"}, command...),
				{"sandbox", "--report", u.out + "/report.json", "--", "touch", "made"},
				{"exec", "touch made"},
			} {
				done, said := ran(u.bin+"/codeagent", args...)
				if done || !strings.Contains(said, "this is not the helper that codeagent was built with") || strings.Contains(said, "fallback") {
					t.Errorf("%s: %q: ran %v: %s", name, args, done, said)
				}
			}
		}
	})
}

// TestHelperReplacedMeanwhile: the file that is checked is the one that runs, whenever it is replaced.
func TestHelperReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		helper, trace := u.bin+"/linux-sandbox-helper", u.out+"/ran"
		evil, true1 := u.bin+"/evil", u.bin+"/true"
		if err := errors.Join(goBuild(evil, "./testdata/replaced", "-X main.trace="+trace), os.Link(helper, true1)); err != nil {
			t.Fatal(err)
		}
		stop, stopped := make(chan struct{}), make(chan error)
		go func() {
			for next := evil; ; next = map[string]string{evil: true1, true1: evil}[next] {
				select {
				case <-stop:
					stopped <- nil
					return
				case <-time.After(time.Millisecond / 2):
				}
				if err := errors.Join(os.Link(next, helper+".new"), os.Rename(helper+".new", helper), os.RemoveAll(helper+".new")); err != nil {
					<-stop
					stopped <- err
					return
				}
			}
		}()
		statuses := map[int]int{}
		for range 60 {
			cmd := u.codeagent("sandbox", "--", "true")
			cmd.Dir = u.out // beside the programs: no command may write them, so none is restored
			var exit *exec.ExitError
			if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
				t.Error(err)
			}
			statuses[cmd.ProcessState.ExitCode()]++
		}
		close(stop)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		t.Logf("runs by status: %v", statuses)
		if _, err := os.Stat(trace); err == nil {
			t.Error("the other program ran")
		}
		if statuses[0]+statuses[125] != 60 {
			t.Errorf("runs by status: %v", statuses)
		}
	})
}
