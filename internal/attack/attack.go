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

// Attack is one real attempt at something that a sandbox must refuse. Each runs in a process of its
// own: first without a sandbox, where it succeeds, then inside.
type Attack struct {
	// Name is unique and describes the attempt.
	Name string
	// Escape is the number of the known escape to which it belongs. It is "-" if the call is
	// refused for its own sake.
	Escape string
	// Do makes the attempt. nil means success. Otherwise it returns the errno of the attacking
	// call, never of a preparation: inside a sandbox the preparation may fail, and Do makes the
	// call nevertheless.
	Do func() error
	// Want is the sandbox's answer; 0 means that SIGSYS kills the process.
	Want syscall.Errno
	// Stdin is what the victim must have as its standard input.
	Stdin Stdin
	// Bare are the answers other than success that the kernel may give without a sandbox, each with
	// the reason why the attempt cannot succeed there.
	Bare []Answer
	// Harmless is a call of the same kind that asks for nothing, if a kernel may end the process that
	// makes one: on such a machine the attack is not possible.
	Harmless func() error
	// Network means that the call is allowed, and harmless, in the command's own network, and where the broker
	// makes its connections.
	Network bool
	// Own is the layer of the sandbox with which the call is allowed, since it then reaches only what is
	// the command's own; empty for none.
	Own string
}

// Answer is an errno and the reason why the kernel returns it.
type Answer struct {
	Errno syscall.Errno
	Why   string
}

// Stdin is a kind of standard input.
type Stdin string

// These are the kinds of standard input that an attack can ask for. A socket can come in from
// outside only as descriptor 0, 1 or 2.
const (
	StdinNull     Stdin = ""
	StdinTCP      Stdin = "an unconnected TCP socket"
	StdinUDP      Stdin = "an unconnected UDP socket"
	StdinListener Stdin = "a listening TCP socket with a caller waiting"
	StdinTerminal Stdin = "a terminal"
	StdinConsole  Stdin = "a console of the machine, or else a terminal"
)

// These are the environment variables of a victim.
const (
	// EnvAttack lists the attacks by name, one a line.
	EnvAttack = "CODEAGENT_TEST_ATTACK"
	// EnvPort is the port of a listener on 127.0.0.1.
	EnvPort = "CODEAGENT_TEST_PORT"
	// EnvDir is a directory that the victim may write.
	EnvDir = "CODEAGENT_TEST_DIR"
)

// HarmlessPrefix before the name of an attack makes the victim make its harmless call.
const HarmlessPrefix = "harmless: "

// ServiceName is the file name, in EnvDir, of the socket of a service on the host.
const ServiceName = "service.sock"

// MessagesName is that of a service for datagrams.
const MessagesName = "messages.sock"

// resultPrefix starts the line that a victim prints for each attack. The attack's name and the
// answer of its call follow, separated by a tab.
const resultPrefix = "attack result: "

// All returns every attack for this architecture.
func All() []Attack {
	return slices.Concat(foreignABI(), processes(), namespaces(), mounts(), files(), rings(), kernel(), keys(), sharedMemory(), wholeMachine(), terminals(), sockets(), inherited())
}

// RunVictim makes the attacks that the environment names, one after the other, and prints the
// result of each. A successful attack may disturb the next one, so without a sandbox each needs its
// own process.
func RunVictim(confine func() error) {
	runtime.LockOSThread()
	if err := confine(); err != nil {
		fmt.Printf("confine: %v\n", err)
		return
	}
	all := All()
	for name := range strings.SplitSeq(os.Getenv(EnvAttack), "\n") {
		name, harmless := strings.CutPrefix(name, HarmlessPrefix)
		i := slices.IndexFunc(all, func(a Attack) bool { return a.Name == name })
		if i < 0 {
			fmt.Printf("no attack has the name %q\n", name)
			return
		}
		if harmless {
			fmt.Println(resultPrefix + HarmlessPrefix + name + "\t" + answerOf(all[i].Harmless()))
			continue
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

// Results parses a victim's output for the answer to each call. The error names an attack that
// could not be made.
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

// call makes a system call with exactly these arguments; a wrapper could shorten them.
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

// forkAndCall makes a system call in a single-threaded copy of this process. A Go program has
// threads, and the kernel refuses some calls from a process with threads that it allows from a C
// program.
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
		return fmt.Errorf("the copy was killed by %v", status.Signal())
	}
	if status.ExitStatus() != 0 {
		return syscall.Errno(status.ExitStatus())
	}
	return nil
}

// bystander starts another process, a copy of this one that waits to be killed. It returns its pid
// and a function that ends it.
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

// fork copies this process with all signals blocked. The copy makes one call and exits with its
// errno. It also dies with this thread, because a victim may be killed while its bystander waits.
// The copy uses nothing of the Go runtime, which is incomplete in it.
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
		// If the victim was killed before the line above, nobody will end this copy, which holds
		// the pipe that its test reads. So it exits.
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

// scratch makes a file owned by this user and returns it open for reading only.
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

// cstring converts a string to the kernel's form.
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
