//go:build linux

package gitrun_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	run "codeagent/exec"
	"codeagent/gitrun"
	layout "codeagent/internal/git"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
)

// TestTrusted: what git's settings trust inside a write root, and nothing that git only works on.
func TestTrusted(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(t *testing.T, dir, home string)
		want []string // below the repository
	}{
		{"nothing", func(*testing.T, string, string) {}, nil},
		{"hooks, absent", config1("core.hooksPath", ".husky"), []string{".husky"}},
		{"hooks without a dot", config1("core.hooksPath", "githooks"), []string{"githooks"}},
		{"hooks of a manager", config1("core.hooksPath", ".husky/_"), []string{".husky", ".husky/_"}},
		{"hooks that stand there", func(t *testing.T, dir, _ string) {
			write(t, 0o755, "x", dir, "tools/hooks/pre-commit")
			git(t, dir, "config", "core.hooksPath", dir+"/tools/hooks")
		}, []string{"tools/hooks"}},
		{"hooks by a link", func(t *testing.T, dir, _ string) {
			if err := errors.Join(os.MkdirAll(dir+"/real", 0o755), os.Symlink("real", dir+"/named")); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "config", "core.hooksPath", "named")
		}, []string{"named", "real"}},
		{"the user's own setting", func(t *testing.T, _, home string) {
			write(t, 0o644, "[core]\n\thooksPath = .hooks\n", home, ".gitconfig")
		}, []string{".hooks"}},
		{"include, relative to its file", func(t *testing.T, dir, _ string) {
			write(t, 0o644, "[core]\n\tfsmonitor = tools/watch\n", dir, "team.config")
			git(t, dir, "config", "include.path", "../team.config")
		}, []string{"team.config", "tools/watch"}},
		{"include, absent", config1("include.path", "../absent.config"), []string{"absent.config"}},
		{"include that does not hold now", config1("includeIf.onbranch:other.path", "../other.config"), []string{"other.config"}},
		{"includes from includes", func(t *testing.T, dir, home string) {
			write(t, 0o644, "[include]\n\tpath = "+dir+"/a.config\n", home, ".gitconfig")
			write(t, 0o644, "[include]\n\tpath = sub/b.config\n", dir, "a.config")
			write(t, 0o644, "[gpg]\n\tprogram = ./sign\n", dir, "sub/b.config")
		}, []string{"a.config", "sign", "sub/b.config"}},
		{"programs of a file that does not hold now", func(t *testing.T, dir, _ string) {
			write(t, 0o644, "[core]\n\thooksPath = hooks\n[includeIf \"onbranch:third\"]\n\tpath = third.config\n", dir, "other.config")
			write(t, 0o644, "[diff]\n\texternal = ./diff\n", dir, "third.config")
			git(t, dir, "config", "includeIf.onbranch:other.path", "../other.config")
		}, []string{"diff", "hooks", "other.config", "third.config"}},
		{"fsmonitor", config1("core.fsmonitor", "./watch"), []string{"watch"}},
		{"ssh", config1("core.sshCommand", "tools/ssh -v"), []string{"tools/ssh"}},
		{"filter and its script", func(t *testing.T, dir, _ string) {
			write(t, 0o644, "x", dir, "clean.py")
			git(t, dir, "config", "filter.x.clean", "python3 clean.py %f")
			git(t, dir, "config", "filter.x.smudge", "'tools/smudge' --x=tools/table")
		}, []string{"clean.py", "tools/smudge", "tools/table"}},
		{"driver", config1("merge.mine.driver", "./merge %O %A %B"), []string{"merge"}},
		{"textconv", config1("diff.x.textconv", "sub/text"), []string{"sub/text"}},
		{"helper", config1("credential.helper", "!f() { ./helper; }; f"), []string{"helper"}},
		{"alias", config1("alias.ship", "!bash tools/ship.sh"), []string{"tools/ship.sh"}},
		{"editor", config1("core.editor", "./edit --wait"), []string{"edit"}},
		{"sequence editor", config1("sequence.editor", "tools/edit"), []string{"tools/edit"}},
		{"pager", config1("core.pager", "tools/pager | less"), []string{"tools/pager"}},
		{"attributes", config1("core.attributesFile", "attributes"), []string{"attributes"}},
		{"the program of an option", config1("alias.dt", "difftool -y -x ./tools/a"), []string{"tools/a"}},
		{"without a space", config1("alias.dt", "difftool -yx./tools/a"), []string{"tools/a"}},
		{"a command in quotes", func(t *testing.T, dir, _ string) {
			git(t, dir, "config", "alias.rt", "rebase --exec \"sh a ./c\"")
		}, []string{"a", "c"}},
		{"a command after foreach", config1("alias.each", "submodule foreach sh a"), []string{"a"}},
		{"a name with a space", config1("core.editor", "'tools/my editor' -w"), []string{"tools/my", "tools/my editor"}},
		{"hooks by an option", config1("alias.ci", "-c core.hooksPath=myhooks commit"), []string{"myhooks"}},
		{"programs by an option", config1("alias.own", "--exec-path=tools/git commit"), []string{"tools/git"}},
		{"programs by PATH", config1("alias.own", "!PATH=tools:$PATH run"), []string{"tools"}},
		{"an alias named like an address", config1("alias.url", "!./b"), []string{"b"}},
		{"a pager of a command", config1("pager.remote", "./p"), []string{"p"}},
		{"a transport", config1("remote.x.url", "ext::./t %S"), []string{"t"}},
		{"a transport of an address", config1("url.ext::./t.insteadOf", "x:"), []string{"t"}},
		{"HOME", func(t *testing.T, dir, home string) {
			rel, err := filepath.Rel(home, dir)
			if err != nil {
				t.Fatal(err)
			}
			git(t, dir, "config", "core.sshCommand", "$HOME/"+rel+"/e -x")
			git(t, dir, "config", "core.askPass", "${HOME}/"+rel+"/f")
		}, []string{"e", "f"}},
		{"the top by a command", config1("alias.t", "!\"$(git rev-parse --show-toplevel)\"/tools/t"), []string{"tools/t"}},
		{"a quote that is not closed", config1("alias.t", "!./it's"), []string{"it", "its"}},
		{"an unknown key", config1("new.thing.runs", "./run"), []string{"run"}},
		{"upload pack", config1("remote.origin.uploadpack", "tools/pack"), []string{"tools/pack"}},
		{"outside", config1("core.hooksPath", "/etc/hooks"), nil},
		{"the work tree itself", config1("core.hooksPath", "."), nil},
		{"its parent", config1("core.hooksPath", ".."), nil},
		{"what is worked on", func(t *testing.T, dir, _ string) {
			for _, name := range []string{"main", "origin", "src", "docs"} {
				write(t, 0o644, "x", dir, name+"/f")
			}
			git(t, dir, "init", "-q", "vendor/lib")
			git(t, dir, "config", "remote.origin.url", "vendor/lib")
			git(t, dir, "config", "remote.other.url", "git@example.org:docs/x.git")
			git(t, dir, "config", "branch.main.remote", "origin")
			git(t, dir, "config", "branch.main.merge", "refs/heads/main")
			git(t, dir, "config", "init.defaultBranch", "main")
			git(t, dir, "config", "user.name", "docs")
			git(t, dir, "config", "alias.lg", "log --oneline --format=%h/%s -- src docs a b")
			git(t, dir, "config", "alias.up", "rebase docs/")
			git(t, dir, "config", "user.name", "a/b")
			git(t, dir, "config", "submodule.lib.url", "../lib")
			git(t, dir, "config", "submodule.lib.path", "docs/lib")
			git(t, dir, "config", "branch.main.vscode-merge-base", "origin/main")
			git(t, dir, "config", "filter.lfs.clean", "git-lfs clean -- %f")
			git(t, dir, "config", "lfs.https://example.org/docs/x.git/info/lfs.access", "basic")
			git(t, dir, "config", "gitflow.prefix.feature", "feature/")
			git(t, dir, "config", "format.pretty", "%h/%s")
			git(t, dir, "config", "core.quotePath", "false")
			git(t, dir, "config", "core.editor", "vim")
			git(t, dir, "config", "url.https://example.org/.insteadOf", "ex:")
			git(t, dir, "config", "safe.directory", dir+"/vendor/lib")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, home := repository(t), t.TempDir()
			c.set(t, dir, home)
			got, err := trusted(t, dir, home)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], dir+"/")
			}
			slices.Sort(got)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
		})
	}
}

func config1(name, value string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, _ string) { git(t, dir, "config", name, value) }
}

// trusted examines the repository dir, whatever git thinks of it.
func trusted(t *testing.T, dir, home string) ([]string, error) {
	t.Helper()
	p := sandbox.WorkspaceWrite(dir)
	p.Protected.Paths = protecttest.Git(dir + "/.git")
	at := gitrun.Home{Dir: home, System: "/dev/null"}
	return gitrun.Trusted(t.Context(), layout.Tree{Top: dir, Dirs: []string{dir + "/.git"}}, p, at, run.OS{})
}

// TestTrustedByASubmodule: its settings are in the repository around it, and its programs in
// its own work tree.
func TestTrustedByASubmodule(t *testing.T) {
	dir, other := repository(t), repository(t)
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
	git(t, filepath.Join(dir, "sub"), "config", "core.hooksPath", "hooks")
	got, err := gitrun.Trusted(t.Context(), layout.Tree{Dirs: []string{dir + "/.git/modules/sub"}}, sandbox.WorkspaceWrite(dir), gitrun.Home{}, run.OS{})
	if err != nil || !slices.Contains(got, dir+"/sub/hooks") {
		t.Errorf("%q %v", got, err)
	}
}

// TestTrustedInADamagedRepository: what a command can do to a repository hides no setting. What
// cannot be read is an error, and never waits.
func TestTrustedInADamagedRepository(t *testing.T) {
	replaced := func(name string, with func(string) error) func(string) error {
		return func(dir string) error { return errors.Join(os.RemoveAll(dir+name), with(dir+name)) }
	}
	gone := func(string) error { return nil }
	fifo := func(name string) error { return syscall.Mkfifo(name, 0o600) }
	text := func(text string) func(string) error {
		return func(name string) error { return os.WriteFile(name, []byte(text), 0o600) }
	}
	for _, c := range []struct {
		name  string
		do    func(dir string) error
		known bool
	}{
		{"refs", replaced("/.git/refs", gone), true},
		{"objects", replaced("/.git/objects", gone), true},
		{"HEAD", replaced("/.git/HEAD", text("garbage")), true},
		{"HEAD, a pipe", replaced("/.git/HEAD", fifo), true},
		{"config, a pipe", replaced("/.git/config", fifo), false},
		{"config, a folder", replaced("/.git/config", func(name string) error { return os.Mkdir(name, 0o700) }), false},
		{"config, garbage", replaced("/.git/config", text("[core\n")), false},
		{"an included file, a pipe", replaced("/team.config", fifo), false},
		{"an included file, garbage", replaced("/team.config", text("x y\n")), false},
		{"an included file, too long", replaced("/team.config", text(strings.Repeat("#\n", 4<<20))), false},
		{"files that include themselves", replaced("/team.config", text("[include]\n\tpath = team.config\n")), true},
		{"a value that is too long", replaced("/team.config", text("[a]\nb = "+strings.Repeat("x", 1<<17))), false},
	} {
		dir := repository(t)
		git(t, dir, "config", "core.hooksPath", "hooks")
		write(t, 0o644, "", dir, "team.config")
		git(t, dir, "config", "include.path", "../team.config")
		if err := c.do(dir); err != nil {
			t.Fatal(err)
		}
		got, err := trusted(t, dir, t.TempDir())
		if (err == nil) != c.known || c.known && !slices.Contains(got, dir+"/hooks") {
			t.Errorf("%s: %q %v", c.name, got, err)
		}
	}
}

// counting counts what is looked up.
type counting struct {
	sandbox.FileSystem
	looks int
}

func (c *counting) Lstat(name string) (fs.FileMode, error) {
	c.looks++
	return c.FileSystem.Lstat(name)
}

// TestTrustedIsBounded: one setting that a command left cannot keep every later session from starting. What
// names more than is looked up is closed.
func TestTrustedIsBounded(t *testing.T) {
	dir := repository(t)
	write(t, 0o644, "x", dir, strings.Repeat("e/", 100)+"x")
	value := strings.Repeat("-a=-b=-c=-d=-e=-f=./"+strings.Repeat("e/", 100)+"x ", 200)
	git(t, dir, "config", "alias.a", "!sh -c '"+value+"'")
	files := &counting{FileSystem: run.OS{}}
	_, err := gitrun.Trusted(t.Context(), layout.Tree{Top: dir, Dirs: []string{dir + "/.git"}}, sandbox.WorkspaceWrite(dir), gitrun.Home{Dir: t.TempDir(), System: "/dev/null"}, files)
	if err == nil || !strings.Contains(err.Error(), "more than codeagent looks up") || files.looks > 100_000 {
		t.Errorf("%v after %d looks", err, files.looks)
	}
}
