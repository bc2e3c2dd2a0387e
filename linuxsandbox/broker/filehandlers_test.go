//go:build linux

package broker

import (
	"os"
	"path/filepath"
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

// TestFileHandlers: opens, entries, moves and reads, each built without a broker, act in the write root, hold a
// call about a file outside and about a protected name, and leave to the kernel what only reads.
func TestFileHandlers(t *testing.T) {
	const at = ^uintptr(99) // AT_FDCWD
	protected := protecttest.In("{shell}")
	for _, row := range []struct {
		name     string
		nr       uintptr
		one, two string // below the root, or outside of it: "out/..."
		flags    uintptr
		errno    unix.Errno
		held     int // denials in what is held
		made     string
		gone     string
		proceeds bool
	}{
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
	} {
		base := t.TempDir()
		for _, dir := range []string{"ws", "out"} {
			err := os.Mkdir(filepath.Join(base, dir), 0o755)
			if err == nil {
				err = os.WriteFile(filepath.Join(base, dir, "file"), []byte("text"), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		f := &fake{}
		call := fileHandlersOf(filepath.Join(base, "ws"), f)
		name := func(path string) uintptr {
			text := append([]byte(filepath.Join(base, path)), 0)
			return uintptr(unsafe.Pointer(&text[0]))
		}
		args := []uintptr{at, name(row.one), row.flags, 0o600}
		switch {
		case row.two != "":
			args = []uintptr{at, name(row.one), at, name(row.two), row.flags}
		case row.nr == unix.SYS_TRUNCATE:
			args = []uintptr{name(row.one), 0}
		}
		n, answer := notifytest.Call(t, row.nr, args...)
		a := call(n, calls.FileOf(int32(row.nr)))
		got, held := answer(a), 0
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
		if row.held > 0 && (!judge.Exists(base+"/ws/file") || !judge.Exists(base+"/out/file") || judge.Exists(base+"/out/new") || judge.Exists(base+"/out/moved")) {
			t.Errorf("%s: done although it is held", row.name)
		}
	}
}

// fileHandlersOf returns what answers calls on files by handlers that have a judge for one write root, a walk, and f
// for the rest.
func fileHandlersOf(ws string, f *fake) func(n *notify.Notification, c *calls.File) notify.Reply {
	p := sandboxtest.Resolved(sandbox.WorkspaceWrite(ws))
	walk, fresh, files := new(pathwalk.Walker), new(freshFile), new(judge.Files)
	j, _ := judge.New(judge.Options{Policy: p, Protection: judge.PlanProtection(p, []string{ws}, nil), Files: files, Walk: walk, Sees: f.Sees, Seal: seal})
	rules, still, masks := notify.RulesOf(&spec.Spec{Ask: true}), files.Lock(), new(umask.Masks)
	deny := &denials{judge: j, rights: f.rights(0), walk: walk, log: f, hold: f.hold}
	loss := &losses{judge: j, refuse: deny.refuse}
	watch := &observer{judge: j, walk: walk, still: still}
	read := &reads{rules: rules, walk: walk, judge: j, rights: f.rights(0), deny: deny}
	common := &fileCalls{rules: rules, walk: walk, judge: j, observer: watch, still: still, deny: deny, losses: loss, masks: masks, fresh: fresh}
	open := &opens{fileCalls: common, links: &gitlinks{judge: j, log: f, still: still}, tracked: &trackedFiles{judge: j, log: f, walk: walk, still: still}, terms: terminalsOf(f), reads: read}
	h := &handlers{
		opens: open, reads: read, judge: j, log: f, rules: rules,
		entries: &entries{fileCalls: common, log: f},
		moves:   &moves{common},
	}
	return func(n *notify.Notification, c *calls.File) notify.Reply {
		defer walk.Close()
		return h.changeFile(n, c)
	}
}
