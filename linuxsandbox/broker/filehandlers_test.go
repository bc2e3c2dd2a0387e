//go:build linux

package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/notify/notifytest"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/umask"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// fileCall is a call on files, and what becomes of it.
type fileCall struct {
	name     string
	nr       uintptr
	one, two string // below the root, or outside of it: "out/..."
	flags    uintptr
	errno    unix.Errno
	held     int // denials in what is held
	made     string
	gone     string
	proceeds bool
}

// TestFileHandlers: opens, entries and moves, each built alone of values, act in the write root, hold a call about a
// file outside and about a protected name, and leave to the kernel what only reads. Bare, what is held is done.
func TestFileHandlers(t *testing.T) {
	protected := protecttest.In("{shell}")
	for _, row := range []fileCall{
		{name: "make", nr: unix.SYS_OPENAT, one: "ws/new", flags: unix.O_CREAT | unix.O_WRONLY, made: "ws/new"},
		{name: "make outside", nr: unix.SYS_OPENAT, one: "out/new", flags: unix.O_CREAT | unix.O_WRONLY, errno: unix.EACCES, held: 1},
		{name: "make a protected one", nr: unix.SYS_OPENAT, one: "ws/" + protected, flags: unix.O_CREAT | unix.O_WRONLY, errno: unix.EACCES, held: 1},
		{name: "read", nr: unix.SYS_OPENAT, one: "ws/file", proceeds: true},
		{name: "read outside", nr: unix.SYS_OPENAT, one: "out/file", proceeds: true},
		{name: "empty outside", nr: unix.SYS_TRUNCATE, one: "out/file", errno: unix.EACCES, held: 1},
		{name: "mkdir", nr: unix.SYS_MKDIRAT, one: "ws/folder", flags: 0o755, made: "ws/folder"},
		{name: "mkdir of what is there", nr: unix.SYS_MKDIRAT, one: "ws/file", flags: 0o755, errno: unix.EEXIST},
		{name: "mkdir outside", nr: unix.SYS_MKDIRAT, one: "out/folder", flags: 0o755, errno: unix.EACCES, held: 1},
		{name: "remove", nr: unix.SYS_UNLINKAT, one: "ws/file", gone: "ws/file"},
		{name: "remove outside", nr: unix.SYS_UNLINKAT, one: "out/file", errno: unix.EACCES, held: 1},
		{name: "rename", nr: unix.SYS_RENAMEAT2, one: "ws/file", two: "ws/moved", made: "ws/moved", gone: "ws/file"},
		{name: "rename out", nr: unix.SYS_RENAMEAT2, one: "ws/file", two: "out/moved", errno: unix.EACCES, held: 1},
		{name: "rename to a protected name", nr: unix.SYS_RENAMEAT2, one: "ws/file", two: "ws/" + protected, errno: unix.EPERM, held: 1},
		{name: "link in", nr: unix.SYS_LINKAT, one: "out/file", two: "ws/link", errno: unix.EXDEV, held: 1},
		{name: "a hook of another's repository", nr: unix.SYS_OPENAT, one: "ws/repo/.git/hooks/pre-commit", flags: unix.O_CREAT | unix.O_WRONLY, errno: unix.EACCES, held: 1},
		{name: "a folder for hooks", nr: unix.SYS_MKDIRAT, one: "ws/repo/.git/hooks/more", flags: 0o755, errno: unix.EPERM, held: 1},
		{name: "remove what marks a repository", nr: unix.SYS_UNLINKAT, one: "ws/repo/.git/HEAD", errno: unix.EPERM, held: 1},
		{name: "move a repository away", nr: unix.SYS_RENAMEAT2, one: "ws/repo", two: "ws/away", errno: unix.EPERM, held: 1},
		{name: "a second name for a hook", nr: unix.SYS_LINKAT, one: "ws/repo/.git/hooks/there", two: "ws/link", errno: unix.EPERM, held: 1},
	} {
		if base := fileTree(t); row.held > 0 {
			args, names := row.args(base)
			value, _, errno := unix.Syscall6(row.nr, args[0], args[1], args[2], args[3], args[4], 0)
			if runtime.KeepAlive(names); errno != 0 {
				t.Errorf("%s: bare %v", row.name, errno)
			} else if row.nr == unix.SYS_OPENAT {
				unix.Close(int(value))
			}
		}
		base, f := fileTree(t), &fake{}
		before := listing(t, base)
		files := fileCallsOf(filepath.Join(base, "ws"), f)
		args, names := row.args(base)
		n, answer := notifytest.Call(t, row.nr, args...)
		c, do := calls.FileOf(int32(row.nr)), f.moves(files)
		switch row.nr {
		case unix.SYS_OPENAT, unix.SYS_TRUNCATE:
			do = f.opens(files)
		case unix.SYS_MKDIRAT, unix.SYS_UNLINKAT:
			do = f.entries(files)
		}
		a := do(n, c)
		got, held := answer(a), 0
		runtime.KeepAlive(names)
		files.walk.(*pathwalk.Walker).Close()
		for _, r := range f.held {
			held += len(r.denials)
		}
		if got.Errno != row.errno || held != row.held || a.Proceeds() != row.proceeds {
			t.Errorf("%s: %v, %+v, held %+v", row.name, got.Errno, a, f.held)
		}
		if row.nr == unix.SYS_OPENAT && got.Errno == 0 {
			unix.Close(int(got.Value))
		}
		if row.made != "" && !judge.Exists(filepath.Join(base, row.made)) || row.gone != "" && judge.Exists(filepath.Join(base, row.gone)) {
			t.Errorf("%s: not done", row.name)
		}
		if after := listing(t, base); row.held > 0 && !slices.Equal(before, after) {
			t.Errorf("%s: done although it is held: %q", row.name, after)
		}
	}
}

// args are those of the call, and the names in them.
func (c *fileCall) args(base string) (args []uintptr, names [][]byte) {
	const at = ^uintptr(99) // AT_FDCWD
	name := func(path string) uintptr {
		text := append([]byte(filepath.Join(base, path)), 0)
		names = append(names, text)
		return uintptr(unsafe.Pointer(&text[0]))
	}
	switch {
	case c.two != "":
		args = []uintptr{at, name(c.one), at, name(c.two), c.flags}
	case c.nr == unix.SYS_TRUNCATE:
		args = []uintptr{name(c.one), 0, 0, 0, 0}
	default:
		args = []uintptr{at, name(c.one), c.flags, 0o600, 0}
	}
	return args, names
}

// fileTree is a folder with a write root and another folder, and in the root a repository that somebody else made.
func fileTree(t *testing.T) string {
	base := t.TempDir()
	for _, dir := range []string{"out", "ws/repo/.git/hooks", "ws/repo/.git/objects", "ws/repo/.git/refs"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"out/file", "ws/file", "ws/repo/.git/HEAD", "ws/repo/.git/hooks/there"} {
		if err := os.WriteFile(filepath.Join(base, file), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

// listing is what is below base, with sizes.
func listing(t *testing.T, base string) (all []string) {
	err := filepath.Walk(base, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			all = append(all, fmt.Sprint(path, info.Mode(), info.Size()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fileCallsOf is for handlers that have a judge for one write root, a walk, and f for the rest.
func fileCallsOf(ws string, f *fake) *fileCalls {
	p := sandboxtest.Resolved(sandbox.WorkspaceWrite(ws))
	walk, files := new(pathwalk.Walker), new(judge.Files)
	j, _ := judge.New(judge.Options{Policy: p, Protection: judge.PlanProtection(p, []string{ws}, nil), Files: files, Walk: walk, Sees: f.Sees, Seal: seal})
	still, deny := files.Lock(), &denials{judge: j, rights: f.rights(0), walk: walk, log: f, hold: f.hold}
	return &fileCalls{
		rules: notify.RulesOf(&spec.Spec{Ask: true}), walk: walk, judge: j, observer: &observer{judge: j, walk: walk, still: still}, still: still,
		deny: deny, losses: &losses{judge: j, refuse: deny.refuse}, masks: new(umask.Masks), fresh: new(freshFile),
	}
}

// fileHandler answers a call on files.
type fileHandler func(n *notify.Notification, c *calls.File) notify.Reply

func (f *fake) opens(files *fileCalls) fileHandler {
	read := &reads{rules: files.rules, judge: files.judge, rights: f.rights(0), deny: files.deny}
	h := &opens{fileCalls: files, links: &gitlinks{judge: files.judge, log: f, still: files.still}, terms: terminalsOf(f), reads: read}
	return func(n *notify.Notification, c *calls.File) notify.Reply {
		if c.Kind == calls.Truncate {
			return h.truncate(n, c)
		}
		return h.openFile(n, c)
	}
}

func (f *fake) entries(files *fileCalls) fileHandler { return (&entries{files, f}).entry }

func (f *fake) moves(files *fileCalls) fileHandler {
	h := &moves{fileCalls: files}
	return func(n *notify.Notification, c *calls.File) notify.Reply {
		if c.Kind == calls.Link {
			return h.link(n, c)
		}
		return h.rename(n, c)
	}
}
