package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codeagent/config"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"
)

type disk struct{}

func (disk) Lstat(p string) (fs.FileMode, error) {
	info, err := os.Lstat(p)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

func (disk) Readlink(p string) (string, error) { return os.Readlink(p) }

// home is a home folder with a workspace in it, as canonical paths.
type home struct {
	dir, ws string
	place   config.Place
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	paths, err := config.FindPaths(env(nil), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := paths.Create(); err != nil {
		t.Fatal(err)
	}
	h := &home{dir: dir, ws: filepath.Join(dir, "src", "app")}
	h.mkdir(t, "src/app")
	temp, _, err := paths.NewTemp()
	if err != nil {
		t.Fatal(err)
	}
	h.place = config.Place{Workspace: h.ws, Home: dir, Paths: paths, Own: []string{"/opt/codeagent/bin/codeagent"}, Temp: temp, Files: disk{}}
	return h
}

func (h *home) mkdir(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(h.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *home) write(t *testing.T, name, text string) {
	t.Helper()
	h.mkdir(t, filepath.Dir(name))
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (h *home) link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(h.dir, name)); err != nil {
		t.Fatal(err)
	}
}

func (h *home) policy(t *testing.T, overrides ...string) (sandbox.Policy, error) {
	t.Helper()
	c, err := load(t, "", config.Sources{Overrides: overrides})
	if err != nil {
		t.Fatal(err)
	}
	return config.Policy(c, h.place)
}

func (h *home) mustPolicy(t *testing.T, overrides ...string) sandbox.Policy {
	t.Helper()
	p, err := h.policy(t, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// judge checks "w PATH" or "r PATH", relative to the home folder, against the policy.
func (h *home) judge(p sandbox.Policy, access string) bool {
	name := access[2:]
	if !filepath.IsAbs(name) {
		name = filepath.Join(h.dir, name)
	}
	if access[0] == 'w' {
		return p.JudgeWrite(name).Allowed
	}
	return p.JudgeRead(name).Allowed
}

func (h *home) check(t *testing.T, p sandbox.Policy, want map[string]bool) {
	t.Helper()
	for access, want := range want {
		if dir, ok := strings.CutPrefix(access, "git "); ok { // what the table protects in a git directory
			for _, name := range protect.Git(dir) {
				h.check(t, p, map[string]bool{"w " + name: want, "w " + name + "/x": want})
			}
			continue
		}
		if got := h.judge(p, access); got != want {
			t.Errorf("%s: allowed %v, want %v", access, got, want)
		}
	}
}

func TestPolicyModes(t *testing.T) {
	h := newHome(t)
	temp := h.place.Temp
	for mode, want := range map[string]map[string]bool{
		"read-only":       {"w src/app/x": false, "w " + temp + "/x": false, "r src/app/x": true, "w .bashrc": false, "r .bashrc": true},
		"workspace-write": {"w src/app/x": true, "w " + temp + "/x": true, "w src/appx": false, "w src": false, "w .bashrc": false, "w /tmp/x": false, "w src/app/" + protecttest.In("{agent}") + "/x": false, "r .bashrc": true},
		"strict":          {"w src/app/x": false, "w " + temp + "/x": true, "r src/app/x": true, "r .bashrc": false, "r /usr/bin/env": true, "w .bashrc": false},
	} {
		p := h.mustPolicy(t, "sandbox.mode="+mode)
		h.check(t, p, want)
		if p.JudgeHost(sandbox.HostPort{Host: "example.com", Port: 443}).Allowed || p.Unconfined {
			t.Errorf("%s: network %+v, unconfined %v; want no network and a sandbox", mode, p.Network, p.Unconfined)
		}
		for _, own := range []string{h.place.Paths.File, h.place.Paths.Ledger, h.place.Paths.Sessions + "/x", "/opt/codeagent/bin/codeagent"} {
			q := p.With(sandbox.Grant{Write: []string{own, h.dir, "/"}})
			if q.JudgeWrite(own).Allowed {
				t.Errorf("%s: %s can be granted", mode, own)
			}
		}
	}
	if p := h.mustPolicy(t, "sandbox.mode=danger-full-access", "sandbox.env.inherit=all"); !p.Unconfined || p.Env.Inherit != sandbox.EnvAll {
		t.Errorf("danger-full-access: %+v", p)
	}
}

func TestPolicyCanonical(t *testing.T) {
	h := newHome(t)
	h.mkdir(t, "real/data")
	h.link(t, "src/app", "ws")
	h.link(t, "real", "alias")
	h.place.Workspace = filepath.Join(h.dir, "ws")
	p := h.mustPolicy(t, `sandbox.add_dirs=["~/alias/data", "../../alias/data/", "`+h.dir+`/real/./data"]`)
	want := []sandbox.Root{{Path: h.ws}, {Path: filepath.Join(h.dir, "real/data")}}
	if d := cmp.Diff(want, p.Write); d != "" {
		t.Errorf("the roots are not canonical, or stand twice: %s", d)
	}
}

func TestPolicyAddFiles(t *testing.T) {
	h := newHome(t)
	h.write(t, "notes", "")
	h.link(t, "notes", "alias")
	p := h.mustPolicy(t, `sandbox.add_files=["~/notes", "~/alias", "~/absent"]`)
	h.check(t, p, map[string]bool{
		"w notes": true, "w absent": true,
		"w notes2": false, "w absent2": false, "w .bashrc": false, "w .": false, "w src/app/x": true,
	})
	want := []sandbox.Root{{Path: h.ws}, {Path: filepath.Join(h.dir, "notes"), Optional: true}, {Path: filepath.Join(h.dir, "absent"), Optional: true}}
	if d := cmp.Diff(want, p.Write); d != "" {
		t.Error(d)
	}
	h.mkdir(t, "absent/.git/hooks") // as a command may
	p = h.mustPolicy(t, `sandbox.add_files=["~/absent"]`)
	h.check(t, p, map[string]bool{"w absent/x": true, "w absent/.git/hooks/x": false, "w absent2": false})
}

// TestPolicyAddDirsGone: a missing folder named in the file is not an error, and nothing else is
// opened in its place; checks of existing folders still apply.
func TestPolicyAddDirsGone(t *testing.T) {
	h := newHome(t)
	c, err := load(t, "[sandbox]\nadd_dirs = [\"~/gone\", \"~/no/where\"]\n", config.Sources{Flags: []config.Flag{{Name: "--add-dir", Key: "sandbox.add_dirs", Values: []string{h.ws}}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := config.Policy(c, h.place)
	if err != nil {
		t.Fatal(err)
	}
	want := []sandbox.Root{{Path: h.ws}, {Path: filepath.Join(h.dir, "gone"), Optional: true}, {Path: filepath.Join(h.dir, "no/where"), Optional: true}}
	if d := cmp.Diff(want, p.Write); d != "" {
		t.Error(d)
	}
	h.check(t, p, map[string]bool{"w gone": true, "w gone/x": true, "w no": false, "w .": false, "w gone2": false})
	h.link(t, ".config", "no")
	for file, want := range map[string]string{"~/.config/codeagent/absent": "lies inside", "~/no/codeagent/absent": "lies inside"} {
		c, err := load(t, "[sandbox]\nadd_dirs = [\""+file+"\"]\n", config.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := config.Policy(c, h.place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	flags := []config.Flag{{Name: "--add-dir", Key: "sandbox.add_dirs", Values: []string{filepath.Join(h.dir, "typed")}}}
	if c, err = load(t, "[sandbox]\nadd_dirs = [\"~/gone\"]\n", config.Sources{Flags: flags}); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Policy(c, h.place); err == nil || !strings.Contains(err.Error(), "sandbox.add_dirs (--add-dir): ") {
		t.Errorf("a folder that is typed and missing: %v", err)
	}
}

func TestPolicyRefusesRoots(t *testing.T) {
	for _, c := range []struct {
		name, workspace, want string
		overrides             []string
	}{
		{"root", "/", "is /: every file could be written", nil},
		{"home", ".", "is your home folder", nil},
		{"above home", "..", "contains your home folder", nil},
		{"home by a link", "tohome", "is your home folder", nil},
		{"around the settings", ".config", "contains codeagent's settings", nil},
		{"around the sessions", ".local", "contains codeagent's sessions", nil},
		{"the settings", ".config/codeagent", "lies inside", nil},
		{"root, with a yes", "/", "is /: every file could be written", []string{"sandbox.allow_home=true"}},
		{"below the sessions", ".local/state/codeagent/sessions", "lies inside", []string{"sandbox.allow_home=true"}},
		{"missing", "nowhere", "no such file", nil},
		{"a file", "file", "is not a folder", nil},
		{"a loop", "loop", "too many symbolic links", nil},
		{"extra root", "src/app", "sandbox.add_dirs is /", []string{`sandbox.add_dirs=["/"]`}},
		{"extra home", "src/app", "is your home folder", []string{`sandbox.add_dirs=["~"]`}},
		{"extra missing", "src/app", "sandbox.add_dirs (-c): ", []string{`sandbox.add_dirs=["/nowhere/at/all"]`}},
		{"extra file is a folder above home", "src/app", "is your home folder", []string{`sandbox.add_files=["~"]`}},
		{"extra file is a device", "src/app", "neither a file nor a folder", []string{`sandbox.add_files=["/dev/null"]`}},
		{"extra file without a folder", "src/app", "no such file", []string{`sandbox.add_files=["~/nowhere/x"]`}},
		{"extra file below a file", "src/app", "not a directory", []string{`sandbox.add_files=["~/file/x"]`}},
		{"extra file of our own", "src/app", "lies inside", []string{`sandbox.add_files=["~/.config/codeagent/config.toml"]`}},
		{"extra file by a link to our own", "src/app", "lies inside", []string{`sandbox.add_files=["~/tohome/.config/codeagent/config.toml"]`}},
		{"extra file that is codeagent", "src/app", "belongs to codeagent itself", []string{`sandbox.add_files=["~/own"]`}},
		{"files under read-only", "src/app", "writes nothing", []string{"sandbox.mode=read-only", `sandbox.add_files=["~/file"]`}},
		{"folders under read-only", "src/app", "writes nothing", []string{"sandbox.mode=read-only", `sandbox.add_dirs=["~/src"]`}},
		{"a name that leads out", "src/app", "use a name inside the workspace", []string{`sandbox.protected=["../x"]`}},
		{"a glob that leads out", "src/app", "leads out of the workspace", []string{`sandbox.deny_read=["../*.pem"]`}},
		{"a broken glob", "src/app", "not a valid glob", []string{`sandbox.deny_read=["**/[a"]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			h.write(t, "file", "")
			h.link(t, ".", "tohome")
			h.link(t, "loop", "loop")
			h.write(t, "own", "")
			h.place.Own = []string{filepath.Join(h.dir, "own")}
			h.place.Workspace = filepath.Join(h.dir, c.workspace)
			if filepath.IsAbs(c.workspace) {
				h.place.Workspace = c.workspace
			}
			_, err := h.policy(t, c.overrides...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestPolicyHides: codeagent's records are closed to reading in every mode, and in
// either layout of its folders; the files whose paths the model gets are not.
func TestPolicyHides(t *testing.T) {
	h := newHome(t)
	h.write(t, "home/sessions/s1.jsonl", "")
	together, err := config.FindPaths(env(map[string]string{"CODEAGENT_HOME": filepath.Join(h.dir, "home")}), h.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, paths := range []config.Paths{h.place.Paths, together} {
		h.place.Paths = paths
		for _, mode := range []string{"read-only", "workspace-write", "strict"} {
			p := h.mustPolicy(t, "sandbox.mode="+mode)
			h.check(t, p, map[string]bool{
				"r " + paths.Undo + "/s1/kept": false, "r " + paths.Sessions + "/s1.jsonl": false, "r " + paths.Sessions: false,
				"r " + paths.Output + "/output-1.txt": mode != "strict", "r " + paths.File: mode != "strict",
			})
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
		}
		h.place.Workspace = paths.Sessions
		if _, err := h.policy(t, "sandbox.mode=read-only"); err == nil || !strings.Contains(err.Error(), "codeagent's own records") {
			t.Errorf("a session in %s: %v", paths.Sessions, err)
		}
		h.place.Workspace = h.ws
	}
}

// TestPolicyHidesWhatLinksLeadTo: records that were moved to another disk are closed too.
func TestPolicyHidesWhatLinksLeadTo(t *testing.T) {
	h := newHome(t)
	h.mkdir(t, "disk/undo", "src/app/sessions")
	for name, target := range map[string]string{h.place.Paths.Undo: "disk/undo", h.place.Paths.Sessions: "src/app/sessions"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(h.dir, target), name); err != nil {
			t.Fatal(err)
		}
	}
	h.check(t, h.mustPolicy(t), map[string]bool{
		"r disk/undo/s1/kept": false, "r disk": true, "r src/app/sessions/s1.jsonl": false, "w src/app/sessions/s1.jsonl": false, "w src/app/x": true,
	})
	granted := h.mustPolicy(t).With(sandbox.Grant{Write: []string{filepath.Join(h.dir, "disk")}})
	h.check(t, granted, map[string]bool{"w disk/undo/s1/kept": false, "w disk/x": true})
}

// TestPolicyHomeNeedsYes: with an explicit yes the home folder works, and codeagent's own
// files are still protected. If nothing is writable, no yes is needed.
func TestPolicyHomeNeedsYes(t *testing.T) {
	h := newHome(t)
	h.place.Workspace = h.dir
	h.check(t, h.mustPolicy(t, "sandbox.allow_home=true"), map[string]bool{
		"w .bashrc": true, "w .config/codeagent/config.toml": false, "w .local/state/codeagent/ledger.jsonl": false, "w " + protecttest.In("{agent}") + "/x": false,
		"r .config/codeagent/config.toml": false, "r .local/state/codeagent/sessions/s1.jsonl": false, "r .local/state/codeagent/output/o": true,
		"w .local/state/codeagent/output/o": false, "r .bashrc": true,
	})
	together, err := config.FindPaths(env(map[string]string{"CODEAGENT_HOME": filepath.Join(h.dir, "home")}), h.dir)
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, "home/config.toml", "")
	own := h.place.Paths
	h.place.Paths = together
	h.check(t, h.mustPolicy(t, "sandbox.allow_home=true"), map[string]bool{
		"r home/config.toml": false, "w home/config.toml": false, "w home/rules.toml": false, "r home/sessions/x": false, "r home/undo/x": false, "w home/AGENTS.md": false,
	})
	h.place.Paths = own
	h.check(t, h.mustPolicy(t, "sandbox.mode=read-only"), map[string]bool{"w .bashrc": false})
}

func TestPolicyDenyRead(t *testing.T) {
	h := newHome(t)
	h.mkdir(t, "real", ".ssh")
	h.write(t, "src/app/key.pem", "")
	h.link(t, "real", "alias")
	h.link(t, filepath.Join(h.dir, "src/app/key.pem"), "src/app/link.pem")
	p := h.mustPolicy(t, `sandbox.deny_read=["~/alias/*.key", "link.pem", "conf", "**/.secret", "~/absent/x"]`, "sandbox.deny_secrets=true")
	h.check(t, p, map[string]bool{
		"r real/a.key": false, "r real/a.txt": true, "r src/app/key.pem": false, "w src/app/key.pem": false, "r src/app/conf/x": false,
		"r src/app/a/.secret": false, "r .secret/x": false, "r absent/x": false, "r absent/y": true,
		"r .ssh/id_ed25519": false, "r .sshx": true, "r src/app/.env": false, "r .aws/credentials": false, "r src/app/.envrc": true,
	})
	h.place.Home = ""
	if p := h.mustPolicy(t, "sandbox.deny_secrets=true"); p.JudgeRead(h.ws + "/.env").Allowed {
		t.Error("without a home folder .env is readable")
	}
	if _, err := h.policy(t, `sandbox.deny_read=["~/x"]`); err == nil || !strings.Contains(err.Error(), "no home folder") {
		t.Errorf("~ without a home: %v", err)
	}
}

// TestPolicyDenyReadInOddWorkspace: the name of the workspace makes no exact path a glob: the
// kernel still closes the path, and nothing beside it is opened.
func TestPolicyDenyReadInOddWorkspace(t *testing.T) {
	h := newHome(t)
	for _, name := range []string{"a*b", "what?", "[x]", "[open"} {
		h.mkdir(t, "src/"+name)
		h.ws = filepath.Join(h.dir, "src", name)
		h.link(t, h.ws, "src/to-"+name)
		h.place.Workspace = filepath.Join(h.dir, "src/to-"+name)
		p := h.mustPolicy(t, `sandbox.deny_read=["conf/key", "~/src/app", "*.pem"]`)
		want := []string{filepath.Join(h.ws, "conf/key"), filepath.Join(h.dir, "src/app")}
		if !slices.Equal(p.DenyRead, want) || !slices.Equal(p.DenyGlobs, []string{"*.pem"}) {
			t.Errorf("%s: paths %q, globs %q", name, p.DenyRead, p.DenyGlobs)
		}
		h.check(t, p, map[string]bool{"r src/" + name + "/conf/key": false, "r src/" + name + "/conf/kex": true, "r src/axb/conf/key": true, "r src/x/conf/key": true, "r src/x/a.pem": false})
	}
}

func TestPolicyProtected(t *testing.T) {
	h := newHome(t)
	h.write(t, "src/app/docs/a", "")
	p := h.mustPolicy(t, `sandbox.protected=["Makefile", ".github/workflows/", "~/src/app/docs"]`)
	h.check(t, p, map[string]bool{
		"w src/app/Makefile": false, "w src/app/sub/Makefile": false, "w src/app/Makefile.am": true, "w src/app/.github/workflows/ci.yml": false,
		"w src/app/docs/a": false, "w src/app/docs2": true, "w src/app/sub/docs": true,
	})
}

func TestPolicyGitDirectory(t *testing.T) {
	h := newHome(t)
	h.write(t, "src/app/.git/HEAD", "ref: refs/heads/main\n")
	h.write(t, "src/app/.git/worktrees/t[1]/gitdir", "x")
	h.write(t, "src/app/.git/modules/a/HEAD", "x")
	h.write(t, "src/app/.git/modules/deep/er/HEAD", "x")
	h.write(t, "src/app/.git/modules/a/modules/b/HEAD", "x")
	h.write(t, "extra/.git/HEAD", "x")
	h.check(t, h.mustPolicy(t, `sandbox.add_dirs=["~/extra"]`), map[string]bool{
		"w src/app/.git/HEAD": true, "w src/app/.git/index.lock": true, "w src/app/.git/objects/aa/b": true, "w src/app/.git/refs/heads/x": true,
		"git src/app/.git":                false,
		"git src/app/.git/worktrees/t[1]": false, "w src/app/.git/worktrees/t[1]/HEAD": true,
		"git src/app/.git/modules/a": false, "w src/app/.git/modules/a/HEAD": true,
		"git src/app/.git/modules/deep/er": false, "git src/app/.git/modules/a/modules/b": false,
		"git extra/.git": false, "w extra/.git/index": true,
	})
}

// TestPolicyGitFile: a .git that is a file or a link determines where git looks. It is
// protected, and so is its target.
func TestPolicyGitFile(t *testing.T) {
	for name, plant := range map[string]func(h *home){
		"file": func(h *home) { h.write(t, "src/app/.git", "gitdir: store/worktrees/w\n") },
		"absolute file": func(h *home) {
			h.write(t, "src/app/.git", "gitdir: "+h.ws+"/store/worktrees/w\n")
		},
		"link": func(h *home) { h.link(t, "store/worktrees/w", "src/app/.git") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.write(t, "src/app/store/worktrees/w/commondir", "../..\n")
			h.write(t, "src/app/store/config", "")
			plant(h)
			want := map[string]bool{
				"w src/app/.git": false, "git src/app/store/worktrees/w": false,
				"w src/app/store/worktrees/w/index": true,
			}
			if name != "link" {
				want["git src/app/store"] = false
			}
			h.check(t, h.mustPolicy(t), want)
		})
	}
}

// TestPolicyOddGit: whatever a command left as .git, the next session starts. Such an entry
// leads nowhere, for git too, and is protected.
func TestPolicyOddGit(t *testing.T) {
	fifo := func(h *home, name string) error { return syscall.Mkfifo(filepath.Join(h.dir, name), 0o600) }
	for name, plant := range map[string]func(h *home) error{
		"loop":           func(h *home) error { h.link(t, ".git", "src/app/.git"); return nil },
		"fifo":           func(h *home) error { return fifo(h, "src/app/.git") },
		"link to a fifo": func(h *home) error { h.link(t, "pipe", "src/app/.git"); return fifo(h, "src/app/pipe") },
		"file to a fifo": func(h *home) error { h.write(t, "src/app/.git", "gitdir: pipe\n"); return fifo(h, "src/app/pipe") },
		"commondir a fifo": func(h *home) error {
			h.write(t, "src/app/.git", "gitdir: d\n")
			h.mkdir(t, "src/app/d")
			return fifo(h, "src/app/d/commondir")
		},
		"empty gitdir": func(h *home) error { h.write(t, "src/app/.git", "gitdir: \n"); return nil },
		"NUL":          func(h *home) error { h.write(t, "src/app/.git", "gitdir: a\x00b\n"); return nil },
		"missing/..":   func(h *home) error { h.write(t, "src/app/.git", "gitdir: none/../x\n"); return nil },
		"empty commondir": func(h *home) error {
			h.write(t, "src/app/.git", "gitdir: d\n")
			h.write(t, "src/app/d/commondir", "\n")
			return nil
		},
		"huge": func(h *home) error {
			h.write(t, "src/app/.git", "gitdir: x\n")
			return os.Truncate(filepath.Join(h.ws, ".git"), 1<<40)
		},
		"unrelated": func(h *home) error { h.write(t, "src/app/.git", "text\n"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			if err := plant(h); err != nil {
				t.Fatal(err)
			}
			h.check(t, h.mustPolicy(t), map[string]bool{"w src/app/.git": false, "w src/app/file": true})
		})
	}
}

// TestPolicyManyModules: a folder with too many entries is protected as a whole.
func TestPolicyManyModules(t *testing.T) {
	h := newHome(t)
	for i := range 2100 {
		h.mkdir(t, filepath.Join("src/app/.git/modules", "m"+string(rune('a'+i%26))+strings.Repeat("x", i/26)))
	}
	h.check(t, h.mustPolicy(t), map[string]bool{"git src/app/.git/modules/any": false, "w src/app/.git/modules/any/HEAD": false, "w src/app/.git/HEAD": true})
}

func TestPolicyLimitsAndEnv(t *testing.T) {
	h := newHome(t)
	p := h.mustPolicy(t, "sandbox.network=full", "sandbox.tmp=shared", "sandbox.limits.wall_s=2", "sandbox.limits.cpu_s=3", "sandbox.limits.cpu_percent=50", "sandbox.limits.memory_mb=4",
		"sandbox.limits.processes=5", "sandbox.limits.open_files=6", "sandbox.limits.file_size_mb=7", "sandbox.limits.output_mb=8",
		"sandbox.env.inherit=none", `sandbox.env.include=["A"]`, `sandbox.env.exclude=["B*"]`, `sandbox.env.set={C = "d"}`)
	wantLimits := sandbox.Limits{WallMillis: 2000, CPUSeconds: 3, CPUPercent: 50, Memory: 4 << 20, Processes: 5, OpenFiles: 6, FileSize: 7 << 20, Output: 8 << 20}
	wantEnv := sandbox.Env{Inherit: sandbox.EnvNone, Include: []string{"A"}, Exclude: []string{"B*"}, Set: map[string]string{"C": "d"}}
	if d := cmp.Diff(wantLimits, p.Limits) + cmp.Diff(wantEnv, p.Env); d != "" || !p.SharedTemp || p.Network.Mode != sandbox.NetworkFull {
		t.Errorf("%+v %s", p, d)
	}
	// The preset's own limits apply unless the settings set them.
	if p := h.mustPolicy(t, "sandbox.mode=strict", "sandbox.limits.cpu_s=9"); p.Limits.CPUSeconds != 9 || p.Limits.Memory != 64<<20 {
		t.Errorf("strict: %+v", p.Limits)
	}
	if _, err := h.policy(t, `sandbox.env.set={"A=B" = "c"}`); err == nil {
		t.Error("a variable named A=B is accepted")
	}
}

func TestPolicyTemp(t *testing.T) {
	h := newHome(t)
	h.place.Temp = ""
	if p := h.mustPolicy(t); p.Temp != "" {
		t.Errorf("temp %q", p.Temp)
	}
	if _, err := h.policy(t, "sandbox.mode=strict"); err == nil {
		t.Error("strict without a scratch folder")
	}
}

func TestPaths(t *testing.T) {
	p, err := config.FindPaths(env(nil), "/home/u")
	if err != nil || p.File != "/home/u/.config/codeagent/config.toml" || p.Sessions != "/home/u/.local/state/codeagent/sessions" || p.Temp != "/home/u/.cache/codeagent/tmp" {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = config.FindPaths(env(map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "relative", "XDG_CACHE_HOME": "/k"}), "/home/u")
	if err != nil || p.Config != "/c/codeagent" || p.State != "/home/u/.local/state/codeagent" || p.Temp != "/k/codeagent/tmp" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := config.FindPaths(env(nil), ""); err == nil || !strings.Contains(err.Error(), "CODEAGENT_HOME") {
		t.Errorf("without a home: %v", err)
	}
	if _, err := config.FindPaths(env(map[string]string{"CODEAGENT_HOME": "x"}), "/home/u"); err == nil {
		t.Error("a relative CODEAGENT_HOME")
	}
}

// TestOneFolder: under CODEAGENT_HOME the folder for temporary files is beside codeagent's own
// files, and only it is writable.
func TestOneFolder(t *testing.T) {
	h := newHome(t)
	paths, err := config.FindPaths(env(map[string]string{"CODEAGENT_HOME": filepath.Join(h.dir, "ca")}), h.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := paths.Create(); err != nil {
		t.Fatal(err)
	}
	temp, remove, err := paths.NewTemp()
	if err != nil {
		t.Fatal(err)
	}
	h.place.Paths, h.place.Temp = paths, temp
	p := h.mustPolicy(t).With(sandbox.Grant{Write: []string{filepath.Join(h.dir, "ca")}})
	h.check(t, p, map[string]bool{
		"w " + temp + "/x": true, "w ca/config.toml": false, "w ca/sessions/x": false, "w ca/ledger.jsonl": false, "w ca/rules.toml": false, "w ca/undo/x": false, "w ca/output/x": false, "w ca/AGENTS.md": false,
	})
	if err := os.WriteFile(filepath.Join(temp, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the session's folder stays: %v", err)
	}
}

// TestSweepTemp: the folder of a killed session is removed; those of a running session and a
// new one stay.
func TestSweepTemp(t *testing.T) {
	paths := config.Paths{Temp: t.TempDir()}
	alive, remove, err := paths.NewTemp()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	folder := func(name string, age time.Duration) string {
		dir := filepath.Join(paths.Temp, name)
		if err := os.MkdirAll(filepath.Join(dir, "below"), 0o700); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	folder(filepath.Base(alive), 48*time.Hour)
	dead, fresh, foreign := folder("session-dead", 2*time.Hour), folder("session-fresh", 0), folder("other", 48*time.Hour)
	paths.SweepTemp()
	for dir, want := range map[string]bool{alive: true, fresh: true, foreign: true, dead: false} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
}

func TestCreateClosesFolders(t *testing.T) {
	h := newHome(t)
	if err := os.Chmod(h.place.Paths.State, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := h.place.Paths.Create(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{h.place.Paths.Config, h.place.Paths.State, h.place.Paths.Sessions, h.place.Paths.Output, h.place.Paths.Temp} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if err := os.RemoveAll(h.place.Paths.Undo); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.place.Paths.Undo, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.place.Paths.Create(); err == nil {
		t.Error("a file in the place of a folder is taken")
	}
}

func TestMissingLayers(t *testing.T) {
	s := config.Sandbox{RequiredLayers: []string{"landlock", "userns", "pidns"}}
	e := sandbox.Enforcement{Layers: []sandbox.Layer{{Name: "landlock", State: sandbox.LayerActive}, {Name: "pidns", State: sandbox.LayerDegraded}}}
	if got := s.MissingLayers(e); !slices.Equal(got, []string{"userns", "pidns"}) {
		t.Errorf("%q", got)
	}
}
