//go:build linux

package backendtest

import (
	"os"
	"path/filepath"
	"testing"

	"codeagent/internal/attack"
)

// OutsideJobs change files in $OUT, which is outside their workspace.
var OutsideJobs = []struct {
	Name, Script string
	// needs is a program in addition to the usual ones.
	Needs string
	// most is the maximal number of questions if each is answered for its target only; 0: not
	// tried.
	Most int
	// unnamed: files without a name do not exist where needs are learned.
	Unnamed bool
}{
	{Name: "make a file", Script: `echo hi > "$OUT/new"; cat "$OUT/new"`, Most: 1},
	{Name: "write to a file", Script: `echo hi >> "$OUT/f"; cat "$OUT/f"`, Most: 1},
	{Name: "write a file anew", Script: `echo hi > "$OUT/f"; cat "$OUT/f"`, Most: 1},
	{Name: "mkdir", Script: `mkdir "$OUT/m"; echo x > "$OUT/m/x"; mkdir -p "$OUT/m/a/b"`, Most: 1},
	{Name: "mv in", Script: `mv here "$OUT/here"; test ! -e here`, Most: 1},
	{Name: "mv out", Script: `mv "$OUT/f" here; cat here`, Most: 1},
	{Name: "mv inside", Script: `mv "$OUT/f" "$OUT/g"`, Most: 2},
	{Name: "mv over a file", Script: `mv "$OUT/d/x" "$OUT/f"`, Most: 2},
	{Name: "mv a folder", Script: `mv "$OUT/d" "$OUT/e"; mkdir "$OUT/d"`, Most: 2},
	{Name: "mv a folder in", Script: `mv folder "$OUT/folder"; test ! -e folder`, Most: 1},
	{Name: "rm", Script: `rm "$OUT/f"; echo again > "$OUT/f"`, Most: 1},
	{Name: "rm of a tree", Script: `rm -r "$OUT/d"`, Most: 2},
	{Name: "rmdir", Script: `rmdir "$OUT/empty"; mkdir "$OUT/empty"; echo x > "$OUT/empty/x"`, Most: 1},
	{Name: "cp -a", Script: `chmod 640 folder/x; touch -d 2001-02-03 folder folder/x; cp -a folder "$OUT/folder"`, Most: 1},
	{Name: "cp -al", Script: `cp -al folder "$OUT/folder"`, Most: 1},
	{Name: "chmod", Script: `chmod 711 "$OUT/f"; chmod -R g-rwx "$OUT/d"`, Most: 3},
	{Name: "touch -d", Script: `touch -d 2001-02-03 "$OUT/f"; touch -d 2001-02-03 "$OUT/new"`, Most: 3},
	{Name: "touch -h", Script: `touch -h -d 2001-02-03 "$OUT/link"`, Most: 1},
	{Name: "ln", Script: `ln "$OUT/f" "$OUT/h"; ln here "$OUT/here"`, Most: 3},
	{Name: "ln -s", Script: `ln -s f "$OUT/s"; cat "$OUT/s"`, Most: 1},
	{Name: "through a link", Script: `ln -s "$OUT/link" way; echo hi > way; cat "$OUT/f"`, Most: 1},
	{Name: "a link to nothing", Script: `ln -s "$OUT/new" way; echo hi > way; cat "$OUT/new"`, Most: 1},
	{Name: "from inside", Script: `cd "$OUT/d"; echo hi > new; mkdir ../m; mv x ../m/; rm new`, Most: 3},
	{Name: "truncate", Script: `truncate -s 1 "$OUT/f"; truncate -s 3 "$OUT/new"`, Most: 2},
	{Name: "modes of what is made", Script: `umask 027; mkdir "$OUT/m"; echo x > "$OUT/m/x"; umask 0; echo x > "$OUT/m/y"; mkdir -m 700 "$OUT/m/z"`, Most: 1},
	{Name: "tar", Script: `tar cf t.tar folder; tar xf t.tar -C "$OUT"; rm t.tar`, Most: 1},
	{Name: "sed -i", Script: `sed -i s/old/new/ "$OUT/f"; cat "$OUT/f"`},
	{Name: "install", Script: `install -D -m 750 here "$OUT/a/b/here"`, Most: 1},
	{Name: "git", Needs: "git", Script: `export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE=2001-02-03T00:00Z GIT_COMMITTER_DATE=2001-02-03T00:00Z
git init -q "$OUT/repo"; cd "$OUT/repo"; git config user.name n; git config user.email e@x; echo x > x; git add x; git commit -qm one; git log --format=%H; git gc -q; rm -rf .git`, Most: 1},
	{Name: "python", Needs: "python3", Script: `python3 -c '
import os
out = os.environ["OUT"]
d = os.open(out, os.O_DIRECTORY); f = os.open("f", os.O_RDWR, dir_fd=d); os.ftruncate(f, 2); os.fchmod(f, 0o604); os.utime(f, (1, 1))
os.rename("f", "g", src_dir_fd=d, dst_dir_fd=d); os.truncate(out + "/g", 1); os.mkfifo(out + "/p"); os.chown(out + "/g", -1, os.getgid())'`},
	{Name: "a file without a name", Needs: "python3", Unnamed: true, Script: `python3 -c '
import os
out = os.environ["OUT"]
fd = os.open(out, os.O_TMPFILE | os.O_RDWR, 0o640); os.write(fd, b"text"); os.fchmod(fd, 0o600)
os.link("self/fd/%d" % fd, out + "/named", src_dir_fd=os.open("/proc", os.O_DIRECTORY))
print(open(out + "/named").read())'`},
}

// Furnish creates a job's folders: its own, and those outside.
func (th *Theatre) Furnish(t *testing.T) (work, out, other string) {
	t.Helper()
	attack.RemoveAll(th.Dir)
	away := filepath.Dir(th.Out)
	attack.RemoveAll(away)
	out, other = away+"/out", away+"/other"
	steps := []error{os.Mkdir(th.Dir, 0o755), os.Mkdir(away, 0o755), os.Mkdir(th.Dir+"/folder", 0o755),
		os.WriteFile(th.Dir+"/here", []byte("inside\n"), 0o644), os.WriteFile(th.Dir+"/folder/x", []byte("x\n"), 0o644), os.Symlink("x", th.Dir+"/folder/l")}
	for _, dir := range []string{out, other} {
		steps = append(steps, os.Mkdir(dir, 0o755), os.Mkdir(dir+"/d", 0o755), os.Mkdir(dir+"/empty", 0o755),
			os.WriteFile(dir+"/f", []byte("old text\n"), 0o644), os.WriteFile(dir+"/d/x", []byte("x"), 0o644), os.Symlink("f", dir+"/link"))
	}
	for _, err := range steps {
		if err != nil {
			t.Fatal(err)
		}
	}
	return th.Dir, out, other
}
