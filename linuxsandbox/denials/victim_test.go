//go:build linux

package denials

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"

	"golang.org/x/sys/unix"
)

const brokerVictimArg = "-test.run=^TestBrokerVictim$"

// TestBrokerVictim runs in the sandbox, and without it.
func TestBrokerVictim(t *testing.T) {
	what, how, _ := strings.Cut(os.Getenv(backendtest.EnvVictim), " ")
	switch what {
	case "":
		attack.BodyOf(t, "TestMetadata")
	case "metadata":
		for _, a := range metadataAttempts {
			err := a.do(os.Getenv("TARGET"))
			var errno syscall.Errno
			if err != nil && !errors.As(err, &errno) {
				errno = unix.EIO
			}
			fmt.Printf("%s=%d\n", a.name, int(errno))
		}
	case "race":
		raceChmod(os.Getenv("IN"), os.Getenv("TARGET"), raceTime())
	case "many":
		manyChmods(os.Getenv("TARGET"))
	case "granted":
		grantedRace(how, os.Getenv("TARGET"))
	case "exec":
		execWhileAsking(os.Getenv("TARGET"))
	}
	os.Exit(0)
}

// raceTime is the duration of attacks that depend on timing.
func raceTime() time.Duration {
	if machine.Thorough() {
		return 2 * time.Second
	}
	return 200 * time.Millisecond
}

// metadataAttempt is one way to change the metadata of a file.
type metadataAttempt struct {
	name string
	do   func(path string) error
}

func at(path string) uintptr {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		panic(err)
	}
	return uintptr(unsafe.Pointer(p))
}

func raw(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

// opened calls do with a descriptor of the file, opened for reading only.
func opened(flags int, do func(fd int) error) func(string) error {
	return func(path string) error {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return do(fd)
	}
}

// cwd is AT_FDCWD as an argument.
const cwd = ^uintptr(99)

var (
	stamps = []unix.Timespec{{Sec: 77}, {Sec: 88, Nsec: 5}}
	value  = []byte("v")
)

func xattr(nr uintptr) func(string) error {
	return func(path string) error {
		return raw(nr, at(path), at("user.codeagent"), uintptr(unsafe.Pointer(&value[0])), 1, 0)
	}
}

// metadataAttempts are all calls that the filter sends to the broker, and the ways to name a file
// that could mislead a broker.
var metadataAttempts = append([]metadataAttempt{
	{"fchmodat", func(p string) error { return raw(unix.SYS_FCHMODAT, cwd, at(p), 0o701) }},
	{"fchmod", opened(unix.O_RDONLY, func(fd int) error { return raw(unix.SYS_FCHMOD, uintptr(fd), 0o702) })},
	{"fchmodat2", func(p string) error { return raw(unix.SYS_FCHMODAT2, cwd, at(p), 0o703, 0) }},
	{"fchmodat2 of a link", func(p string) error { return raw(unix.SYS_FCHMODAT2, cwd, at(p), 0o704, unix.AT_SYMLINK_NOFOLLOW) }},
	{"fchmodat2 of a reference", opened(unix.O_PATH, func(fd int) error {
		return raw(unix.SYS_FCHMODAT2, uintptr(fd), at(""), 0o705, unix.AT_EMPTY_PATH)
	})},
	{"fchown", opened(unix.O_RDONLY, func(fd int) error { return raw(unix.SYS_FCHOWN, uintptr(fd), uintptr(os.Getuid()), ^uintptr(0)) })},
	{"fchownat", func(p string) error { return raw(unix.SYS_FCHOWNAT, cwd, at(p), uintptr(os.Getuid()), ^uintptr(0), 0) }},
	{"fchownat of a link", func(p string) error {
		return raw(unix.SYS_FCHOWNAT, cwd, at(p), uintptr(os.Getuid()), ^uintptr(0), unix.AT_SYMLINK_NOFOLLOW)
	}},
	{"utimensat", func(p string) error {
		return raw(unix.SYS_UTIMENSAT, cwd, at(p), uintptr(unsafe.Pointer(&stamps[0])), 0)
	}},
	{"utimensat now", func(p string) error { return raw(unix.SYS_UTIMENSAT, cwd, at(p), 0, 0) }},
	{"futimens", opened(unix.O_RDONLY, func(fd int) error {
		return raw(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&stamps[0])), 0)
	})},
	{"setxattr", xattr(unix.SYS_SETXATTR)},
	{"removexattr", func(p string) error { return raw(unix.SYS_REMOVEXATTR, at(p), at("user.codeagent")) }},
	{"lsetxattr", xattr(unix.SYS_LSETXATTR)},
	{"lremovexattr", func(p string) error { return raw(unix.SYS_LREMOVEXATTR, at(p), at("user.codeagent")) }},
	{"fsetxattr", opened(unix.O_RDONLY, func(fd int) error {
		return raw(unix.SYS_FSETXATTR, uintptr(fd), at("user.codeagent"), uintptr(unsafe.Pointer(&value[0])), 1, 0)
	})},
	{"fremovexattr", opened(unix.O_RDONLY, func(fd int) error { return raw(unix.SYS_FREMOVEXATTR, uintptr(fd), at("user.codeagent")) })},
	{"by a descriptor in /proc", opened(unix.O_RDONLY, func(fd int) error {
		return raw(unix.SYS_FCHMODAT, cwd, at("/proc/self/fd/"+strconv.Itoa(fd)), 0o711)
	})},
	{"by a descriptor in /dev", opened(unix.O_RDONLY, func(fd int) error {
		return raw(unix.SYS_FCHMODAT, cwd, at("/dev/fd/"+strconv.Itoa(fd)), 0o712)
	})},
	{"by the root in /proc", func(p string) error { return raw(unix.SYS_FCHMODAT, cwd, at("/proc/self/root"+p), 0o713) }},
	{"by a thread's root in /proc", func(p string) error { return raw(unix.SYS_FCHMODAT, cwd, at("/proc/thread-self/root"+p), 0o714) }},
	{"by the working directory in /proc", func(p string) error {
		if err := os.Chdir(filepath.Dir(p)); err != nil {
			return err
		}
		return raw(unix.SYS_FCHMODAT, cwd, at("/proc/self/cwd/../"+filepath.Base(filepath.Dir(p))+"/"+filepath.Base(p)), 0o715)
	}},
	{"from a folder", func(p string) error {
		return opened(unix.O_PATH|unix.O_DIRECTORY, func(fd int) error {
			return raw(unix.SYS_FCHMODAT, uintptr(fd), at("./"+filepath.Base(p)), 0o716)
		})(filepath.Dir(p))
	}},
	{"by a link", func(p string) error {
		link := filepath.Join(os.Getenv("WS"), "link")
		_ = os.Remove(link)
		if err := os.Symlink(p, link); err != nil {
			return err
		}
		return raw(unix.SYS_FCHMODAT, cwd, at(link), 0o717)
	}},
	{"by a link in the way", func(p string) error {
		link := filepath.Join(os.Getenv("WS"), "way")
		_ = os.Remove(link)
		if err := os.Symlink(filepath.Dir(p), link); err != nil {
			return err
		}
		return raw(unix.SYS_FCHMODAT, cwd, at(link+"/"+filepath.Base(p)), 0o720)
	}},
	{"unreadable", func(p string) error {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		return raw(unix.SYS_FCHMODAT, cwd, at(p), 0o721)
	}},
}, oldAttempts...)

// raceChmod switches a path between two files while it changes the mode of the one inside.
func raceChmod(in, out string, howLong time.Duration) {
	if len(in) != len(out) {
		panic("paths of different lengths")
	}
	path := append([]byte(in), 0)
	var stop bool
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		for !stop {
			copy(path, out)
			copy(path, in)
		}
	})
	// With one processor it takes a while until both names are seen.
	var allowed, refused bool
	end := time.Now().Add(howLong)
	for patience := end.Add(time.Minute); time.Now().Before(end) || !(allowed && refused) && time.Now().Before(patience); {
		for range 100 {
			_, _, errno := unix.Syscall(unix.SYS_FCHMODAT, cwd, uintptr(unsafe.Pointer(&path[0])), 0o777)
			allowed, refused = allowed || errno == 0, refused || errno == unix.EPERM
		}
	}
	stop = true
	wg.Wait()
}

// manyChmods makes calls from 300 threads at once.
func manyChmods(path string) {
	const threads = 300
	start := make(chan bool)
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			<-start
			if err := unix.Fchmodat(unix.AT_FDCWD, path, 0o600, 0); err != nil {
				fmt.Println(err)
			}
		})
	}
	close(start)
	wg.Wait()
	fmt.Println("asked")
}

// execWhileAsking executes another program while threads wait for answers.
func execWhileAsking(path string) {
	for range 20 {
		go func() {
			for {
				_ = unix.Fchmodat(unix.AT_FDCWD, path, 0o600, 0)
			}
		}()
	}
	time.Sleep(5 * time.Millisecond) // they probably wait by now; the test does not depend on it
	echo, err := exec.LookPath("echo")
	if err == nil {
		err = syscall.Exec(echo, []string{"echo", "executed"}, os.Environ())
	}
	fmt.Println(err)
}
