//go:build linux

package escapes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/broker/calls"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// A hostile caller makes notified calls with random arguments from its deal: paths outside,
// protected paths, descriptors of both, bad pointers, and memory that another thread changes
// meanwhile. The broker cannot examine it, or its threads and processes end in the middle of calls.
// Whatever it does, nothing outside and nothing protected may change.

// hostileName is the argv[0] of such a caller. Its arguments are its kind, the folders of its
// workspace and outside, and the file with its deal.
const hostileName = "escape-hostile"

// hostileKinds are the kinds of callers. "run" can be examined. "killed" are several, each killed
// in the middle of its deal.
var hostileKinds = []string{"run", "blind", "dumpable", "killed"}

// hostileStep is the number of bytes of the deal that one call uses.
const hostileStep = 8

// TestHostileCallers runs TestHostileCallerInSetting in every setting.
func TestHostileCallers(t *testing.T) { tests.InSettings(t, "^TestHostileCallerInSetting$") }

func TestHostileCallerInSetting(t *testing.T) {
	b, _ := backendInSetting(t, "TestHostileCallers")
	seed := uint64(1)
	if !machine.Thorough() {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	for _, kind := range hostileKinds {
		r := rand.New(rand.NewPCG(seed, 0))
		deal := make([]byte, 1500*hostileStep)
		for i := range deal {
			deal[i] = byte(r.Uint32())
		}
		if bare := hostilePlay(t, nil, kind, deal); bare == "" {
			t.Errorf("%s, seed %d: without a sandbox nothing is changed", kind, seed)
		}
		if changed := hostilePlay(t, b, kind, deal); changed != "" {
			t.Errorf("%s, seed %d: ESCAPE\n%s", kind, seed, changed)
		}
	}
}

// FuzzHostileCaller does the same with deals from a fuzzer.
func FuzzHostileCaller(f *testing.F) {
	f.Add(byte(0), []byte("\x00\x01\x02\x03\x04\x05\x06\x07"))
	f.Add(byte(1), []byte("\x10\x21\x32\x43\x54\x65\x76\x87\x98"))
	b, err := linuxsandbox.New(linuxsandbox.Options{Helper: tests.Helper(f)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { b.Close() })
	f.Fuzz(func(t *testing.T, kind byte, deal []byte) {
		if len(deal) > 4000 {
			return
		}
		if changed := hostilePlay(t, b, hostileKinds[int(kind)%len(hostileKinds)], deal); changed != "" {
			t.Error(changed)
		}
	})
}

// hostilePlay runs a caller in the sandbox of b, or without one, and returns the forbidden changes
// that it made.
func hostilePlay(t *testing.T, b *linuxsandbox.Backend, kind string, deal []byte) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "hostile")
	if err != nil {
		t.Fatal(err)
	}
	defer attack.RemoveAll(dir)
	in, out, program := filepath.Join(dir, "ins"), filepath.Join(dir, "out"), filepath.Join(dir, "deal")
	furnishTemp(t, in, filepath.Join(dir, "temp"))
	furnishTemp(t, out, filepath.Join(dir, "temp"))
	if err := errors.Join(os.Symlink("../out", in+"/l"), os.WriteFile(program, deal, 0o644), unix.Setxattr(out+"/mine", "user.kept", []byte("x"), 0)); err != nil {
		t.Fatal(err)
	}
	look := func() string {
		// The caller may make its own folders inaccessible.
		for _, own := range []string{in, in + "/sub", in + "/sub/.git"} {
			_ = os.Chmod(own, 0o755)
		}
		var text strings.Builder
		for _, path := range []string{out, in + protecttest.In("/{shell}"), in + protecttest.In("/{agent2}"), in + "/sub/.git/hooks", in + "/sub/.git/config"} {
			attack.Describe(&text, path)
		}
		return text.String() + flagsOf(out+"/mine") + ownerOf(t, os.DevNull)
	}
	before := look()
	// The caller changes the mode of its open files, which must not include the machine's
	// /dev/null.
	stdin, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	end.Close()
	defer stdin.Close()
	args := []string{hostileName, kind, in, out, program}
	var said []byte
	if b == nil {
		bare := exec.Command(os.Args[0])
		bare.Args, bare.Dir, bare.Stdin = args, in, stdin
		said, err = bare.CombinedOutput()
	} else {
		p := sandbox.WorkspaceWrite(in)
		p.Temp = filepath.Join(dir, "temp")
		st, text := sandboxtest.Output(t, b, p, sandbox.Command{Path: os.Args[0], Args: args, Dir: in, Stdin: stdin, Env: []string{"PATH=/usr/bin:/bin"}})
		said = []byte(text)
		if st.Exit != 0 {
			err = fmt.Errorf("%+v", st)
		}
	}
	if after := look(); after != before {
		return fmt.Sprintf("before %s\nafter %s\n%v %s", before, after, err, said)
	}
	if err != nil || !strings.HasSuffix(string(said), "played\n") {
		t.Errorf("%s: %v %s", kind, err, said)
	}
	return ""
}

// ownerOf is the mode and the owner of a device.
func ownerOf(t *testing.T, path string) string {
	st := attack.Stat(t, path)
	return fmt.Sprintf("%o %d:%d", st.Mode, st.Uid, st.Gid)
}

// flagsOf are the flags that chattr(1) sets.
func flagsOf(path string) string {
	text := "no flags"
	_ = withFD(path, unix.O_RDONLY, func(fd int) error {
		flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
		text = fmt.Sprint(flags, err)
		return nil
	})
	return text
}

// hostileVictim takes over the process if it was started as such a caller.
func hostileVictim() {
	if filepath.Base(os.Args[0]) != hostileName {
		return
	}
	kind, in, program := os.Args[1], os.Args[2], os.Args[4]
	again := func(path, kind string) *exec.Cmd {
		return &exec.Cmd{Path: path, Args: []string{hostileName, kind, in, os.Args[3], program}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	}
	var err error
	switch kind {
	case "blind":
		if err = copyProgram(in + "/blind"); err == nil {
			err = again(in+"/blind", "run").Run()
			_ = os.Remove(in + "/blind")
		}
	case "killed":
		var deal os.FileInfo
		deal, err = os.Stat(program)
		for i := 8; i > 0 && err == nil; i-- {
			_ = os.Chmod(in, 0o755)
			err = killAfter(again("/proc/self/exe", "counted"), max(1, int(deal.Size()/hostileStep)>>i))
		}
		fmt.Println("played")
	default:
		if kind == "dumpable" {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		}
		if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); filepath.Base(self()) == "blind" && (err != nil || dumpable == 1) && !attack.HasCapabilities() {
			fmt.Println("it can be looked at")
			syscall.Exit(2)
		}
		var deal []byte
		if deal, err = os.ReadFile(program); err == nil {
			made := func() {}
			if kind == "counted" {
				made = func() { _, _ = os.Stdout.Write([]byte{'.'}) }
			}
			newHostile(in, os.Args[3]).play(deal, made)
			fmt.Println("played")
		}
	}
	if err != nil {
		fmt.Println(err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

// killAfter starts a counted caller and kills it after count calls. It returns an error if the
// caller ended early, unless it had played its whole deal.
func killAfter(cmd *exec.Cmd, count int) error {
	cmd.Stdout = nil
	counter, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	_, _ = io.ReadFull(counter, make([]byte, count))
	_ = cmd.Process.Kill()
	err = cmd.Wait()
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() && st.Signal() == syscall.SIGKILL {
		return nil
	}
	return err
}

// self is the file from which this program was executed.
func self() string {
	path, _ := os.Readlink("/proc/self/exe")
	return path
}

// hostile holds the values from which the arguments of calls are chosen.
type hostile struct {
	paths, values []uintptr
	fds           []int
	keep          [][]byte
}

func newHostile(in, out string) *hostile {
	h := &hostile{values: []uintptr{0, 1, 2, 0o777, 0o4755, 0o600, unix.AT_EMPTY_PATH, unix.AT_SYMLINK_NOFOLLOW, unix.AT_SYMLINK_FOLLOW, unix.AT_REMOVEDIR,
		unix.O_WRONLY | unix.O_CREAT, unix.O_RDWR | unix.O_TRUNC, unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL, unix.O_TMPFILE | unix.O_RDWR,
		24, 16, ^uintptr(0), uintptr(os.Getuid()), 4711, 1, 4096, ^uintptr(0) - 4096}}
	for i, name := range []string{"mine", protecttest.In("{shell}"), protecttest.In("{agent2}"), "sub", "sub/.git", "sub/.git/hooks/sample", "sub/.git/hooks/new", "other", "other/x", "new", "", "conf/key"} {
		for _, dir := range []string{in, out, in + "/l", "/proc/self/root" + out, "/proc/thread-self/cwd/../out", "/dev/fd/3/..", "../out"} {
			h.paths = append(h.paths, h.memory([]byte(dir+"/"+name+"\x00")))
		}
		if i%4 != 0 {
			continue // leave a processor free
		}
		// Both have the same length: another thread changes one into the other.
		one, two := []byte(in+"/"+name+"\x00"), []byte(out+"/"+name+"\x00")
		turning := h.room(one)
		h.paths = append(h.paths, uintptr(unsafe.Pointer(&turning[0])))
		go func() {
			runtime.LockOSThread()
			for {
				copy(turning, two)
				copy(turning, one)
				runtime.Gosched()
			}
		}()
	}
	times := make([]byte, 32)
	times[0], times[16] = 9, 9
	how := make([]byte, 24)
	binary.NativeEndian.PutUint64(how, unix.O_WRONLY|unix.O_CREAT)
	binary.NativeEndian.PutUint64(how[8:], 0o4755)
	attribute := h.memory([]byte("user.planted\x00"))
	at := make([]byte, 16)
	binary.NativeEndian.PutUint64(at, uint64(attribute))
	at[8] = 4
	address := append([]byte{unix.AF_UNIX, 0}, out+"/sock\x00"...)
	for _, m := range [][]byte{times, how, at, address, make([]byte, 256)} {
		h.values = append(h.values, h.memory(m))
	}
	h.values = append(h.values, attribute, uintptr(len(address)))
	for _, path := range []string{out, out + "/mine", out + "/sub", in, in + "/mine", in + "/sub/.git/hooks", in + protecttest.In("/{shell}")} {
		for _, flags := range []int{unix.O_RDONLY, unix.O_PATH} {
			if fd, err := unix.Open(path, flags, 0); err == nil {
				h.fds = append(h.fds, fd)
			}
		}
	}
	if sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		h.fds = append(h.fds, sock)
	}
	h.fds = append(h.fds, unix.AT_FDCWD, unix.AT_FDCWD, -1, 999)
	return h
}

// memory is the address of a copy of b.
func (h *hostile) memory(b []byte) uintptr { return uintptr(unsafe.Pointer(&h.room(b)[0])) }

// room is a copy of b at a fixed address, with space behind it for what the kernel writes.
func (h *hostile) room(b []byte) []byte {
	m := make([]byte, len(b)+512)
	copy(m, b)
	h.keep = append(h.keep, m)
	return m[:len(b)]
}

// play makes a call for each step of the deal, some on threads that end afterwards. It reports each
// call.
func (h *hostile) play(deal []byte, made func()) {
	var wg sync.WaitGroup
	for i := 0; i+hostileStep <= len(deal); i += hostileStep {
		step := deal[i : i+hostileStep]
		if step[7]%32 == 0 {
			wg.Go(func() {
				runtime.LockOSThread() // for good: the thread ends
				h.call(step)
				made()
			})
			continue
		}
		h.call(step)
		made()
	}
	wg.Wait()
	runtime.KeepAlive(h.keep)
}

// call makes one call.
func (h *hostile) call(step []byte) {
	var args [6]uintptr
	for i := range args {
		args[i] = h.values[int(step[1+i])%len(h.values)]
	}
	pathAt := func(arg int, b byte) {
		if arg != calls.None && b%16 != 0 {
			args[arg] = h.paths[int(b)%len(h.paths)]
		}
	}
	dirAt := func(arg int, b byte) {
		if arg != calls.None && b%16 != 1 {
			args[arg] = uintptr(h.fds[int(b)%len(h.fds)])
		}
	}
	nr, opens := 0, false
	meta, files := calls.MetadataChanges, calls.Files
	sockets := []int{unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_GETSOCKNAME}
	switch i := int(step[0]) % (len(meta) + len(files) + len(sockets)); {
	case i < len(meta):
		c := meta[i]
		nr = c.NR
		dirAt(c.Dir, step[1])
		pathAt(c.Path, step[2])
	case i < len(meta)+len(files):
		c := files[i-len(meta)]
		nr, opens = c.NR, c.Kind <= calls.Openat2
		dirAt(c.Dir, step[1])
		pathAt(c.Path, step[2])
		dirAt(c.Dir2, step[3])
		pathAt(c.Path2, step[4])
		switch c.Kind {
		case calls.Open:
			args[c.Arg] |= unix.O_NONBLOCK
		case calls.Mknod:
			args[c.Arg] &^= unix.S_IFMT // opening a pipe would block
		}
	default:
		nr = sockets[i-len(meta)-len(files)]
		dirAt(0, step[1])
	}
	fd, _, errno := unix.Syscall6(uintptr(nr), args[0], args[1], args[2], args[3], args[4], args[5])
	if opens && errno == 0 {
		_, _ = unix.Write(int(fd), []byte("evil"))
		unix.Close(int(fd))
	}
}
