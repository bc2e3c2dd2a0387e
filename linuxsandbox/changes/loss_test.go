//go:build linux

package changes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// lossy is a change observer that failed to save two files.
type lossy struct{ files []inode }

func (lossy) BeforeChange(int, string, string) {}

// Unsaved implements sandbox.ChangeObserver.
func (l lossy) Unsaved(dir int, name, _ string) string {
	var st unix.Stat_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == "." {
		name, flags = "", unix.AT_EMPTY_PATH
	}
	if err := unix.Fstatat(dir, name, &st, flags); err != nil {
		return "cannot be examined"
	}
	for _, f := range l.files {
		if f == (inode{st.Dev, st.Ino}) || st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return "too large"
		}
	}
	return ""
}

// agreeing is a holder that gives the same answer to all questions, and counts them.
type agreeing struct {
	yes   bool
	mu    sync.Mutex
	asked []sandbox.Denial // guarded by mu
}

func (*agreeing) Asks(sandbox.Denial) bool { return true }

func (a *agreeing) Hold(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, d)
	return sandbox.Grant{}, a.yes
}

// lossWays are ways to lose big and d/big, the refused call, and an alternative that loses nothing.
var lossWays = []struct{ name, script, call string }{
	{"rm", `rm big d/big`, "unlinkat"},
	{"rm -r", `rm -r d big`, "unlinkat"},
	{"after a move", `mv big t; mv t u; rm u; mv d e; rm -r e`, "unlinkat"},
	{"unlink", `py 'os.unlink("big"); os.unlink("d/big")'`, "unlink"},
	{"cut short", `: > big; : > d/big`, "openat"},
	{"cut short through a link", `ln -s big l2; : > l2; : > d/big`, "openat"},
	{"cut short through /proc", `exec 3<big; : > /proc/self/fd/3; : > d/big`, "openat"},
	{"opened to read and cut short", `py 'os.open("big", os.O_RDONLY | os.O_TRUNC); os.open("d/big", os.O_RDONLY | os.O_TRUNC)'`, "openat"},
	{"truncate", `py 'os.truncate("big", 1); os.truncate("d/big", 0)'`, "truncate"},
	{"truncate -s 0", `truncate -s 0 big d/big`, "ftruncate"},
	{"cut short through a descriptor that was open", `py 'f = open("big", "r+"); g = open("d/big", "r+"); f.truncate(0); g.truncate(3)'`, "ftruncate"},
	{"another in its place", `mv big t; echo new > big; rm t; mv d/big u; echo new > d/big; rm u`, "unlinkat"},
	{"exchanged", `py 'import ctypes; l = ctypes.CDLL(None); l.renameat2(-100, b"big", -100, b"a", 2)'; rm a; mv d/big u; rm u`, "unlinkat"},
	{"linked, and another in its place", `ln big t; echo new > n; mv n big; rm t; ln d/big u; echo new > n; mv n d/big; rm u`, "unlinkat"},
	{"replaced", `echo x > n; mv n big; echo x > n; mv n d/big`, "rename"},
	{"replaced by each other", `mv big d/big; rm d/big`, "rename"},
	{"out of sight, and gone", `mv big d "$TMPDIR"; rm -r "$TMPDIR/big" "$TMPDIR/d"`, "unlinkat"},
	{"a second name out of sight", `ln big "$TMPDIR/second" || ln big second; rm big; rm -f second "$TMPDIR/second"; rm d/big`, "unlinkat"},
	{"a second name", `ln big second; rm big; ln d/big d/second; rm d/big; cp second big; cp d/second d/big`, ""},
	{"moved", `mv big t; mv t big; mv d e; mv e d`, ""},
	{"appended", `echo x >> big; echo x >> d/big`, ""},
	{"made longer", `truncate -s +1 big d/big`, ""},
	{"permissions", `chmod 600 big d/big`, ""},
	{"others", `rm a; echo x > h1; mv h1 b; mkdir n; mv n m; rmdir m; rmdir d || rmdir big || mv -T e big || true`, ""},
	{"its own", `echo x > n; : > n; rm n; echo x > "$TMPDIR/n"; rm "$TMPDIR/n"`, ""},
}

// TestLoss: before a command loses files that its observer did not save, a person is asked once per
// command. After a no, or if nobody can be asked, the files remain.
func TestLoss(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestLossEverywhere")
	if !f.Broker {
		t.Skip("no broker here: " + f.NoBroker)
	}
	for i, w := range lossWays {
		for _, holder := range []*agreeing{nil, {}, {yes: true}} {
			if i > 0 && holder == nil || w.call == "" && holder.yes {
				continue // as after a no
			}
			ws, p := keptPlace(t, sandbox.WorkspaceWrite())
			furnishKept(t, ws, false)
			var observer lossy
			for _, name := range []string{"big", "d/big"} {
				var st unix.Stat_t
				if err := os.WriteFile(filepath.Join(ws, name), []byte("precious\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := unix.Stat(filepath.Join(ws, name), &st); err != nil {
					t.Fatal(err)
				}
				observer.files = append(observer.files, inode{st.Dev, st.Ino})
			}
			who, asked := "nobody", 0
			var h sandbox.Holder
			if holder != nil {
				who, h = map[bool]string{true: "a yes", false: "a no"}[holder.yes], holder
			}
			set := "set +e; "
			if w.call == "" || holder != nil && holder.yes {
				set = ""
			}
			st, out, denials := heldKept(t, b, p, ws, set+w.script, observer, h)
			left := 0
			_ = filepath.WalkDir(filepath.Dir(ws), func(p string, d os.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				if data, _ := os.ReadFile(p); strings.HasPrefix(string(data), "precious\n") {
					left++
				}
				return nil
			})
			if holder != nil {
				asked = len(holder.asked)
			}
			switch {
			case w.call == "":
				if st.Exit != 0 || left < 2 || asked > 0 || len(denials) > 0 {
					t.Errorf("%s, %s: %+v, %d files left, %d questions, %+v\n%s", w.name, who, st, left, asked, denials, out)
				}
			case holder != nil && holder.yes:
				if st.Exit != 0 || left > 0 || asked != 1 || len(denials) > 0 {
					t.Errorf("%s, %s: %+v, %d files left, %d questions, %+v\n%s", w.name, who, st, left, asked, denials, out)
				}
			default:
				d := denials
				if left < 2 || holder != nil && asked != 1 || len(d) == 0 || d[0].Kind != sandbox.KindLoss || !strings.HasPrefix(d[0].Operation, w.call) ||
					d[0].Errno != "EPERM" || d[0].Why != "undo could not bring it back: too large" || d[0].Executable == "" {
					t.Errorf("%s, %s: %+v, %d files left, %d questions, %+v\n%s", w.name, who, st, left, asked, d, out)
				}
			}
		}
	}
}

// TestObjectsElsewhere: the objects of a repository elsewhere belong to others, and undo does not keep
// them. Git's own new files there are the command's to remove.
func TestObjectsElsewhere(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestLossEverywhere")
	if !f.Broker {
		t.Skip("no broker here: " + f.NoBroker)
	}
	ws, p := keptPlace(t, sandbox.WorkspaceWrite())
	objects := filepath.Join(filepath.Dir(ws), "main", ".git", "objects")
	one, pack := filepath.Join(objects, "ab", strings.Repeat("c", 38)), filepath.Join(objects, "pack", "pack-"+strings.Repeat("d", 40)+".pack")
	for _, file := range []string{one, pack} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("precious"), 0o444)); err != nil {
			t.Fatal(err)
		}
	}
	p.Write = append(p.Write, sandbox.Root{Path: objects, Git: true})
	script := `o=../main/.git/objects; echo x > $o/ab/tmp_obj_x; ln $o/ab/tmp_obj_x $o/ab/` + strings.Repeat("e", 38) + `; rm $o/ab/tmp_obj_x; echo x > $o/pack/tmp_pack; rm $o/pack/tmp_pack; echo made; rm -rf $o; true`
	no := &agreeing{}
	_, out, denials := heldKept(t, b, p, ws, script, lossy{}, no)
	if len(no.asked) != 1 || len(denials) == 0 || denials[0].Kind != sandbox.KindLoss || !strings.Contains(out, "made\n") {
		t.Errorf("%d questions, %+v\n%s", len(no.asked), denials, out)
	}
	for _, file := range []string{one, pack} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	yes := &agreeing{yes: true}
	if _, out, denials = heldKept(t, b, p, ws, `rm -rf ../main/.git/objects/??`, lossy{}, yes); len(yes.asked) != 1 || len(denials) > 0 {
		t.Errorf("after a yes: %d questions, %+v\n%s", len(yes.asked), denials, out)
	}
}

// heldKept is runKept with a holder. It returns the denials.
func heldKept(t *testing.T, b *linuxsandbox.Backend, p sandbox.Policy, ws, script string, observer sandbox.ChangeObserver, h sandbox.Holder) (sandbox.Status, string, []sandbox.Denial) {
	t.Helper()
	st, out, trace := sandboxtest.Finish(t, t.Context(), b, p, keptJob(ws, p.Temp, script, observer), h)
	return st, out, trace.Denials
}

// TestLossEverywhere runs both for root and for a user without privileges.
func TestLossEverywhere(t *testing.T) { tests.InSettings(t, "^(TestLoss|TestObjectsElsewhere)$") }
