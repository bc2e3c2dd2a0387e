//go:build linux

package module

import (
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/sandbox"

	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"golang.org/x/sys/unix"
)

var tests = attack.Tests{Package: "codeagent/backends/wasm/module"}

// host is a module's calls on a file system, with names in the folder of the test. What it reads is kept.
type host struct {
	fs   sys.FS
	base string
	read string
}

func (h *host) at(name string) string { return strings.TrimPrefix(h.base, "/") + "/" + name }

func (h *host) open(name string, flag sys.Oflag) sys.File {
	f, errno := h.fs.OpenFile(name, flag, 0o600)
	if errno != 0 {
		return nil
	}
	return f
}

// get reads a file, or lists a folder.
func (h *host) get(name string) {
	f := h.open(name, sys.O_RDONLY)
	if f == nil {
		return
	}
	defer f.Close()
	buf := make([]byte, 4096)
	n, _ := f.Read(buf)
	entries, _ := f.Readdir(-1)
	h.read += string(buf[:n]) + fmt.Sprint(entries)
}

func (h *host) put(name string, flag sys.Oflag) {
	if f := h.open(name, flag); f != nil {
		defer f.Close()
		f.Write([]byte("out"))
	}
}

// text makes a link. there is one that was there before: wazero makes none with an absolute text.
func (h *host) text(name, text string) { h.fs.Symlink(text, h.at(name)) }

func (h *host) there(name, text string) { os.Symlink(text, h.base+"/"+name) }

const create = sys.O_CREAT | sys.O_WRONLY

// attacks try to read "hidden" or to change what guarded lists. In the folder are ws, the write root, and out. All work
// with wazero's own file system.
var attacks = map[string]func(h *host){
	"absolute name":                 func(h *host) { h.get(h.at("out/hidden")) },
	"..":                            func(h *host) { h.get(h.at("ws/../out/hidden")) },
	".. after a folder of ws":       func(h *host) { h.get(h.at("ws/deep/../../out/hidden")) },
	"doubled slashes":               func(h *host) { h.get(h.at("ws//..//out///hidden")) },
	"dots":                          func(h *host) { h.get("./" + h.at("./ws/./../out/./hidden")) },
	"list a folder":                 func(h *host) { h.get(h.at("out")) },
	"list by a slash after a link":  func(h *host) { h.text("ws/l", "../out"); h.get(h.at("ws/l/")) },
	"relative link":                 func(h *host) { h.text("ws/l", "../out/hidden"); h.get(h.at("ws/l")) },
	"absolute link":                 func(h *host) { h.there("ws/l", h.base+"/out/hidden"); h.get(h.at("ws/l")) },
	"link with dots":                func(h *host) { h.text("ws/l", "deep/../.././out//hidden"); h.get(h.at("ws/l")) },
	"link to a link":                func(h *host) { h.text("ws/l", "m"); h.text("ws/m", "../out/hidden"); h.get(h.at("ws/l")) },
	"link of a folder":              func(h *host) { h.text("ws/l", "../out"); h.get(h.at("ws/l/hidden")) },
	"link in a folder":              func(h *host) { h.text("ws/deep/l", "../../out"); h.get(h.at("ws/deep/l/hidden")) },
	"link to the root":              func(h *host) { h.there("ws/l", "/"); h.get(h.at("ws/l") + h.base + "/out/hidden") },
	"/proc/self/root":               func(h *host) { h.get("proc/self/root" + h.base + "/out/hidden") },
	"/proc/self/fd":                 func(h *host) { onDescriptor(h, func(fd string) { h.get(fd) }) },
	"link to /proc/self/fd":         func(h *host) { onDescriptor(h, func(fd string) { h.there("ws/l", "/"+fd); h.get(h.at("ws/l")) }) },
	"deny_read":                     func(h *host) { h.get(h.at("ws/hidden")) },
	"deny_read by a link":           func(h *host) { h.text("ws/l", "hidden"); h.get(h.at("ws/l")) },
	"deny_read by a hard link":      func(h *host) { h.fs.Link(h.at("ws/hidden"), h.at("ws/h")); h.get(h.at("ws/h")) },
	"deny_read by an old hard link": func(h *host) { h.get(h.at("ws/same")) },
	"deny_read, moved":              func(h *host) { h.fs.Rename(h.at("ws/hidden"), h.at("ws/m")); h.get(h.at("ws/m")) },
	"deny_read, folder moved":       func(h *host) { h.fs.Rename(h.at("ws/deep"), h.at("ws/m")); h.get(h.at("ws/m/hidden")) },
	"pattern":                       func(h *host) { h.get(h.at("ws/keys/a.txt")) },
	"pattern by a link":             func(h *host) { h.text("ws/l", "keys"); h.get(h.at("ws/l/a.txt")) },
	"pattern, folder moved":         func(h *host) { h.fs.Rename(h.at("ws/keys"), h.at("ws/m")); h.get(h.at("ws/m/a.txt")) },
	"state of a file": func(h *host) {
		if _, errno := h.fs.Stat(h.at("out/hidden")); errno == 0 {
			h.read += "hidden"
		}
	},
	"text of a link": func(h *host) {
		text, _ := h.fs.Readlink(h.at("out/l"))
		h.read += text
	},
	"create":                    func(h *host) { h.put(h.at("out/new"), create) },
	"overwrite":                 func(h *host) { h.put(h.at("out/f"), sys.O_WRONLY) },
	"truncate":                  func(h *host) { h.put(h.at("out/f"), sys.O_RDWR|sys.O_TRUNC) },
	"append":                    func(h *host) { h.put(h.at("out/f"), sys.O_WRONLY|sys.O_APPEND) },
	"overwrite by a link":       func(h *host) { h.text("ws/l", "../out/f"); h.put(h.at("ws/l"), sys.O_WRONLY) },
	"create by a folder's link": func(h *host) { h.text("ws/l", "../out"); h.put(h.at("ws/l/new"), create) },
	"create by a dangling link": func(h *host) { h.text("ws/l", "../out/new"); h.put(h.at("ws/l"), create) },
	"mkdir":                     func(h *host) { h.fs.Mkdir(h.at("out/new"), 0o700) },
	"rmdir":                     func(h *host) { h.fs.Rmdir(h.at("out/empty")) },
	"unlink":                    func(h *host) { h.fs.Unlink(h.at("out/f")) },
	"move out of it":            func(h *host) { h.fs.Rename(h.at("out/f"), h.at("ws/m")) },
	"move into it":              func(h *host) { h.fs.Rename(h.at("ws/mine"), h.at("out/f")) },
	"hard link into it":         func(h *host) { h.fs.Link(h.at("ws/mine"), h.at("out/new")) },
	"write by a hard link":      func(h *host) { h.fs.Link(h.at("out/f"), h.at("ws/h")); h.put(h.at("ws/h"), sys.O_WRONLY) },
	"link into it":              func(h *host) { h.text("out/new", "x") },
	"times":                     func(h *host) { h.fs.Utimens(h.at("out/f"), 1, 1) },
	"times by a link":           func(h *host) { h.text("ws/l", "../out/f"); h.fs.Utimens(h.at("ws/l"), 1, 1) },
	"times by an open file": func(h *host) {
		if f := h.open(h.at("ws/kept"), sys.O_RDONLY); f != nil {
			f.Utimens(1, 1)
			f.Close()
		}
	},
	"protected path":                  func(h *host) { h.put(h.at("ws/kept"), sys.O_WRONLY) },
	"protected path, removed":         func(h *host) { h.fs.Unlink(h.at("ws/kept")) },
	"protected path, replaced":        func(h *host) { h.fs.Rename(h.at("ws/mine"), h.at("ws/kept")) },
	"protected name":                  func(h *host) { h.put(h.at("ws/deep/.envrc"), create) },
	"protected name by case":          func(h *host) { h.put(h.at("ws/.ENVRC"), create) },
	"protected name by a folder":      func(h *host) { h.fs.Mkdir(h.at("ws/hooks"), 0o700); h.put(h.at("ws/hooks/run"), create) },
	"protected name by a move":        func(h *host) { h.fs.Rename(h.at("ws/evil"), h.at("ws/hooks")) },
	"protected name by a link":        func(h *host) { h.text("ws/hooks", "evil") },
	"git":                             func(h *host) { h.put(h.at("ws/.git/config"), create) },
	"git by a link":                   func(h *host) { h.text("ws/deep/.git", "../evil") },
	"own program by an old hard link": func(h *host) { h.put(h.at("ws/alias"), sys.O_WRONLY) },
	"own program, emptied by it":      func(h *host) { h.put(h.at("ws/alias"), sys.O_RDWR|sys.O_TRUNC) },
	"the root itself":                 func(h *host) { h.fs.Rename(h.at("ws"), h.at("out/ws")) },
	"race of a folder": func(h *host) {
		race(h, "ws/swap", "../out", func() { h.get(h.at("ws/swap/hidden")) })
	},
	"race of a file": func(h *host) {
		race(h, "ws/swap", "../out/hidden", func() { h.get(h.at("ws/swap")) })
	},
	"race of a write": func(h *host) {
		race(h, "ws/swap", "../out", func() { h.put(h.at("ws/swap/f"), sys.O_WRONLY) })
	},
}

// onDescriptor names an open file outside.
func onDescriptor(h *host, do func(fd string)) {
	f, err := os.Open(h.base + "/out/hidden")
	if err == nil {
		defer f.Close()
		do(fmt.Sprintf("proc/self/fd/%d", f.Fd()))
	}
}

// tries of a race.
const tries = 400

// race attacks while another program exchanges a folder of the workspace and a link, which have the same name in turn.
func race(h *host, name, text string, do func()) {
	name = filepath.Join(h.base, name)
	os.Mkdir(name, 0o755)
	os.WriteFile(name+"/f", nil, 0o644)
	os.Symlink(text, name+".link")
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, name+".link", unix.RENAME_EXCHANGE)
			}
		}
	}()
	for range tries {
		do()
	}
	close(end)
	<-ended
}

// furnish makes ws and out in a new folder, and returns it with the policy of the attacks.
func furnish(t *testing.T) (base string, p sandbox.Policy) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, out := base+"/ws", base+"/out"
	for _, dir := range []string{ws + "/deep", ws + "/keys", ws + "/evil", ws + "/.git", out + "/empty"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ws/hidden", "ws/deep/hidden", "ws/keys/a.txt", "ws/kept", "ws/mine", "ws/evil/run", "ws/own", "out/hidden", "out/f"} {
		text := map[string]string{"ws/mine": "mine"}[name] + "hidden"
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for old, name := range map[string]string{"ws/hidden": "ws/same", "ws/own": "ws/alias"} {
		if err := os.Link(filepath.Join(base, old), filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("hidden", out+"/l"); err != nil {
		t.Fatal(err)
	}
	p = sandbox.Policy{Read: []sandbox.Root{{Path: ws}}, Write: []sandbox.Root{{Path: ws}}, DenyRead: []string{ws + "/hidden", ws + "/deep/hidden"}, DenyGlobs: []string{"**/keys/*.txt"}}
	p.Protected = sandbox.ProtectedNames{Paths: []string{ws + "/kept"}, Names: []string{".envrc", "hooks/run"}, Own: []string{ws + "/own"}}
	return base, p
}

// guarded describes all that no attack may change.
func guarded(t *testing.T, base string) string {
	var b strings.Builder
	err := filepath.WalkDir(base, func(path string, d iofs.DirEntry, err error) error {
		name := strings.ToLower(strings.TrimPrefix(path, base))
		in := func(part string) bool { return strings.Contains(name, part) }
		if err != nil || !slices.ContainsFunc([]string{"/out/", "/ws/kept", "/ws/own", "/.envrc", "/hooks/run", "/.git/", "/deep/.git"}, in) && name != "/ws/hooks" {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(path)
			text = fmt.Sprintf("%q %v", data, info.ModTime())
		}
		if name != "/ws/hooks" || info.Mode()&os.ModeSymlink != 0 {
			fmt.Fprintln(&b, name, info.Mode(), text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAttacks: each works with wazero's own file system, and none with that of a module.
func TestAttacks(t *testing.T) {
	if len(attacks) < 40 {
		t.Errorf("%d attacks", len(attacks))
	}
	for name, do := range attacks {
		t.Run(name, func(t *testing.T) {
			for _, own := range []bool{false, true} {
				base, policy := furnish(t)
				h := &host{fs: sysfs.DirFS("/"), base: base}
				if own {
					h.fs = NewFS(policy, false)
				}
				before := guarded(t, base)
				do(h)
				// A race may be won by chance alone.
				for i := 0; !own && strings.HasPrefix(name, "race") && i < 100 && !strings.Contains(h.read, "hidden") && guarded(t, base) == before; i++ {
					do(h)
				}
				out := strings.Contains(h.read, "hidden") || guarded(t, base) != before
				if out == own {
					t.Errorf("own file system: %t, out: %t; read %q\nbefore:\n%safter:\n%s", own, out, h.read, before, guarded(t, base))
				}
			}
		})
	}
}

// TestAttacksAsUser runs them as an ordinary user.
func TestAttacksAsUser(t *testing.T) { tests.AsUser(t, "^TestAttacks$") }

// TestWork: what the policy opens works as with wazero's own file system.
func TestWork(t *testing.T) {
	for _, own := range []bool{false, true} {
		base, policy := furnish(t)
		h := &host{fs: sysfs.DirFS("/"), base: base}
		if own {
			h.fs = NewFS(policy, false)
		}
		h.fs.Mkdir(h.at("ws/new"), 0o700)
		h.put(h.at("ws/new/f"), create|sys.O_EXCL)
		h.put(h.at("ws/new/f"), sys.O_WRONLY|sys.O_APPEND)
		h.fs.Rename(h.at("ws/new"), h.at("ws/moved"))
		h.fs.Link(h.at("ws/moved/f"), h.at("ws/second"))
		h.text("ws/l", "moved/../second")
		h.fs.Utimens(h.at("ws/l"), 2e9, 3e9)
		h.get(h.at("ws/l"))
		h.get(h.at("ws/moved/"))
		h.fs.Unlink(h.at("ws/mine"))
		st, errno := h.fs.Stat(h.at("ws/l"))
		if !strings.HasPrefix(h.read, "outout[]") || !strings.Contains(h.read, " f ") || errno != 0 || st.Mtim != 3e9 || st.Nlink != 2 || st.Size != 6 || st.Mode.Perm()&0o600 != 0o600 {
			t.Errorf("own: %t: read %q, %+v, %v", own, h.read, st, errno)
		}
		if _, err := os.Lstat(base + "/ws/mine"); err == nil {
			t.Errorf("own: %t: not removed", own)
		}
		for name, want := range map[string]sys.Errno{h.at("ws/nul\x00"): sys.EINVAL, h.at("ws/" + strings.Repeat("a/", 3000)): sys.ENAMETOOLONG, h.at("ws/absent"): sys.ENOENT, h.at("ws/moved/f/x"): sys.ENOTDIR} {
			if _, errno := h.fs.OpenFile(name, sys.O_RDONLY, 0); errno != want {
				t.Errorf("own: %t: %.60q: %v, want %v", own, name, errno, want)
			}
		}
	}
}
