//go:build linux

package denials

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"

	"golang.org/x/sys/unix"
)

// TestHeldFolder: what a granted folder does not open.
func TestHeldFolder(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		away := filepath.Dir(th.Out)
		good := away + "/good"
		steps := []error{os.Mkdir(good, 0o755), unix.Mkfifo(good+"/pipe", 0o600), os.Symlink(th.Out, good+"/link"), os.Symlink(away, good+"/folder")}
		for _, err := range steps {
			if err != nil {
				t.Fatal(err)
			}
		}
		// A program of the host reads from the pipe.
		reader, err := unix.Open(good+"/pipe", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(reader)
		for _, row := range []struct {
			name, script string
			asked        []string
		}{
			{"what is in it", `echo hi > "$GOOD/x"; rm "$GOOD/x"`, nil},
			{"a pipe", `timeout 10 bash -c 'echo hi > "$GOOD/pipe"' 2>/dev/null && exit 9 || true`, nil},
			{"a link out of it", `echo hi > "$GOOD/link" && exit 9 || true`, []string{th.Out}},
			{"a link to a folder", `echo hi > "$GOOD/folder/x" && exit 9 || true`, []string{away + "/x"}},
			{"up from it", `echo hi > "$GOOD/../y" && exit 9 || true`, []string{away + "/y"}},
			{"a second name for what is outside", `ln "$TARGET" "$GOOD/h" && exit 9 || true`, []string{th.Out}},
			{"what is outside, moved in", `mv "$TARGET" "$GOOD/h" && exit 9 || true`, []string{th.Out}},
			{"a protected name", protecttest.In(`echo hi > "$GOOD/{shell}" && exit 9 || true`), []string{good + protecttest.In("/{shell}")}},
			{"a folder of protected names", protecttest.In(`mkdir "$GOOD/d"; mkdir "$GOOD/d/{agent}" && exit 9 || true; rmdir "$GOOD/d"`), []string{good + protecttest.In("/d/{agent}")}},
			{"the kernel's files", `echo 0 > /proc/self/oom_score_adj && exit 9 || true; echo 0 > /sys/kernel/mm/ksm/run && exit 9 || true; echo 0 > /dev/kmsg && exit 9 || true`, nil},
		} {
			t.Run(row.name, func(t *testing.T) {
				a := &backendtest.Asker{Answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
					return sandbox.Grant{Write: []string{good}}, d.Target == good+"/granted"
				}}
				st, text, denials := th.Ask(t, a, sandbox.Command{
					Path: "bash", Args: []string{"bash", "-ec", `mkdir "$GOOD/granted"; rmdir "$GOOD/granted"; ` + row.script}, Env: append(th.Env("", th.Out), "GOOD="+good),
				})
				if want := append([]string{good + "/granted"}, row.asked...); st.Exit != 0 || !slices.Equal(a.Targets(), want) {
					t.Errorf("%+v %q; asked for %q, want %q; %+v", st, text, a.Targets(), want, denials)
				}
			})
		}
		if data, err := os.ReadFile(th.Out); err != nil || string(data) != "x" {
			t.Errorf("the file outside: %q, %v", data, err)
		}
		if n, err := unix.Read(reader, make([]byte, 1)); n > 0 {
			t.Errorf("the pipe was written to: %d, %v", n, err)
		}
	})
}

// TestHeldFolderReplaced: a folder that the host puts in place of the granted one is not granted.
// One that the command itself creates there is.
func TestHeldFolderReplaced(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		dir := filepath.Dir(th.Out) + "/dir"
		k := newTalk(t, th, "bash", "-ec", `cd "${TARGET%file}"; mkdir dir; echo x > dir/x; rm -r dir; mkdir dir; echo x > dir/x
mv dir old || true; mkdir dir 2>/dev/null || true; echo x > dir/y; echo made; read x; echo x > dir/z || echo refused`)
		k.next(dir).yes()
		k.next(filepath.Dir(th.Out) + "/old").no()
		k.hears("mv: cannot move 'dir' to 'old': Permission denied")
		k.hears("made")
		for _, err := range []error{os.Rename(dir, dir+"2"), os.Mkdir(dir, 0o755)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		k.tell()
		k.next(dir + "/z").no()
		k.hears("bash: line 2: dir/z: Permission denied")
		k.hears("refused")
		k.ends(0)
	})
}

// TestHeldAlone: while a question is open, the command's other calls and other commands of the
// session continue. A grant applies only to its command.
func TestHeldAlone(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		k := newTalk(t, th, "bash", "-ec", `echo hi > "$TARGET" & echo one > here; mkdir d; mv here d/; wait $!`)
		a := k.next(th.Out)
		st, text, _ := th.Held(t, &backendtest.Asker{Answer: backendtest.No}, `until test -e d/here; do :; done; echo two > there; echo hi > "$TARGET" && exit 9 || true; cat there`)
		if st.Exit != 0 || text != "bash: line 1: "+th.Out+": Permission denied\ntwo\n" {
			t.Errorf("another command: %+v %q", st, text)
		}
		a.yes()
		k.ends(0)
		b := &backendtest.Asker{Answer: backendtest.No}
		if st, _, _ := th.Held(t, b, `echo hi > "$TARGET"`); st.Exit == 0 || fmt.Sprint(b.Targets()) != "["+th.Out+"]" {
			t.Errorf("the next command: %+v, asked for %q", st, b.Targets())
		}
	})
}

// TestHeldForNothing: nobody is asked about a call that the user could not make either.
func TestHeldForNothing(t *testing.T) {
	if os.Getuid() == 0 {
		tests.AsUser(t, "^TestHeldForNothing$")
		return
	}
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		a := &backendtest.Asker{Answer: backendtest.Yes}
		st, text, denials := th.Held(t, a, `echo hi > /etc/passwd && exit 9 || true; mkdir /usr/new && exit 9 || true; chmod 600 /etc/passwd && exit 9 || true; rm -f /etc/passwd && exit 9 || true; mv /etc/passwd here && exit 9 || true`)
		if st.Exit != 0 || len(a.Targets()) > 0 || slices.ContainsFunc(denials, func(d sandbox.Denial) bool { return !d.Moot }) {
			t.Errorf("%+v %q, asked for %q; %+v", st, text, a.Targets(), denials)
		}
	})
}
