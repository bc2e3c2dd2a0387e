//go:build linux

package attack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"codeagent/internal/machine"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Patience is how long a test waits for something that must happen.
const Patience = 2 * time.Minute

// Path is a PATH that omits the programs in the tester's home folder.
const Path = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

// LookIn returns the path of a program of the folders in path.
func LookIn(path, program string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if file, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}

// Need returns the path of the last of programs. If one is missing, the test is skipped. With CI=true,
// where all programs are installed, that is a failure.
func Need(t *testing.T, programs ...string) (path string) {
	t.Helper()
	for _, program := range programs {
		var err error
		if path, err = LookIn(Path, program); err == nil {
			continue
		}
		if machine.Thorough() {
			t.Fatalf("%s is not installed", program)
		}
		t.Skipf("%s is not installed", program)
	}
	return path
}

// Word is an attempt's result in one line: "ok", or the error.
func Word(err error) string {
	if err == nil {
		return "ok"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// HasCapabilities reports whether this thread has any. Threads that make calls for the sandbox have
// none, and the first thread may be one of them.
func HasCapabilities() bool {
	status, err := os.ReadFile("/proc/thread-self/status")
	return err == nil && !strings.Contains(string(status), "CapEff:\t0000000000000000")
}

// ProcOf is the path of a process's file in /proc.
func ProcOf(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// Stat returns what the kernel says of a file, without the time of the last access.
func Stat(t *testing.T, path string) (st unix.Stat_t) {
	t.Helper()
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	st.Atim = unix.Timespec{}
	return st
}

// Describe writes everything visible of a file, or of a folder and all below it.
func Describe(b *strings.Builder, root string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err != nil || unix.Lstat(path, &st) != nil {
			fmt.Fprintf(b, "%s: absent\n", path)
			return nil
		}
		target, _ := os.Readlink(path)
		var text []byte
		if d.Type().IsRegular() {
			text = beginning(path)
		}
		names := make([]byte, 256)
		n, _ := unix.Llistxattr(path, names)
		fmt.Fprintf(b, "%s: %o %d:%d %d links %d bytes inode %d %v %v %q %q %q\n", path, st.Mode, st.Uid, st.Gid, st.Nlink, st.Size,
			st.Ino, st.Mtim, st.Ctim, target, text, names[:max(n, 0)])
		return nil
	})
}

// beginning is the first MiB of a file. An attack can create a sparse file of terabytes. A change
// after the first MiB still changes the file's times, and nobody can set the ctime.
func beginning(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 1<<20))
	return text
}

// OpenTerminal opens a pseudo-terminal; its master is closed when the test ends.
func OpenTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	return master, slave
}

// OwnServer listens at path and accepts all connections.
func OwnServer(path string) (sock int, err error) {
	sock, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := errors.Join(unix.Bind(sock, &unix.SockaddrUnix{Name: path}), unix.Listen(sock, 64)); err != nil {
		unix.Close(sock)
		return -1, err
	}
	go func() {
		for {
			c, _, err := unix.Accept4(sock, unix.SOCK_CLOEXEC)
			if err != nil {
				return
			}
			unix.Close(c)
		}
	}()
	return sock, nil
}
