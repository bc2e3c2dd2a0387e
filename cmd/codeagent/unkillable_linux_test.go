package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"codeagent/internal/machine"
)

// hung is a mounted file system that never answers a lookup: a process that looks up a file
// in it sleeps in the kernel, where no signal ends it (request_wait_answer in
// fs/fuse/dev.c).
type hung struct {
	dir string
	dev int
	// asked has a channel for each name, which is closed by the first lookup of it.
	asked map[string]chan struct{}
}

// newHung mounts it until the test ends; names are all names that will be looked up.
func newHung(t *testing.T, names ...string) *hung {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a file system that hangs")
	}
	machine.Trial{What: "a file system that hangs", Do: openFUSE}.Require(t)
	dev, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Not directly below /srv, where other tests could reach it. Not below /tmp, since commands
	// have their own.
	base, err := os.MkdirTemp("/srv", "codeagent-hung")
	dir := filepath.Join(base, "mount")
	if err = errors.Join(err, os.Chmod(base, 0o755), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	h := &hung{dir, dev, map[string]chan struct{}{}}
	for _, name := range names {
		h.asked[name] = make(chan struct{})
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev)
	if err := unix.Mount("hung", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	go h.serve()
	t.Cleanup(func() {
		// This ends the connection first, and with it every wait.
		if err := unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		_ = errors.Join(os.Remove(dir), os.Remove(base))
	})
	return h
}

// openFUSE opens the device, which CI makes: it cannot if the kernel has no FUSE (ENODEV, ENXIO), or
// if a container denies devices (EPERM).
func openFUSE(t testing.TB) error {
	dev, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		t.Skip("there is no /dev/fuse: mknod /dev/fuse c 10 229")
	} else if err == nil {
		err = unix.Close(dev)
	}
	return os.NewSyscallError("open /dev/fuse", err)
}

// serve answers only what the kernel needs, until the file system is gone.
func (h *hung) serve() {
	defer unix.Close(h.dev)
	const lookup, forget, getattr, initialize, interrupt, forgetMany = 1, 2, 3, 26, 36, 42 // enum fuse_opcode
	request := make([]byte, 1<<16)
	for {
		n, err := unix.Read(h.dev, request)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n < 40 {
			return
		}
		answer := make([]byte, 16) // struct fuse_out_header
		switch binary.NativeEndian.Uint32(request[4:]) {
		case lookup:
			if c := h.asked[string(request[40:n-1])]; c != nil {
				close(c)
			}
			continue
		case forget, interrupt, forgetMany:
			continue
		case getattr: // struct fuse_attr_out: the mounted folder
			answer = append(answer, make([]byte, 104)...)
			binary.NativeEndian.PutUint64(answer[32:], 1) // ino
			binary.NativeEndian.PutUint32(answer[92:], unix.S_IFDIR|0o755)
			binary.NativeEndian.PutUint32(answer[96:], 2) // nlink
		case initialize: // struct fuse_init_out: version 7.31, nothing more
			answer = append(answer, make([]byte, 64)...)
			binary.NativeEndian.PutUint32(answer[16:], 7)
			binary.NativeEndian.PutUint32(answer[20:], 31)
			binary.NativeEndian.PutUint32(answer[28:], 1<<18) // FUSE_PARALLEL_DIROPS
			binary.NativeEndian.PutUint32(answer[36:], 4096)  // max_write
		default:
			binary.NativeEndian.PutUint32(answer[4:], ^uint32(unix.ENOSYS)+1)
		}
		binary.NativeEndian.PutUint32(answer, uint32(len(answer)))
		copy(answer[8:16], request[8:16]) // the request's number
		_, _ = unix.Write(h.dev, answer)
	}
}

// TestWhatCannotBeKilledHoldsNothingUp: a signal, a second one and the command's time limit
// end codeagent although a process of the command hangs in the kernel; codeagent names it.
func TestWhatCannotBeKilledHoldsNothingUp(t *testing.T) {
	t.Parallel() // waits for seconds
	rows := []struct {
		name    string
		flags   []string
		signals []syscall.Signal
		want    int
	}{
		{"TERM", nil, []syscall.Signal{syscall.SIGTERM}, 143},
		{"INT twice", nil, []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 130},
		{"time limit", []string{"--timeout=1s"}, nil, 124},
	}
	var names []string
	for i := range rows {
		names = append(names, fmt.Sprint(i, "root"), fmt.Sprint(i, "ordinary"))
	}
	h := newHung(t, names...)
	program, err := filepath.EvalSymlinks("/usr/bin/stat")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each waits for seconds
			eachUser(t, func(t *testing.T, u user) {
				name := fmt.Sprint(i, u.name)
				args := append(append([]string{"sandbox"}, c.flags...), "--", "sh", "-c", "stat "+h.dir+"/"+name+" >/dev/null 2>&1 & echo go; wait")
				cmd := u.codeagent(args...)
				var said bytes.Buffer
				cmd.Stderr, cmd.WaitDelay = &said, time.Minute
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				if line, err := bufio.NewReader(out).ReadString('\n'); line != "go\n" {
					t.Fatalf("%q, %v", line, err)
				}
				<-h.asked[name]
				for _, s := range c.signals {
					if err := cmd.Process.Signal(s); err != nil {
						t.Fatal(err)
					}
				}
				late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
				defer late.Stop()
				if err := cmd.Wait(); cmd.ProcessState.ExitCode() != c.want {
					t.Errorf("ended with %v, want status %d: %s", err, c.want, &said)
				}
				found := regexp.MustCompile(`(\d+) \(` + regexp.QuoteMeta(program) + `\)`).FindStringSubmatch(said.String())
				if found == nil {
					t.Fatalf("%s is not named: %q", program, &said)
				}
				if pid, _ := strconv.Atoi(found[1]); !sleeps(pid) {
					t.Errorf("process %d, which is named, does not hang: this test shows nothing", pid)
				}
			})
		})
	}
}

// sleeps reports whether the process sleeps where no signal wakes it.
func sleeps(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.Contains(string(status), "\nState:\tD")
}
