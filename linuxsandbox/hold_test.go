//go:build linux

package linuxsandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"
)

// asker is a user who answers by the denial.
type asker struct {
	answer func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool)

	mu    sync.Mutex
	asked []sandbox.Denial
}

func (*asker) Asks(sandbox.Denial) bool { return true }

func (a *asker) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	a.mu.Lock()
	a.asked = append(a.asked, d)
	a.mu.Unlock()
	return a.answer(ctx, d)
}

// targets are what the questions were about, each once, in order.
func (a *asker) targets() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, d := range a.asked {
		out = append(out, d.Target)
	}
	return out
}

// yes grants exactly what the question asks for.
func yes(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	return sandbox.Grant{Write: []string{d.Target}}, true
}

func no(context.Context, sandbox.Denial) (sandbox.Grant, bool) { return sandbox.Grant{}, false }

// chooser asks only about targets that end in "/asked".
type chooser struct{ asker }

func (*chooser) Asks(d sandbox.Denial) bool {
	return strings.HasSuffix(d.Target, "/asked") && filepath.IsAbs(d.Executable)
}

// TestHeldChosen: a call that is not worth a question fails at once and is recorded. However many
// of these there are, the call that is worth a question still waits for its answer.
func TestHeldChosen(t *testing.T) {
	withAndWithoutMounts(t, func(t *testing.T, th *theatre) {
		dir := th.out + ".d"
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		c := &chooser{asker{answer: yes}}
		status, _, denials := th.held(t, c, `for i in $(seq 40); do ! { : > "$TARGET.d/$i"; } 2>/dev/null; done; : > "$TARGET.d/asked"`)
		if status.Exit != 0 || len(denials) != 40 || !slices.Equal(c.targets(), []string{dir + "/asked"}) {
			t.Errorf("%+v, %d denials, asked about %v", status, len(denials), c.targets())
		}
	})
}

// held runs a script whose refused calls wait for a's answers.
func (th *theatre) held(t *testing.T, a sandbox.Holder, script string) (sandbox.Status, string, []sandbox.Denial) {
	t.Helper()
	return th.ask(t, a, sandbox.Command{Path: "bash", Args: []string{"bash", "-ec", script}, Env: th.env("", th.out)})
}

// TestHeldSettings runs all of these tests in every setting.
func TestHeldSettings(t *testing.T) {
	machine.Turn(t, 0) // outside CI these tests run in this setting, and some as a user
	tests.InSettings(t, "^(TestHeld(Protected|Metadata|EveryAttribute|GitConfig|Sockets|CallerGoes|Signal|Stop|Ends|ManyAtOnce|Flip|Replaced|Grants|Folder|FolderReplaced|Alone|Outside|Races)|TestLearn(Outside)?)$")
}

// TestHeldAsUser runs most of these tests for a user without privileges.
func TestHeldAsUser(t *testing.T) {
	againAsUser(t, "^TestHeld(Protected|Metadata|EveryAttribute|GitConfig|Sockets|CallerGoes|Signal|Stop|Ends|ManyAtOnce|Flip|Replaced|Grants|Folder|FolderReplaced|Alone)$")
}

// TestHeldProtected: a protected name inside the workspace is opened while the command waits, and
// only that name.
func TestHeldProtected(t *testing.T) {
	shell, agent := protecttest.In("{shell}"), protecttest.In("{agent}")
	withAndWithoutMounts(t, func(t *testing.T, th *theatre) {
		a := &asker{answer: func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
			if strings.HasSuffix(d.Target, shell) {
				return yes(ctx, d)
			}
			return no(ctx, d)
		}}
		st, out, denials := th.held(t, a, protecttest.In(`echo one > {shell}; echo two >> {shell}; cat {shell}; echo three > {agent} || echo refused; echo again > {agent} || echo refused`))
		if st.Exit != 0 || !strings.HasPrefix(out, "one\ntwo\n") || strings.Count(out, "refused\n") != 2 {
			t.Errorf("%+v %q", st, out)
		}
		if want := []string{th.dir + "/" + shell, th.dir + "/" + agent}; !slices.Equal(a.targets(), want) {
			t.Errorf("asked for %q, want %q", a.targets(), want)
		}
		if len(denials) != 1 || denials[0].Target != th.dir+"/"+agent || denials[0].Count != 2 {
			t.Errorf("recorded %+v", denials)
		}
	})
}

// TestHeldMetadata: metadata outside is changed on the host's own file, though the command sees the
// file as read-only.
func TestHeldMetadata(t *testing.T) {
	withAndWithoutMounts(t, func(t *testing.T, th *theatre) {
		a := &asker{answer: func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
			if d.Target == th.out {
				return yes(ctx, d)
			}
			return no(ctx, d)
		}}
		st, out, denials := th.held(t, a, `chmod 640 "$TARGET"; touch -d 2001-02-03 "$TARGET"; stat -c '%a %y' "$TARGET" | cut -c1-14; chmod 700 "${TARGET%/*}" || echo refused`)
		if st.Exit != 0 || !strings.HasPrefix(out, "640 2001-02-03\n") || !strings.HasSuffix(out, "refused\n") {
			t.Errorf("%+v %q", st, out)
		}
		if want := []string{th.out, filepath.Dir(th.out)}; !slices.Equal(a.targets(), want) || len(denials) != 1 {
			t.Errorf("asked for %q, want %q; %+v", a.targets(), want, denials)
		}
	})
}

// TestHeldEveryAttribute: every call that changes metadata, with every way to name a file, works on
// the granted file and on no other.
func TestHeldEveryAttribute(t *testing.T) {
	withAndWithoutMounts(t, func(t *testing.T, th *theatre) {
		a := &asker{answer: func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
			return sandbox.Grant{Write: []string{th.out}}, d.Target == th.out
		}}
		run := func(target string) map[string]syscall.Errno {
			_, text, _ := th.ask(t, a, sandbox.Command{Path: th.binary, Args: []string{"victim", brokerVictimArg}, Env: th.env("metadata", target)})
			return errnos(t, text)
		}
		inside, outside := run(th.in), run(th.out)
		for _, attempt := range metadataAttempts {
			if got, told := outside[attempt.name]; !told || got != inside[attempt.name] {
				t.Errorf("%s: %v outside, %v inside", attempt.name, got, inside[attempt.name])
			}
		}
		if want := []string{th.out}; !slices.Equal(a.targets(), want) {
			t.Errorf("asked for %q, want %q", a.targets(), want)
		}
	})
}

// TestHeldGitConfig: git writes a lock file and renames it over a protected name, which with mounts
// is a mount point.
func TestHeldGitConfig(t *testing.T) {
	attack.Need(t, "git")
	withAndWithoutMounts(t, func(t *testing.T, th *theatre) {
		if out, err := exec.Command("git", "init", "-q", th.dir).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		th.policy.Protected.Paths = protect.Git(th.dir + "/.git")
		st, out, denials := th.held(t, &asker{answer: yes}, `git config user.name one; git config user.name; git config user.name two; git config user.name`)
		if st.Exit != 0 || out != "one\ntwo\n" || len(denials) > 0 {
			t.Errorf("%+v %q %+v", st, out, denials)
		}
		st, out, denials = th.held(t, &asker{answer: no}, `git config user.name three || git config user.name`)
		if !strings.HasSuffix(out, "two\n") || len(denials) != 1 || denials[0].Kind != sandbox.KindProtected {
			t.Errorf("%+v %q %+v", st, out, denials)
		}
	})
}

// TestHeldSockets: after a yes the command connects to that socket of the host, and to no other; a
// socket is also created outside.
func TestHeldSockets(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *theatre) {
		away := filepath.Dir(th.out)
		granted, other := filepath.Join(away, "granted"), filepath.Join(away, "other")
		came, cameOther := servePath(t, granted), servePath(t, other)
		a := &asker{answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
			switch d.Target {
			case granted:
				return sandbox.Grant{Sockets: []string{d.Target}}, true
			case away + "/mine":
				return sandbox.Grant{Write: []string{d.Target}}, true
			}
			return sandbox.Grant{}, false
		}}
		_, text, denials := th.ask(t, a, sandbox.Command{Path: attack.Need(t, "python3"), Env: th.env("", away), Args: []string{"python3", "-c", `
import os, socket
os.chdir(os.environ["TARGET"])
for n in ["granted", "other", "granted"]:
    c = socket.socket(socket.AF_UNIX)
    try: c.connect(n); print(c.recv(99))
    except OSError as e: print(e.strerror)
for n in ["mine", "yours"]:
    l = socket.socket(socket.AF_UNIX)
    try: l.bind(n); l.listen(1); c = socket.socket(socket.AF_UNIX); c.connect(n); print("bound")
    except OSError as e: print(e.strerror)`}})
		const host, refused = "b'from the host'\n", "Operation not permitted\n"
		if want := host + refused + host + "bound\n" + refused; text != want || came() != 2 || cameOther() != 0 || len(denials) != 2 {
			t.Errorf("%q, want %q; %+v", text, want, denials)
		}
		if want := []string{granted, other, away + "/mine", away + "/yours"}; !slices.Equal(a.targets(), want) {
			t.Errorf("asked for %q, want %q", a.targets(), want)
		}
	})
}
