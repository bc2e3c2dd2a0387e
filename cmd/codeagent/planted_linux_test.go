//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeagent/internal/machine"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"

	"golang.org/x/sys/unix"
)

// TestPlanted: a program that makes, links, locks, renames and exchanges entries at random, with
// names that git, Mercurial and editors know, and that keeps files open, makes the owner run
// nothing. Afterwards, and all the while, the owner's git works in the same folders. The same seeds
// without a sandbox do make it run something.
func TestPlanted(t *testing.T) {
	t.Parallel()
	need(t, "git")
	seeds, first := machine.Times(1, 8), machine.Current().Turn*100
	eachUser(t, func(t *testing.T, u user) {
		t.Logf("seeds %d to %d", first, first+seeds-1)
		ran := map[string]int{}
		for seed := first; seed < first+seeds; seed++ {
			for _, how := range []string{"bare", "boxed"} {
				if how == "bare" && ran[how] > 0 {
					continue // shown
				}
				o := newOwner(t, u)
				log, what := o.survives(t, how == "boxed", seed)
				if len(what) == 0 {
					continue
				}
				ran[how]++
				if how == "boxed" {
					t.Errorf("seed %d: the owner ran or reads what a command planted: %q\n%s", seed, what, log)
				}
			}
		}
		if ran["bare"] == 0 {
			t.Error("no seed works without a sandbox, so nothing is shown")
		}
	})
}

// owner works in a folder in which commands of a session work too.
type owner struct {
	user
	dir string
	// marks is a folder in which planted programs leave a file. Commands cannot write it.
	marks string
	// reads is what programs read that protect names, before the session.
	reads map[string]string
	// tracked are the regular files among these that the owner has committed.
	tracked []string
}

// ownersFolder makes a repository with a submodule, a worktree, links under protected names and a
// hook that is a link.
const ownersFolder = `git config --global user.name o; git config --global user.email o@example.org; git config --global protocol.file.allow always
git init -q . ; echo 1 > a; mkdir -p sub cfg tooling/claude scripts lib; printf '{}' > cfg/mcp.json; echo x > tooling/claude/settings.json; printf '#!/bin/sh\ntrue\n' > scripts/hook.sh; chmod +x scripts/hook.sh
ln -s cfg/mcp.json {agent2}; ln -s tooling/claude {agent}; ln -s ../../scripts/hook.sh .git/hooks/post-commit; mkdir -p sub/{editor/}; echo '{}' > sub/{editor}
git init -q ../other; git -C ../other commit -q --allow-empty -m o; git submodule --quiet add ../other lib/m; echo bin > .gitignore; git add -A; git commit -qm one; git worktree add -q tree
if command -v hg > /dev/null; then hg init hgrepo; fi`

func newOwner(t *testing.T, u user) *owner {
	t.Helper()
	base, err := os.MkdirTemp(u.work, "planted-")
	o := &owner{user: u, dir: base + "/w", marks: u.home + "/marks-" + filepath.Base(base)}
	for _, dir := range []string{o.dir, o.marks} {
		if err == nil {
			err = os.Mkdir(dir, 0o777)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if u.uid >= 0 {
		for _, dir := range []string{base, o.dir, o.marks} {
			if err := os.Lchown(dir, u.uid, u.uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := u.asUser("bash", "-euc", protecttest.In("cd "+o.dir+"; "+ownersFolder))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	o.reads, o.tracked = o.named(t), []string{protecttest.In("sub/{editor}")}
	if o.reads[o.tracked[0]] == "" {
		t.Fatal("the owner tracks no protected file")
	}
	return o
}

// survives runs the planter beside the owner's work, then the owner's work again. It returns what
// was run or could be read by then.
func (o *owner) survives(t *testing.T, boxed bool, seed int) (log []byte, what []string) {
	t.Helper()
	argv := []string{o.part(t, "planter"), strconv.Itoa(seed), o.marks}
	cmd := o.asUser(argv[0], argv[1:]...)
	if boxed {
		cmd = o.codeagent(append([]string{"sandbox", "--cd", o.dir, "--"}, argv...)...)
	}
	cmd.Dir = o.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for n := 0; ; n++ {
		_ = o.asUser("git", "-C", o.dir, "config", "owner.count", strconv.Itoa(n)).Run()
		_ = o.asUser("git", "-C", o.dir, "status", "--porcelain").Run()
		select {
		case err := <-ended:
			if boxed && strings.Contains(out.String(), "did not run") {
				t.Fatalf("%v %s", err, out.Bytes())
			}
		default:
			continue
		}
		break
	}
	o.works(t)
	marks, err := os.ReadDir(o.marks)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range marks {
		what = append(what, "ran: "+m.Name())
	}
	now := o.named(t)
	for name, text := range now {
		// A clone or worktree gets what the owner's commits have at its path.
		cloned := slices.ContainsFunc(o.tracked, func(of string) bool { return strings.HasSuffix(name, "/"+of) && o.reads[of] == text })
		if was, there := o.reads[name]; !cloned && (!there || was != text) {
			what = append(what, fmt.Sprintf("%s: %q, was %q", name, text, was))
		}
	}
	return out.Bytes(), what
}

// works is what an owner does in every folder.
func (o *owner) works(t *testing.T) {
	t.Helper()
	script := `find . -type d -not -path './.git/*' | while read -r d; do (cd "$d" && timeout 10 git status --porcelain; test ! -e .hg || timeout 10 hg status); done
git submodule status; git submodule update --init; git add -A; git commit -qm two --allow-empty; git worktree list; git fetch --all; git gc -q --auto; for d in tree lib/m; do (cd $d && git commit -qm two --allow-empty); done; true`
	_ = o.asUser("bash", "-c", "cd "+o.dir+" && { "+script+"; }").Run()
}

// named returns what programs of the table read in the folder, by path.
func (o *owner) named(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(o.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == o.dir {
			return err
		}
		if e.Name() == ".git" {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		rel := strings.TrimPrefix(name, o.dir+"/")
		if slices.ContainsFunc(protect.Names(), func(n string) bool { return strings.HasSuffix("/"+rel, "/"+n) }) {
			out[rel] = content(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// content is the text of a file, or the texts of the files of a folder.
func content(name string) string {
	if list, err := os.ReadDir(name); err == nil {
		var all []string
		for _, e := range list {
			all = append(all, e.Name()+"="+content(name+"/"+e.Name()))
		}
		return strings.Join(all, ";")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "unreadable"
	}
	return string(text)
}

// planter is the program that plants. Its arguments are the seed and the folder of the marks.
func planter() {
	seed, _ := strconv.ParseUint(os.Args[1], 10, 64)
	p := &planting{Rand: rand.New(rand.NewPCG(seed, 1)), marks: os.Args[2]}
	for range 400 {
		p.step()
	}
	for range 40 { // what was kept open is written last
		p.rewrite()
	}
}

// planting makes random changes below its working folder.
type planting struct {
	*rand.Rand
	marks string
	kept  []*os.File
}

func (p *planting) one(of ...string) string { return of[p.IntN(len(of))] }

// place is a path, often one that means something to git.
func (p *planting) place() string {
	dir := p.one(".", ".", "sub", "lib", "lib/m", "tree", "cfg", "tooling/claude", "scripts", "hgrepo", "own", "own/.git", ".git", ".git/modules", ".git/modules/lib", ".git/modules/lib/m",
		".git/modules/n", ".git/worktrees", ".git/worktrees/tree", ".git/worktrees/w", ".git/hooks", "evil", "evil/hooks", "new", "new/.git", "{repository/}", "hgrepo/{repository/}")
	name := p.one(".git", "config", "config.lock", "config.worktree", "hooks", "pre-commit", "post-commit", "post-checkout", "commondir", "gitdir", "HEAD", "objects", "refs", "modules", "worktrees",
		"n", "w", "{repository/}", "{/repository}", "{agent2}", "mcp.json", "{agent}", "settings.json", "{editor/}", "{/editor}", "{shell}", protecttest.Plain(protect.Shell)[1], "hook.sh", "evil", "own", "new", "sub", "tree", ".GIT", "Config", "a", "b", "c")
	return protecttest.In(filepath.Join(dir, name))
}

// text is what makes the owner run something, if it comes to stand in the right place.
func (p *planting) text(name string) string {
	mark := filepath.Join(p.marks, strconv.Itoa(p.IntN(1000)))
	switch p.IntN(12) {
	case 0:
		name = "config"
	case 1:
		name = "pre-commit"
	case 2:
		name = ".git"
	}
	switch base := strings.ToLower(filepath.Base(name)); {
	case strings.HasPrefix(base, "config"):
		return "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch " + mark + "-fsmonitor\n\thooksPath = " + p.one("evil/hooks", "../evil/hooks", "hooks") + "\n"
	case base == ".git" || base == "gitdir":
		return "gitdir: " + p.one("../evil", "evil", "../own/.git", "../.git/modules/n", ".git/worktrees/w", "../../evil") + "\n"
	case base == "commondir":
		return p.one("../../../evil", "../../../../evil", "../../evil", "../..") + "\n"
	case base == "head":
		return "ref: refs/heads/master\n"
	case strings.HasPrefix(base, "hgrc"):
		return "[hooks]\npre-status = touch " + mark + "-hg\n"
	}
	return "#!/bin/sh\ntouch " + mark + "-script\n"
}

func (p *planting) write(name string) {
	flags := os.O_CREATE | os.O_RDWR
	if p.IntN(2) == 0 {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(name, flags, os.FileMode(0o644+0o111*p.IntN(2)))
	if err != nil {
		f, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o755)
	}
	if err != nil {
		return
	}
	_, _ = f.WriteString(p.text(name))
	if p.IntN(3) == 0 && len(p.kept) < 100 {
		p.kept = append(p.kept, f)
		return
	}
	f.Close()
}

// rewrite changes a file through a descriptor that was kept.
func (p *planting) rewrite() {
	if len(p.kept) == 0 {
		return
	}
	f := p.kept[p.IntN(len(p.kept))]
	_ = f.Truncate(0)
	_, _ = f.WriteAt([]byte(p.text(f.Name())), 0)
}

// repository makes what git takes for a git directory, in any order.
func (p *planting) repository(dir string) {
	steps := []func(){
		func() { _ = os.MkdirAll(dir+"/objects", 0o755) },
		func() { _ = os.MkdirAll(dir+"/refs", 0o755) },
		func() {
			_ = os.MkdirAll(dir+"/hooks", 0o755)
			p.write(dir + "/hooks/" + p.one("pre-commit", "post-checkout", "post-index-change"))
		},
		func() { p.write(dir + "/HEAD") },
		func() { p.write(dir + "/config") },
	}
	p.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	_ = os.MkdirAll(dir, 0o755)
	for _, s := range steps {
		s()
	}
}

func (p *planting) step() {
	a, b := p.place(), p.place()
	switch p.IntN(14) {
	case 0, 1:
		_ = os.MkdirAll(a, 0o755)
	case 2, 3, 4:
		p.write(a)
	case 5, 6:
		_ = os.Rename(a, b)
	case 7:
		_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	case 8:
		_ = os.Link(a, b)
	case 9:
		_ = os.Symlink(p.one(b, "../"+b, "../../"+b, "evil", "../evil"), a)
	case 10:
		_ = os.Remove(a)
	case 11:
		p.rewrite()
	case 12:
		p.repository(p.one("evil", "new/.git", "own/.git", "sub/.git", ".git/modules/n", ".git/worktrees/w", "sub", "hgrepo/.git", "evil.tmp"))
	case 13:
		p.git()
	}
}

// git runs a real git, as programs do.
func (p *planting) git() {
	args := [][]string{
		{"init", "-q", p.one("own", "new", "sub", "own/deep")},
		{"init", "-q", "--separate-git-dir", p.one("evil", "own/sep"), p.one("new", "sub", "cfg")},
		{"worktree", "add", "-f", p.one("w", "new/w", "sub/w")},
		{"-C", p.one(".", "own", "new", "lib/m", "tree"), "config", p.one("core.fsmonitor", "core.hooksPath", "alias.x", "user.name"), p.one("touch "+p.marks+"/setting", "evil/hooks")},
		{"clone", "-q", ".", p.one("own", "clone")},
		{"-C", "own", "add", "-A"},
		{"add", p.one("own", "sub", "new", "-A")},
	}[p.IntN(7)]
	cmd := exec.Command("timeout", append([]string{"10", "git"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
	_ = cmd.Run()
}
