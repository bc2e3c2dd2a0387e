//go:build linux

package denials

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// seen describes a tree as a job leaves it, without what changes from run to run.
func seen(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		link, _ := os.Readlink(path)
		var text []byte
		if d.Type().IsRegular() {
			text, _ = os.ReadFile(path)
		}
		old := int64(0)
		if st.Mtim.Sec < 1_000_000_000 {
			old = st.Mtim.Sec
		}
		name, _ := filepath.Rel(root, path)
		fmt.Fprintf(&b, "%s %o %d:%d %d %d %q %q\n", name, st.Mode, st.Uid, st.Gid, st.Nlink, old, link, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHeldOutside: a command is held, gets a grant while it runs, and ends as it does without a
// sandbox, and nothing else is opened. If the answer is no, it fails as it should.
func TestHeldOutside(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		rows := machine.Sample(t, 3)
		for i, job := range backendtest.OutsideJobs {
			if !rows.Has(i) {
				continue
			}
			t.Run(job.Name, func(t *testing.T) {
				attack.Need(t, strings.Fields(job.Needs)...)
				newOutside(t, th, job.Script).tryAll(job.Most)
			})
		}
	})
}

// outsideJob is one job with its results without a sandbox.
type outsideJob struct {
	*testing.T
	th           *backendtest.Theatre
	script       string
	out, other   string
	env          []string
	says, leaves string
}

func newOutside(t *testing.T, th *backendtest.Theatre, script string) *outsideJob {
	t.Helper()
	j := &outsideJob{T: t, th: th, script: script}
	var work string
	work, j.out, j.other = th.Furnish(t)
	j.env = append(th.Env("", ""), "OUT="+j.out, "OTHER="+j.other, "LC_ALL=C")
	bare := exec.Command("bash", "-ec", script)
	bare.Dir, bare.Env = work, j.env
	says, err := bare.CombinedOutput()
	if err != nil {
		t.Fatalf("without a sandbox: %v %s", err, says)
	}
	j.says, j.leaves = string(says), j.left()
	return j
}

// left describes the folder outside and the workspace.
func (j *outsideJob) left() string { return seen(j.T, j.out) + seen(j.T, j.th.Dir) }

// run runs a script in new folders.
func (j *outsideJob) run(a sandbox.Holder, script string) (sandbox.Status, string, []sandbox.Denial) {
	j.th.Furnish(j.T)
	return j.th.Ask(j.T, a, sandbox.Command{Path: "bash", Args: []string{"bash", "-ec", script}, Env: j.env})
}

// tryAll runs the job with every kind of answer. most is the maximal number of questions if each is
// answered for its target only; 0: not tried.
func (j *outsideJob) tryAll(most int) {
	j.Helper()
	j.granted("the folder", func(string) []string { return []string{j.out} }, 1)
	if most > 0 {
		j.granted("each by itself", func(target string) []string { return []string{target} }, most)
	}
	j.th.Furnish(j.T)
	before := seen(j.T, j.out)
	st, text, denials := j.run(&backendtest.Asker{Answer: backendtest.No}, j.script)
	told := slices.ContainsFunc(denials, func(d sandbox.Denial) bool { return sandbox.Covers(j.out, d.Target) && !d.Moot })
	if st.Exit == 0 || seen(j.T, j.out) != before || !told {
		j.Errorf("refused: %+v %q %+v", st, text, denials)
	}
}

func (j *outsideJob) granted(what string, grant func(target string) []string, most int) {
	j.Helper()
	asked := 0
	a := &backendtest.Asker{Answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
		if !sandbox.Covers(j.out, d.Target) {
			return sandbox.Grant{}, false
		}
		asked++
		return sandbox.Grant{Write: grant(d.Target)}, true
	}}
	st, text, denials := j.run(a, j.script)
	if left := j.left(); st.Exit != 0 || text != j.says || left != j.leaves || asked > most {
		j.Errorf("granted %s, asked for %q: %+v %q, want %q; %+v; left is\n%swant\n%s", what, a.Targets(), st, text, j.says, denials, left, j.leaves)
	}
	j.th.Furnish(j.T)
	other := seen(j.T, j.other)
	st, text, _ = j.run(a, j.script+"\n(exec >/dev/null 2>&1; set +e; export OUT=\"$OTHER\"\n"+j.script+"\n) || true; exit 0")
	if left := seen(j.T, j.other); st.Exit != 0 || text != j.says || left != other {
		j.Errorf("granted %s, then tried elsewhere: %+v %q\n%swant\n%s", what, st, text, left, other)
	}
}
