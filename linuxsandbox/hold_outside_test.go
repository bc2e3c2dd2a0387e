//go:build linux

package linuxsandbox

import (
	"bytes"
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
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// outsideJobs change files in $OUT, which is outside their workspace.
var outsideJobs = []struct {
	name, script string
	// needs is a program in addition to the usual ones.
	needs string
	// most is the maximal number of questions if each is answered for its target only; 0: not
	// tried.
	most int
	// unnamed: files without a name do not exist where needs are learned.
	unnamed bool
}{
	{name: "make a file", script: `echo hi > "$OUT/new"; cat "$OUT/new"`, most: 1},
	{name: "write to a file", script: `echo hi >> "$OUT/f"; cat "$OUT/f"`, most: 1},
	{name: "write a file anew", script: `echo hi > "$OUT/f"; cat "$OUT/f"`, most: 1},
	{name: "mkdir", script: `mkdir "$OUT/m"; echo x > "$OUT/m/x"; mkdir -p "$OUT/m/a/b"`, most: 1},
	{name: "mv in", script: `mv here "$OUT/here"; test ! -e here`, most: 1},
	{name: "mv out", script: `mv "$OUT/f" here; cat here`, most: 1},
	{name: "mv inside", script: `mv "$OUT/f" "$OUT/g"`, most: 2},
	{name: "mv over a file", script: `mv "$OUT/d/x" "$OUT/f"`, most: 2},
	{name: "mv a folder", script: `mv "$OUT/d" "$OUT/e"; mkdir "$OUT/d"`, most: 2},
	{name: "mv a folder in", script: `mv folder "$OUT/folder"; test ! -e folder`, most: 1},
	{name: "rm", script: `rm "$OUT/f"; echo again > "$OUT/f"`, most: 1},
	{name: "rm of a tree", script: `rm -r "$OUT/d"`, most: 2},
	{name: "rmdir", script: `rmdir "$OUT/empty"; mkdir "$OUT/empty"; echo x > "$OUT/empty/x"`, most: 1},
	{name: "cp -a", script: `chmod 640 folder/x; touch -d 2001-02-03 folder folder/x; cp -a folder "$OUT/folder"`, most: 1},
	{name: "cp -al", script: `cp -al folder "$OUT/folder"`, most: 1},
	{name: "chmod", script: `chmod 711 "$OUT/f"; chmod -R g-rwx "$OUT/d"`, most: 3},
	{name: "touch -d", script: `touch -d 2001-02-03 "$OUT/f"; touch -d 2001-02-03 "$OUT/new"`, most: 3},
	{name: "touch -h", script: `touch -h -d 2001-02-03 "$OUT/link"`, most: 1},
	{name: "ln", script: `ln "$OUT/f" "$OUT/h"; ln here "$OUT/here"`, most: 3},
	{name: "ln -s", script: `ln -s f "$OUT/s"; cat "$OUT/s"`, most: 1},
	{name: "through a link", script: `ln -s "$OUT/link" way; echo hi > way; cat "$OUT/f"`, most: 1},
	{name: "a link to nothing", script: `ln -s "$OUT/new" way; echo hi > way; cat "$OUT/new"`, most: 1},
	{name: "from inside", script: `cd "$OUT/d"; echo hi > new; mkdir ../m; mv x ../m/; rm new`, most: 3},
	{name: "truncate", script: `truncate -s 1 "$OUT/f"; truncate -s 3 "$OUT/new"`, most: 2},
	{name: "modes of what is made", script: `umask 027; mkdir "$OUT/m"; echo x > "$OUT/m/x"; umask 0; echo x > "$OUT/m/y"; mkdir -m 700 "$OUT/m/z"`, most: 1},
	{name: "tar", script: `tar cf t.tar folder; tar xf t.tar -C "$OUT"; rm t.tar`, most: 1},
	{name: "sed -i", script: `sed -i s/old/new/ "$OUT/f"; cat "$OUT/f"`},
	{name: "install", script: `install -D -m 750 here "$OUT/a/b/here"`, most: 1},
	{name: "git", needs: "git", script: `export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE=2001-02-03T00:00Z GIT_COMMITTER_DATE=2001-02-03T00:00Z
git init -q "$OUT/repo"; cd "$OUT/repo"; git config user.name n; git config user.email e@x; echo x > x; git add x; git commit -qm one; git log --format=%H; git gc -q; rm -rf .git`, most: 1},
	{name: "python", needs: "python3", script: `python3 -c '
import os
out = os.environ["OUT"]
d = os.open(out, os.O_DIRECTORY); f = os.open("f", os.O_RDWR, dir_fd=d); os.ftruncate(f, 2); os.fchmod(f, 0o604); os.utime(f, (1, 1))
os.rename("f", "g", src_dir_fd=d, dst_dir_fd=d); os.truncate(out + "/g", 1); os.mkfifo(out + "/p"); os.chown(out + "/g", -1, os.getgid())'`},
	{name: "a file without a name", needs: "python3", unnamed: true, script: `python3 -c '
import os
out = os.environ["OUT"]
fd = os.open(out, os.O_TMPFILE | os.O_RDWR, 0o640); os.write(fd, b"text"); os.fchmod(fd, 0o600)
os.link("self/fd/%d" % fd, out + "/named", src_dir_fd=os.open("/proc", os.O_DIRECTORY))
print(open(out + "/named").read())'`},
}

// furnish creates a job's folders: its own, and those outside.
func (th *theatre) furnish(t *testing.T) (work, out, other string) {
	t.Helper()
	attack.RemoveAll(th.dir)
	away := filepath.Dir(th.out)
	attack.RemoveAll(away)
	out, other = away+"/out", away+"/other"
	steps := []error{os.Mkdir(th.dir, 0o755), os.Mkdir(away, 0o755), os.Mkdir(th.dir+"/folder", 0o755),
		os.WriteFile(th.dir+"/here", []byte("inside\n"), 0o644), os.WriteFile(th.dir+"/folder/x", []byte("x\n"), 0o644), os.Symlink("x", th.dir+"/folder/l")}
	for _, dir := range []string{out, other} {
		steps = append(steps, os.Mkdir(dir, 0o755), os.Mkdir(dir+"/d", 0o755), os.Mkdir(dir+"/empty", 0o755),
			os.WriteFile(dir+"/f", []byte("old text\n"), 0o644), os.WriteFile(dir+"/d/x", []byte("x"), 0o644), os.Symlink("f", dir+"/link"))
	}
	for _, err := range steps {
		if err != nil {
			t.Fatal(err)
		}
	}
	return th.dir, out, other
}

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
	withAndWithoutMounts(t, func(t *testing.T, th *theatre) {
		rows := machine.Sample(t, 3)
		for i, job := range outsideJobs {
			if !rows.Has(i) {
				continue
			}
			t.Run(job.name, func(t *testing.T) {
				attack.Need(t, strings.Fields(job.needs)...)
				newOutside(t, th, job.script).tryAll(job.most)
			})
		}
	})
}

// outsideJob is one job with its results without a sandbox.
type outsideJob struct {
	*testing.T
	th           *theatre
	script       string
	out, other   string
	env          []string
	says, leaves string
}

func newOutside(t *testing.T, th *theatre, script string) *outsideJob {
	t.Helper()
	j := &outsideJob{T: t, th: th, script: script}
	var work string
	work, j.out, j.other = th.furnish(t)
	j.env = append(th.env("", ""), "OUT="+j.out, "OTHER="+j.other, "LC_ALL=C")
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
func (j *outsideJob) left() string { return seen(j.T, j.out) + seen(j.T, j.th.dir) }

// run runs a script in new folders.
func (j *outsideJob) run(a sandbox.Holder, script string) (sandbox.Status, string, []sandbox.Denial) {
	j.th.furnish(j.T)
	return j.th.ask(j.T, a, sandbox.Command{Path: "bash", Args: []string{"bash", "-ec", script}, Env: j.env})
}

// tryAll runs the job with every kind of answer. most is the maximal number of questions if each is
// answered for its target only; 0: not tried.
func (j *outsideJob) tryAll(most int) {
	j.Helper()
	j.granted("the folder", func(string) []string { return []string{j.out} }, 1)
	if most > 0 {
		j.granted("each by itself", func(target string) []string { return []string{target} }, most)
	}
	j.th.furnish(j.T)
	before := seen(j.T, j.out)
	st, text, denials := j.run(&asker{answer: no}, j.script)
	told := slices.ContainsFunc(denials, func(d sandbox.Denial) bool { return sandbox.Covers(j.out, d.Target) && !d.Moot })
	if st.Exit == 0 || seen(j.T, j.out) != before || !told {
		j.Errorf("refused: %+v %q %+v", st, text, denials)
	}
}

func (j *outsideJob) granted(what string, grant func(target string) []string, most int) {
	j.Helper()
	asked := 0
	a := &asker{answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
		if !sandbox.Covers(j.out, d.Target) {
			return sandbox.Grant{}, false
		}
		asked++
		return sandbox.Grant{Write: grant(d.Target)}, true
	}}
	st, text, denials := j.run(a, j.script)
	if left := j.left(); st.Exit != 0 || text != j.says || left != j.leaves || asked > most {
		j.Errorf("granted %s, asked for %q: %+v %q, want %q; %+v; left is\n%swant\n%s", what, a.targets(), st, text, j.says, denials, left, j.leaves)
	}
	j.th.furnish(j.T)
	other := seen(j.T, j.other)
	st, text, _ = j.run(a, j.script+"\n(exec >/dev/null 2>&1; set +e; export OUT=\"$OTHER\"\n"+j.script+"\n) || true; exit 0")
	if left := seen(j.T, j.other); st.Exit != 0 || text != j.says || left != other {
		j.Errorf("granted %s, then tried elsewhere: %+v %q\n%swant\n%s", what, st, text, left, other)
	}
}

// ask runs a command whose refused calls wait for a's answers.
func (th *theatre) ask(t *testing.T, a sandbox.Holder, cmd sandbox.Command) (sandbox.Status, string, []sandbox.Denial) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = th.dir, w, w
	if p, ok := a.(interface {
		Learn(sandbox.Denial) (sandbox.Grant, bool)
	}); ok {
		cmd.Learn = p.Learn
	}
	proc, err := sandboxtest.Start(th.b, t.Context(), th.policy, cmd, a)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	_, _ = text.ReadFrom(r)
	st, err := proc.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return st, text.String(), proc.Trace().Denials
}
