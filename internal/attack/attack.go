//go:build linux

package attack

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attack is one real attempt at something a sandbox must refuse. It is run in
// a process of its own: first without a sandbox, where it works, then inside.
type Attack struct {
	// Name is unique and says what is tried.
	Name string
	// Escape is the number of the known escape it belongs to, "-" when it is
	// in the deny list for its own sake.
	Escape string
	// Do tries. nil: it worked. Otherwise the errno of the call in question,
	// never of what prepares it: inside a sandbox the preparation may fail,
	// and the call is made all the same.
	Do func() error
	// Want is what the sandbox answers; 0: the process is killed by SIGSYS.
	Want syscall.Errno
	// Stdin names the file that the victim must find as its standard input.
	Stdin Stdin
	// Bare are the answers other than success that the kernel itself may give
	// without a sandbox, each with the reason why the attempt cannot be shown
	// to work there.
	Bare []Answer
	// Network: in a network of the command's own it may be made, and harms nobody.
	Network bool
	// Process: in a PID namespace of the command's own it reaches the command's
	// processes alone, and may be made.
	Process bool
}

// Answer is an errno and why the kernel gives it.
type Answer struct {
	Errno syscall.Errno
	Why   string
}

// Stdin is a kind of standard input.
type Stdin string

// The kinds of standard input an attack may ask for. A socket among files 0 to
// 2 is the only one that ever comes in from outside.
const (
	StdinNull     Stdin = ""
	StdinTCP      Stdin = "an unconnected TCP socket"
	StdinUDP      Stdin = "an unconnected UDP socket"
	StdinListener Stdin = "a listening TCP socket with a caller waiting"
	StdinTerminal Stdin = "a terminal"
	StdinConsole  Stdin = "a console of the machine, or a terminal where there is none"
)

// Environment variables of a victim.
const (
	// EnvAttack names the attacks, one a line.
	EnvAttack = "CODEAGENT_TEST_ATTACK"
	// EnvPort is the port of a listener on 127.0.0.1.
	EnvPort = "CODEAGENT_TEST_PORT"
	// EnvDir is a directory the victim may write in.
	EnvDir = "CODEAGENT_TEST_DIR"
)

// ServiceName is what the socket of a service of the host is called in EnvDir.
const ServiceName = "service.sock"

// resultPrefix starts the line that a victim prints for each attack; the name
// and what its call answered follow, parted by a tab.
const resultPrefix = "attack result: "

// All is every attack for this architecture.
func All() []Attack {
	return slices.Concat(foreignABI(), processes(), namespaces(), mounts(), files(), rings(), kernel(), keys(), sharedMemory(), machine(), terminals(), sockets(), inherited())
}

// RunVictim does the attacks that the environment names, one after the other,
// and prints what came of each. Where they succeed, one may disturb the next:
// without a sandbox each needs a process of its own.
func RunVictim(confine func() error) {
	runtime.LockOSThread()
	if err := confine(); err != nil {
		fmt.Printf("confine: %v\n", err)
		return
	}
	all := All()
	for name := range strings.SplitSeq(os.Getenv(EnvAttack), "\n") {
		i := slices.IndexFunc(all, func(a Attack) bool { return a.Name == name })
		if i < 0 {
			fmt.Printf("no attack has the name %q\n", name)
			return
		}
		fmt.Printf("%s%s\t%s\n", resultPrefix, name, answerOf(all[i].Do()))
	}
}

func answerOf(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "0"
	case errors.As(err, &errno):
		return strconv.Itoa(int(errno))
	}
	return err.Error()
}

// Results finds in a victim's output what each of its calls answered. The error
// tells of an attack that could not be made.
func Results(output string) (map[string]syscall.Errno, error) {
	results := map[string]syscall.Errno{}
	for line := range strings.Lines(output) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), resultPrefix)
		if !ok {
			continue
		}
		name, text, _ := strings.Cut(rest, "\t")
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", name, text)
		}
		results[name] = syscall.Errno(n)
	}
	return results, nil
}

// call makes a system call exactly as given: no wrapper shortens an argument.
func call(number uintptr, args ...uintptr) error {
	_, err := value(number, args...)
	return err
}

func value(number uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return r, errno
	}
	return r, nil
}

// forkAndCall makes a system call in a single-threaded copy of this process:
// a Go program has threads, and with threads the kernel refuses some calls
// that a C program is granted.
func forkAndCall(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	pid, err := fork(number, &a)
	if err != nil {
		return err
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return fmt.Errorf("wait for the copy: %v", err)
	}
	if status.Signaled() {
		return fmt.Errorf("the copy died of %v", status.Signal())
	}
	if status.ExitStatus() != 0 {
		return syscall.Errno(status.ExitStatus())
	}
	return nil
}

// bystander starts another process, a copy of this one that waits to be
// killed, and returns its pid and what ends it.
func bystander() (pid int, end func(), err error) {
	pid, err = fork(unix.SYS_PPOLL, &[6]uintptr{})
	if err != nil {
		return 0, nil, err
	}
	return pid, func() {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
	}, nil
}

// fork copies this process with all signals blocked; the copy makes one call
// and exits with its errno, and dies when this thread does, for a victim may
// be killed with its bystander waiting. It touches nothing of the Go runtime, which is not
// whole in the copy.
//
//go:norace
func fork(number uintptr, a *[6]uintptr) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		return 0, fmt.Errorf("block signals: %v", err)
	}
	self := uintptr(unix.Getpid())
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 && errno == 0 {
		syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0)
		// The victim may have been killed before the line above: then nobody
		// will end this copy, which holds the pipe that its test reads.
		if parent, _, _ := syscall.RawSyscall(unix.SYS_GETPPID, 0, 0, 0); parent != self {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
		}
		_, _, errno = syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		for {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
		}
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil); err != nil {
		return 0, fmt.Errorf("unblock signals: %v", err)
	}
	if errno != 0 {
		return 0, fmt.Errorf("fork: %v", errno)
	}
	return int(pid), nil
}

// scratch makes a file of one's own and returns it open for reading only.
func scratch() (*os.File, error) {
	f, err := os.CreateTemp(os.Getenv(EnvDir), "attack")
	if err != nil {
		return nil, fmt.Errorf("make a file: %v", err)
	}
	if _, err := f.WriteString("data"); err != nil {
		return nil, fmt.Errorf("fill a file: %v", err)
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return os.Open(f.Name())
}

// cstring is a string as the kernel reads it.
func cstring(s string) *byte {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	return p
}

var (
	needsRoot        = Answer{unix.EPERM, "takes a capability that this user has not"}
	needsRootOutside = Answer{unix.EPERM, "takes a capability that this user has not, or a container refuses it to everybody"}
	notBuiltIn       = Answer{unix.ENOSYS, "this kernel is built without it"}
)
