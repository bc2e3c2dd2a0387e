//go:build linux

package broker

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/notify/notifytest"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/terminal"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// fake stands for the walk, the judge, the log and the observer of a handler, and for whoever holds its
// denied calls.
type fake struct {
	path    string          // of every file
	open    error           // instead of opening it
	closed  map[string]bool // what the judge denies
	why     string          // it cannot be restored
	lossy   bool            // a person allows losses
	above   bool
	hidden  string
	denials []sandbox.Denial
	held    []refusal
	reports int
}

func (f *fake) Record(_ *notify.Notification, d sandbox.Denial) { f.denials = append(f.denials, d) }
func (f *fake) Sees() bool                                      { return true }
func (f *fake) Exit(*notify.Notification)                       {}
func (f *fake) Supersede(string)                                {}

func (f *fake) Open(pathwalk.Caller, pathwalk.Name) (int, error) {
	if f.open != nil {
		return -1, f.open
	}
	return unix.Open(f.path, unix.O_PATH|unix.O_CLOEXEC, 0)
}
func (f *fake) Look(pathwalk.Caller) error                   { return f.open }
func (f *fake) PolicyPath(int) string                        { return f.path }
func (f *fake) AsHost(fd int, _ string) int                  { return fd }
func (f *fake) Hidden(pathwalk.Caller, pathwalk.Name) string { return f.hidden }
func (f *fake) InMemory(path string) string                  { return path }
func (f *fake) GrantedAt(string) bool                        { return false }
func (f *fake) AboveOwn(string) bool                         { return f.above }
func (f *fake) Longest() int64                               { return 100 }
func (f *fake) AllowsLoss() bool                             { return f.lossy }
func (f *fake) OfRepository(path string) bool                { return strings.HasPrefix(path, "/objects/") }
func (f *fake) Observes(path string) bool                    { return !strings.HasPrefix(path, "/tmp/x/") }
func (f *fake) Unsaved(int, string, string) string           { return f.why }
func (f *fake) BeforeChange(int, string, string)             {}
func (f *fake) note(string)                                  {}
func (f *fake) Shut(_ sandbox.DenialKind, path string) bool  { return f.closed[path] }
func (f *fake) Denial(path string) *sandbox.Denial {
	return &sandbox.Denial{Kind: sandbox.KindWrite, Target: path}
}
func (f *fake) Unremovable(pathwalk.Spot, *unix.Stat_t, bool) unix.Errno { return 0 }

func (f *fake) RefusesMetadata(_ *notify.Notification, _ int, path string, _ *unix.Stat_t) *sandbox.Denial {
	if f.closed[path] {
		return &sandbox.Denial{Kind: sandbox.KindMetadata, Target: path}
	}
	return nil
}

func (f *fake) beforeMetadata(*notify.Notification, *calls.Change, int, string) (a notify.Reply, first bool) {
	f.reports++
	return notify.Reply{}, false
}

func (f *fake) RefusesSocket(_ *notify.Notification, path string) *sandbox.Denial {
	return f.RefusesMetadata(nil, -1, path, nil)
}
func (f *fake) Changed(...string) {}

func (f *fake) beforeEntries(...pathwalk.Spot) (a notify.Reply, first bool) {
	f.reports++
	return notify.Reply{}, false
}

// hold denies.
func (f *fake) hold(_ *notify.Notification, r refusal) notify.Reply {
	f.held = append(f.held, r)
	return notify.Failed(r.errno)
}

func (f *fake) deny(caps uint64) *denials {
	return &denials{judge: f, rights: f.rights(caps), walk: f, log: f, hold: f.hold}
}

func (f *fake) rights(dropped uint64) *rights { return &rights{dropped: dropped, log: f} }

func (f *fake) DeviceOf(pathwalk.Caller, string) (uint64, error) { return 0, unix.ENOENT }

func terminalsOf(f *fake) *terminal.Terminals {
	return terminal.New(terminal.Options{MayWrite: func(string) bool { return false }, Walk: f, Log: f})
}

// newFake is one whose file exists.
func newFake(t *testing.T) *fake {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &fake{path: path, closed: map[string]bool{}}
}

// TestMetadata: metadata of an allowed file changes after a report; of another one it stays, and the call is
// held with the file that it names.
func TestMetadata(t *testing.T) {
	for _, row := range []struct {
		name    string
		prepare func(f *fake)
		errno   unix.Errno
		held    int
		denials int
	}{
		{"allowed", func(*fake) {}, 0, 0, 0},
		{"denied", func(f *fake) { f.closed[f.path] = true }, unix.EPERM, 1, 0},
		{"above codeagent's files", func(f *fake) { f.above = true }, unix.EPERM, 1, 0},
		{"missing", func(f *fake) { f.open = unix.ENOENT }, unix.ENOENT, 0, 0},
		{"hidden by a mount", func(f *fake) { f.open, f.hidden, f.closed["/host"] = unix.ENOENT, "/host", true }, unix.ENOENT, 0, 1},
		{"cannot be examined", func(f *fake) { f.open = unix.EPERM }, notify.RefusedBlind, 0, 1},
		{"no search permission", func(f *fake) { f.open = unix.EACCES }, unix.EACCES, 1, 0},
	} {
		f := newFake(t)
		row.prepare(f)
		h := &metadata{walk: f, judge: f, rights: f.rights(0), observer: f, fresh: new(freshFile), deny: f.deny(0), still: new(sync.Mutex)}
		name := append([]byte(f.path), 0)
		const mode = 0o777
		n, answer := notifytest.Call(t, unix.SYS_FCHMODAT, ^uintptr(99), uintptr(unsafe.Pointer(&name[0])), mode)
		a := h.change(n, calls.MetadataOf(unix.SYS_FCHMODAT))
		var st unix.Stat_t
		if err := unix.Stat(f.path, &st); err != nil {
			t.Fatal(err)
		}
		if got := answer(a); got.Errno != row.errno || len(f.held) != row.held || len(f.denials) != row.denials || (st.Mode&mode == mode) != (row.errno == 0) || f.reports > 1 {
			t.Errorf("%s: %v, held %+v, recorded %+v, mode %o", row.name, got.Errno, f.held, f.denials, st.Mode)
		}
		if row.held > 0 && (len(f.held[0].pins) != 1 || f.held[0].pins[0].path != f.path) {
			t.Errorf("%s: held about %+v", row.name, f.held[0].pins)
		}
	}
	f := newFake(t)
	name := append([]byte(f.path), 0)
	h := &metadata{walk: f, judge: f, rights: f.rights(0), observer: f, fresh: new(freshFile), deny: f.deny(0), still: new(sync.Mutex)}
	gone := &notify.Notification{TID: uint32(os.Getpid()), NR: unix.SYS_FCHMODAT, Args: [6]uint64{^uint64(99), uint64(uintptr(unsafe.Pointer(&name[0]))), 0o777}}
	if a := h.change(gone, calls.MetadataOf(unix.SYS_FCHMODAT)); a.Errno == 0 || f.reports > 0 {
		t.Errorf("a caller that is gone: %+v", a)
	}
}

// TestDescriptors: a file that the command may not change is locked by no descriptor of it, and not emptied
// where undo has not kept it.
func TestDescriptors(t *testing.T) {
	for _, row := range []struct {
		name    string
		nr, arg uintptr
		prepare func(f *fake)
		errno   unix.Errno
		held    int
		locked  bool
		size    int64
	}{
		{"lock", unix.SYS_FLOCK, unix.LOCK_EX, func(*fake) {}, 0, 0, true, 4},
		{"lock what is closed", unix.SYS_FLOCK, unix.LOCK_EX, func(f *fake) { f.closed[f.path] = true }, refusedLock, 1, false, 4},
		{"share what is closed", unix.SYS_FLOCK, unix.LOCK_SH, func(f *fake) { f.closed[f.path] = true }, 0, 0, false, 4},
		{"unlock what is closed", unix.SYS_FLOCK, unix.LOCK_UN, func(f *fake) { f.closed[f.path] = true }, 0, 0, false, 4},
		{"no such lock", unix.SYS_FLOCK, 1 << 9, func(*fake) {}, unix.EINVAL, 0, false, 4},
		{"shorten", unix.SYS_FTRUNCATE, 1, func(*fake) {}, 0, 0, false, 1},
		{"shorten what is not kept", unix.SYS_FTRUNCATE, 1, func(f *fake) { f.why = "too large" }, unix.EPERM, 1, false, 4},
		{"where it is allowed", unix.SYS_FTRUNCATE, 1, func(f *fake) { f.why, f.lossy = "too large", true }, 0, 0, false, 1},
		{"lengthen it", unix.SYS_FTRUNCATE, 50, func(f *fake) { f.why = "too large" }, 0, 0, false, 50},
		{"beyond the limit", unix.SYS_FTRUNCATE, 101, func(*fake) {}, unix.EFBIG, 0, false, 4},
	} {
		f := newFake(t)
		row.prepare(f)
		file, err := os.OpenFile(f.path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		refuse := f.deny(0).refuse
		h := &descriptors{
			walk: f, judge: f, losses: &losses{to: f, judge: f, refuse: refuse}, still: new(sync.Mutex), waiting: new(waitingCalls), log: f, refuse: refuse,
		}
		n, answer := notifytest.Call(t, row.nr, file.Fd(), row.arg)
		do := h.lock
		if row.nr == unix.SYS_FTRUNCATE {
			do = h.shorten
		}
		if got := answer(do(n)); got.Errno != row.errno || len(f.held) != row.held {
			t.Errorf("%s: %v, held %+v, recorded %+v", row.name, got.Errno, f.held, f.denials)
		}
		other, err := os.Open(f.path)
		if err != nil {
			t.Fatal(err)
		}
		if locked := flockNow(int(other.Fd()), unix.LOCK_EX) != nil; locked != row.locked {
			t.Errorf("%s: locked %v", row.name, locked)
		}
		if st, err := file.Stat(); err != nil || st.Size() != row.size {
			t.Errorf("%s: %v, %v", row.name, st.Size(), err)
		}
		file.Close()
		other.Close()
	}
}

// TestLosses: a call that undo could not take back is held, and only such a one.
func TestLosses(t *testing.T) {
	full := unix.Stat_t{Mode: unix.S_IFREG, Size: 1, Nlink: 1}
	object := "/objects/" + strings.Repeat("a", 38)
	for _, row := range []struct {
		name  string
		path  string
		why   string
		lossy bool
		st    unix.Stat_t
		held  bool
	}{
		{"kept", "/w/a", "", false, full, false},
		{"not kept", "/w/a", "too large", false, full, true},
		{"allowed", "/w/a", "too large", true, full, false},
		{"empty", "/w/a", "too large", false, unix.Stat_t{Mode: unix.S_IFREG, Nlink: 1}, false},
		{"a link", "/w/a", "too large", false, unix.Stat_t{Mode: unix.S_IFLNK, Size: 1, Nlink: 1}, false},
		{"one of its names", "/w/a", "too large", false, unix.Stat_t{Mode: unix.S_IFREG, Size: 1, Nlink: 2}, false},
		{"temporary", "/tmp/x/a", "too large", false, full, false},
		{"an object elsewhere", object, "", false, full, true},
		{"what git still writes there", "/objects/tmp_obj_1", "", false, full, false},
	} {
		f := &fake{why: row.why, lossy: row.lossy}
		h := &losses{to: f, judge: f, refuse: f.deny(0).refuse}
		s := pathwalk.Spot{Dir: -1, Path: filepath.Dir(row.path), Last: filepath.Base(row.path)}
		a, stops := h.losingEntry(&notify.Notification{}, "unlink", s, &row.st)
		if stops != row.held || (len(f.held) == 1) != row.held || stops && (a.Errno != unix.EPERM || f.held[0].denials[0].Kind != sandbox.KindLoss) {
			t.Errorf("%s: %+v, %v, %+v", row.name, a, stops, f.held)
		}
		if out := h.takesOut(-1, s.Last, row.path, "/tmp/x/b"); out != (h.unsaved(-1, s.Last, row.path) != "") {
			t.Errorf("%s: moved out %v", row.name, out)
		}
	}
}

// TestDenials: an error that the kernel gives before it looks at rights comes before the denial, and so does
// what the user may not do anyway.
func TestDenials(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := os.WriteFile(filepath.Join(dir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spot := func(name string) pathwalk.Spot { return pathwalk.Spot{Dir: fd, Path: dir, Last: name} }
	move := func(from, to string) func(h *denials) notify.Reply {
		return func(h *denials) notify.Reply {
			return h.refuseMove(&notify.Notification{}, &calls.File{Name: "rename"}, &moveCall{Move: judge.Move{From: spot(from), To: spot(to)}, fromWhose: judge.Nobodys, toWhose: judge.Nobodys})
		}
	}
	for _, row := range []struct {
		name    string
		do      func(h *denials) notify.Reply
		dropped uint64
		errno   unix.Errno
		held    int // denials in the one that is held
		denials int
	}{
		{"a new entry", func(h *denials) notify.Reply {
			return h.refuseNew(&notify.Notification{}, "mkdir", spot("new"), false, lack{})
		}, 0, unix.EACCES, 1, 0},
		{"which the user lacks a right for", func(h *denials) notify.Reply {
			return h.refuseNew(&notify.Notification{}, "mknod", spot("new"), false, lack{errno: unix.EPERM, caps: 1 << unix.CAP_MKNOD})
		}, 0, unix.EPERM, 1, 0},
		{"a move of nothing", move("none", "there"), 0, unix.ENOENT, 0, 0},
		{"a move", move("there", "new"), 0, unix.EACCES, 2, 0},
		{"made in vain", func(h *denials) notify.Reply { return h.performed(&notify.Notification{}, "chown", "/w/a", unix.EPERM) }, rootsCaps, unix.EPERM, 0, 1},
		{"by a user", func(h *denials) notify.Reply { return h.performed(&notify.Notification{}, "chown", "/w/a", unix.EPERM) }, 0, unix.EPERM, 0, 0},
		{"unread", func(h *denials) notify.Reply {
			return notify.Failed(h.unread(&notify.Notification{}, "open", sandbox.KindWrite, unix.ESRCH))
		}, 0, notify.RefusedBlind, 0, 1},
		{"not found", func(h *denials) notify.Reply {
			return notify.Failed(h.unread(&notify.Notification{}, "open", sandbox.KindWrite, unix.ENOENT))
		}, 0, unix.ENOENT, 0, 0},
	} {
		f := &fake{}
		a := row.do(f.deny(row.dropped))
		held := 0
		if len(f.held) == 1 {
			held = len(f.held[0].denials)
		}
		if a.Errno != row.errno || a.Proceeds() || held != row.held || len(f.denials) != row.denials {
			t.Errorf("%s: %+v, held %+v, recorded %+v", row.name, a, f.held, f.denials)
		}
		if row.name == "which the user lacks a right for" && !f.held[0].denials[0].Moot {
			t.Errorf("%s: %+v", row.name, f.held[0].denials[0])
		}
	}
}

// TestSocketFiles: the file of a socket is made where the judge allows it, after a report.
func TestSocketFiles(t *testing.T) {
	for _, row := range []struct {
		name    string
		path    string
		prepare func(f *fake)
		errno   unix.Errno
		bound   bool
	}{
		{"allowed", "s", func(*fake) {}, 0, true},
		{"denied", "s", func(f *fake) { f.closed[f.path+"/s"] = true }, unix.EPERM, false},
		{"one too many", "full", func(*fake) {}, unix.ENOSPC, false},
		{"a folder", "s/", func(*fake) {}, unix.ENOENT, false},
		{"a folder's own name", ".", func(*fake) {}, unix.EADDRINUSE, false},
		{"missing", "s", func(f *fake) { f.open = unix.ENOENT }, unix.ENOENT, false},
		{"cannot be examined", "s", func(f *fake) { f.open = unix.EPERM }, notify.RefusedBlind, false},
	} {
		f := &fake{path: t.TempDir(), closed: map[string]bool{}}
		row.prepare(f)
		walk := &spots{f}
		h := &socketFiles{walk: walk, judge: f, observer: f, still: new(sync.Mutex), deny: f.deny(0), full: func() bool { return row.path == "full" }}
		n, answer := notifytest.Call(t, unix.SYS_BIND, 0, 0, 0)
		bound := false
		a := h.make(n, row.path, func(at pathwalk.Spot, _, _ uint32) unix.Errno {
			bound = at.Full() == f.path+"/s" && f.reports == 1
			return 0
		})
		if got := answer(a); got.Errno != row.errno || bound != row.bound {
			t.Errorf("%s: %v, bound %v", row.name, got.Errno, bound)
		}
	}
}

// spots is a fake walk that finds entries.
type spots struct{ *fake }

func (s *spots) SpotIn(dir int, last string, _ bool) pathwalk.Spot {
	return pathwalk.Spot{Dir: dir, Path: s.path, Last: last}
}

// TestHandlersReach: no handler has the broker, nor what other handlers are made of beside itself: the fields
// of its type, and of those in this package that they are made of, lead to none of the types that own it.
func TestHandlersReach(t *testing.T) {
	owners := []reflect.Type{reflect.TypeFor[Broker](), reflect.TypeFor[handlers](), reflect.TypeFor[holding](), reflect.TypeFor[Options](), reflect.TypeFor[judge.Law]()}
	all := reflect.TypeFor[handlers]()
	for i := range all.NumField() {
		seen := map[reflect.Type]bool{}
		if path := leads(all.Field(i).Type, owners, seen); path != "" {
			t.Errorf("handlers.%s%s", all.Field(i).Name, path)
		}
	}
	for _, planted := range []reflect.Type{
		reflect.TypeFor[*struct{ Deep struct{ All []*Broker } }](), reflect.TypeFor[struct{ *handlers }](), reflect.TypeFor[struct{ Held map[int]*holding }](),
		reflect.TypeFor[struct {
			*fileCalls
			law chan judge.Law
		}](),
	} {
		if leads(planted, owners, map[reflect.Type]bool{}) == "" {
			t.Errorf("a planted way is not found: %v", planted)
		}
	}
}

// leads returns the fields that lead from a type to one of the owners, "" for none.
func leads(from reflect.Type, owners []reflect.Type, seen map[reflect.Type]bool) string {
	for _, owner := range owners {
		if from == owner {
			return " is " + owner.Name()
		}
	}
	if seen[from] {
		return ""
	}
	seen[from] = true
	switch from.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan, reflect.Map:
		return leads(from.Elem(), owners, seen)
	case reflect.Struct:
		for i := range from.NumField() {
			if path := leads(from.Field(i).Type, owners, seen); path != "" {
				return "." + from.Field(i).Name + path
			}
		}
	}
	return ""
}
