//go:build linux

package denials

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"
)

// chooser asks only about targets that end in "/asked".
type chooser struct{ backendtest.Asker }

func (*chooser) Asks(d sandbox.Denial) bool {
	return strings.HasSuffix(d.Target, "/asked") && filepath.IsAbs(d.Executable)
}

// TestHeldChosen: a call that is not worth a question fails at once and is recorded. However many
// of these there are, the call that is worth a question still waits for its answer.
func TestHeldChosen(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		dir := th.Out + ".d"
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		c := &chooser{backendtest.Asker{Answer: backendtest.Yes}}
		status, _, denials := th.Held(t, c, `for i in $(seq 40); do ! { : > "$TARGET.d/$i"; } 2>/dev/null; done; : > "$TARGET.d/asked"`)
		if status.Exit != 0 || len(denials) != 40 || !slices.Equal(c.Targets(), []string{dir + "/asked"}) {
			t.Errorf("%+v, %d denials, asked about %v", status, len(denials), c.Targets())
		}
	})
}

// TestHeldSettings runs all of these tests in every setting.
func TestHeldSettings(t *testing.T) {
	machine.Turn(t, 0) // outside CI these tests run in this setting, and some as a user
	tests.InSettings(t, "^(TestHeld(Protected|Metadata|EveryAttribute|GitConfig|CallerGoes|Signal|Stop|Ends|ManyAtOnce|Flip|Replaced|Grants|Folder|FolderReplaced|Alone|Outside|Races)|TestLearn(Outside)?)$")
}

// TestHeldAsUser runs most of these tests for a user without privileges.
func TestHeldAsUser(t *testing.T) {
	tests.AsUser(t, "^TestHeld(Protected|Metadata|EveryAttribute|GitConfig|CallerGoes|Signal|Stop|Ends|ManyAtOnce|Flip|Replaced|Grants|Folder|FolderReplaced|Alone)$")
}

// TestHeldProtected: a protected name inside the workspace is opened while the command waits, and
// only that name.
func TestHeldProtected(t *testing.T) {
	shell, agent := protecttest.In("{shell}"), protecttest.In("{agent}")
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		a := &backendtest.Asker{Answer: func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
			if strings.HasSuffix(d.Target, shell) {
				return backendtest.Yes(ctx, d)
			}
			return backendtest.No(ctx, d)
		}}
		st, out, denials := th.Held(t, a, protecttest.In(`echo one > {shell}; echo two >> {shell}; cat {shell}; echo three > {agent} || echo refused; echo again > {agent} || echo refused`))
		if st.Exit != 0 || !strings.HasPrefix(out, "one\ntwo\n") || strings.Count(out, "refused\n") != 2 {
			t.Errorf("%+v %q", st, out)
		}
		if want := []string{th.Dir + "/" + shell, th.Dir + "/" + agent}; !slices.Equal(a.Targets(), want) {
			t.Errorf("asked for %q, want %q", a.Targets(), want)
		}
		if len(denials) != 1 || denials[0].Target != th.Dir+"/"+agent || denials[0].Count != 2 {
			t.Errorf("recorded %+v", denials)
		}
	})
}

// TestHeldMetadata: metadata outside is changed on the host's own file, though the command sees the
// file as read-only.
func TestHeldMetadata(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		a := &backendtest.Asker{Answer: func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
			if d.Target == th.Out {
				return backendtest.Yes(ctx, d)
			}
			return backendtest.No(ctx, d)
		}}
		st, out, denials := th.Held(t, a, `chmod 640 "$TARGET"; touch -d 2001-02-03 "$TARGET"; stat -c '%a %y' "$TARGET" | cut -c1-14; chmod 700 "${TARGET%/*}" || echo refused`)
		if st.Exit != 0 || !strings.HasPrefix(out, "640 2001-02-03\n") || !strings.HasSuffix(out, "refused\n") {
			t.Errorf("%+v %q", st, out)
		}
		if want := []string{th.Out, filepath.Dir(th.Out)}; !slices.Equal(a.Targets(), want) || len(denials) != 1 {
			t.Errorf("asked for %q, want %q; %+v", a.Targets(), want, denials)
		}
	})
}

// TestHeldEveryAttribute: every call that changes metadata, with every way to name a file, works on
// the granted file and on no other.
func TestHeldEveryAttribute(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		a := &backendtest.Asker{Answer: func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
			return sandbox.Grant{Write: []string{th.Out}}, d.Target == th.Out
		}}
		run := func(target string) map[string]syscall.Errno {
			_, text, _ := th.Ask(t, a, sandbox.Command{Path: th.Binary, Args: []string{"victim", brokerVictimArg}, Env: th.Env("metadata", target)})
			return errnos(t, text)
		}
		inside, outside := run(th.In), run(th.Out)
		for _, attempt := range metadataAttempts {
			if got, told := outside[attempt.name]; !told || got != inside[attempt.name] {
				t.Errorf("%s: %v outside, %v inside", attempt.name, got, inside[attempt.name])
			}
		}
		if want := []string{th.Out}; !slices.Equal(a.Targets(), want) {
			t.Errorf("asked for %q, want %q", a.Targets(), want)
		}
	})
}

// TestHeldGitConfig: git writes a lock file and renames it over a protected name, which with mounts
// is a mount point.
func TestHeldGitConfig(t *testing.T) {
	attack.Need(t, "git")
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		if out, err := exec.Command("git", "init", "-q", th.Dir).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		th.Policy.Protected.Paths = protect.Git(th.Dir + "/.git")
		st, out, denials := th.Held(t, &backendtest.Asker{Answer: backendtest.Yes}, `git config user.name one; git config user.name; git config user.name two; git config user.name`)
		if st.Exit != 0 || out != "one\ntwo\n" || len(denials) > 0 {
			t.Errorf("%+v %q %+v", st, out, denials)
		}
		st, out, denials = th.Held(t, &backendtest.Asker{Answer: backendtest.No}, `git config user.name three || git config user.name`)
		if !strings.HasSuffix(out, "two\n") || len(denials) != 1 || denials[0].Kind != sandbox.KindProtected {
			t.Errorf("%+v %q %+v", st, out, denials)
		}
	})
}
