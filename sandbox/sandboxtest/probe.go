package sandboxtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"codeagent/sandbox"
)

// probeName is the argv[0] that makes the test binary a probe.
const probeName = "sandboxtest-probe"

// separator joins a step: "verb", or "verb argument argument".
const separator = "\x1f"

func step(parts ...string) string { return strings.Join(parts, separator) }

// Step encodes one step as an argument of a probe.
func Step(parts ...string) string { return step(parts...) }

// Steps returns the steps of a command that is a probe, for a backend that imitates one.
func Steps(c sandbox.Command) (steps [][]string, ok bool) {
	if len(c.Args) == 0 || c.Args[0] != probeName {
		return nil, false
	}
	for _, s := range c.Args[1:] {
		steps = append(steps, strings.Split(s, separator))
	}
	return steps, true
}

// Main turns the process into a probe if it was started as one: it carries out each step and prints
// "ok" or the error, one line a step. TestMain must call it first.
func Main() {
	if filepath.Base(os.Args[0]) != probeName {
		return
	}
	for _, s := range os.Args[1:] {
		parts := strings.Split(s, separator)
		verb, ok := verbs[parts[0]]
		if !ok {
			fmt.Println("no such verb:", parts[0])
			os.Exit(99)
		}
		text, err := verb(parts[1:])
		switch {
		case err != nil:
			fmt.Println("refused:", oneLine(err.Error()))
		case text != "":
			fmt.Println("ok:", text)
		default:
			fmt.Println("ok")
		}
	}
	os.Exit(0)
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// lines splits a probe's output into one line a step.
func lines(out string) []string {
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

func refused(line string) bool { return strings.HasPrefix(line, "refused:") }

// verbs are what a probe can do. Each is one attempt of the kind that the sandbox decides about,
// with no retry and no fallback.
var verbs = map[string]func(args []string) (string, error){
	"create":    func(a []string) (string, error) { return "", writeWith(a[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY) },
	"put":       func(a []string) (string, error) { return "", writeWith(a[0], os.O_CREATE|os.O_WRONLY) },
	"overwrite": func(a []string) (string, error) { return "", writeWith(a[0], os.O_WRONLY) },
	"append":    func(a []string) (string, error) { return "", writeWith(a[0], os.O_WRONLY|os.O_APPEND) },
	"empty":     func(a []string) (string, error) { return "", openClose(a[0], os.O_WRONLY|os.O_TRUNC) },
	"truncate":  func(a []string) (string, error) { return "", syscall.Truncate(a[0], 1) },
	"unlink":    func(a []string) (string, error) { return "", syscall.Unlink(a[0]) },
	"rename":    func(a []string) (string, error) { return "", syscall.Rename(a[0], a[1]) },
	"link":      func(a []string) (string, error) { return "", syscall.Link(a[0], a[1]) },
	"symlink":   func(a []string) (string, error) { return "", syscall.Symlink(a[0], a[1]) },
	"mkdir":     func(a []string) (string, error) { return "", syscall.Mkdir(a[0], 0o755) },
	"rmdir":     func(a []string) (string, error) { return "", syscall.Rmdir(a[0]) },
	"mkfifo":    func(a []string) (string, error) { return "", syscall.Mkfifo(a[0], 0o644) },
	"chmod":     func(a []string) (string, error) { return "", syscall.Chmod(a[0], 0o600) },
	"utimes":    func(a []string) (string, error) { return "", os.Chtimes(a[0], time.Unix(9, 0), time.Unix(9, 0)) },
	"read": func(a []string) (string, error) {
		data, err := os.ReadFile(a[0])
		return oneLine(string(data)), err
	},
	"list": func(a []string) (string, error) {
		entries, err := os.ReadDir(a[0])
		return fmt.Sprint(len(entries)), err
	},
	"chdir": func(a []string) (string, error) { return "", os.Chdir(a[0]) },
	"execute": func(a []string) (string, error) {
		out, err := exec.Command(a[0]).Output()
		return oneLine(string(out)), err
	},
	"dial": func(a []string) (string, error) {
		c, err := net.DialTimeout(a[0], a[1], patience)
		if err == nil {
			_, err = c.Write([]byte("hello"))
			c.Close()
		}
		return "", err
	},
	"listen": func(a []string) (string, error) {
		l, err := net.Listen(a[0], a[1])
		if err == nil {
			l.Close()
		}
		return "", err
	},
	"socket": func(a []string) (string, error) {
		family, _ := strconv.Atoi(a[0])
		kind, _ := strconv.Atoi(a[1])
		fd, err := syscall.Socket(family, kind, 0)
		if err == nil {
			syscall.Close(fd)
		}
		return "", err
	},
	"signal": func(a []string) (string, error) {
		pid, _ := strconv.Atoi(a[0])
		return "", syscall.Kill(pid, 0)
	},
	"pids": func([]string) (string, error) { return fmt.Sprint(os.Getpid(), os.Getppid()), nil },
	"cwd":  func([]string) (string, error) { return os.Getwd() },
	"env":  func([]string) (string, error) { return strings.Join(os.Environ(), separator), nil },
	"args": func([]string) (string, error) { return strconv.Quote(strings.Join(os.Args, " ")), nil },
	"fds":  func([]string) (string, error) { return openFiles() },
	"stdin": func([]string) (string, error) {
		data, err := io.ReadAll(os.Stdin)
		return oneLine(string(data)), err
	},
	"terminal": func([]string) (string, error) {
		f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return "", err
	},
	"group": func([]string) (string, error) { return strconv.Itoa(syscall.Getpgrp()), nil },
	"exit": func(a []string) (string, error) {
		code, _ := strconv.Atoi(a[0])
		os.Exit(code)
		return "", nil
	},
	"die": func(a []string) (string, error) {
		number, _ := strconv.Atoi(a[0])
		return "", syscall.Kill(os.Getpid(), syscall.Signal(number))
	},
	"scatter": scatter,
	"hydra":   hydra,
	"orphan":  orphan,
	"sleep": func([]string) (string, error) {
		for {
			time.Sleep(time.Hour)
		}
	},
	"say": func(a []string) (string, error) { return a[0], nil },
}

func writeWith(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("written\n")
	return errors.Join(err, f.Close())
}

func openClose(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// openFiles lists the descriptors that were open when the probe started. The descriptors that the
// runtime and the listing itself open are close-on-exec.
func openFiles() (string, error) {
	var open []string
	for fd := range 4096 {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			open = append(open, strconv.Itoa(fd))
		}
	}
	return strings.Join(open, " "), nil
}

// scatter starts processes in the ways that survive a parent: a background child, one in its own
// session, and one forked twice. It returns their pids in this PID namespace.
func scatter([]string) (string, error) {
	var pids []string
	for _, own := range []bool{false, true} {
		c := again("sleep")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
		if err := c.Start(); err != nil {
			return "", err
		}
		pids = append(pids, strconv.Itoa(c.Process.Pid))
	}
	c := again("orphan")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := c.Output()
	if err != nil {
		return "", err
	}
	return strings.Join(append(pids, strings.TrimSpace(string(out))), " "), nil
}

// orphan starts a sleeper in its own session, prints its pid and ends.
func orphan([]string) (string, error) {
	c := again("sleep")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return "", err
	}
	fmt.Println(c.Process.Pid)
	os.Exit(0)
	return "", nil
}

// HydraLives is the number of generations of a hydra: if it is not killed, it must not use up the
// machine's processes.
const HydraLives = 5000

// hydra keeps forking: each process starts the next one and ends. A killer that first lists
// processes and then kills them is always too late.
func hydra(a []string) (string, error) {
	if len(a) > 0 {
		left, err := strconv.Atoi(a[0])
		if err == nil && left > 0 {
			c := again(step("hydra", strconv.Itoa(left-1)))
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			_ = c.Start()
		}
		os.Exit(0)
	}
	for range 4 {
		if err := again(step("hydra", strconv.Itoa(HydraLives))).Start(); err != nil {
			return "", err
		}
	}
	fmt.Println("running")
	for {
		time.Sleep(time.Hour)
	}
}

// again is a command that runs the probe itself with other steps. It inherits the caller's stderr.
func again(steps ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	return &exec.Cmd{Path: exe, Args: append([]string{probeName}, steps...), Stderr: os.Stderr}
}

// commandLine runs a sandbox.Command without a sandbox.
type commandLine struct{ cmd sandbox.Command }

func (c *commandLine) run(out *bytes.Buffer) error {
	x := &exec.Cmd{Path: c.cmd.Path, Args: c.cmd.Args, Dir: c.cmd.Dir, Env: c.cmd.Env, Stdout: out, Stderr: out}
	return x.Run()
}
