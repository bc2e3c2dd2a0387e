package seatbelt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"codeagent/sandbox"
)

// process is one command. The tool replaces itself by the command, so both have the same pid.
type process struct {
	cmd    *exec.Cmd
	group  bool // it leads a process group of its own
	unhook func() bool

	mu   sync.Mutex
	done bool // reaped; its pid may now belong to another process

	wait func() (sandbox.Status, error)
}

func start(ctx context.Context, argv []string, c sandbox.Command) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would mean codeagent's own environment
	}
	// A nil *os.File in an interface is not nil, so check each file first.
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: !c.Foreground, Setctty: c.Terminal}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, group: !c.Foreground}
	p.wait = sync.OnceValues(p.reap)
	p.unhook = context.AfterFunc(ctx, p.Kill)
	return p, nil
}

// Wait returns when the command has ended and its process group is gone. It misses processes that
// left the group by setsid and lost their parent (see Weaknesses).
func (p *process) Wait() (sandbox.Status, error) { return p.wait() }

func (p *process) reap() (sandbox.Status, error) {
	err := p.cmd.Wait()
	p.mu.Lock()
	p.done = true
	p.mu.Unlock()
	p.unhook()
	if p.group {
		endGroup(p.cmd.Process.Pid)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return sandbox.Status{}, fmt.Errorf("wait: %w", err)
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return sandbox.Status{}, fmt.Errorf("bug: wait status of type %T", p.cmd.ProcessState.Sys())
	}
	if status.Signaled() {
		return sandbox.Status{Exit: -1, Signal: int(status.Signal())}, nil
	}
	return sandbox.Status{Exit: status.ExitStatus()}, nil
}

// endGroup kills the rest of the group and waits until it is gone, because a killed process takes a
// moment to end. It waits at most 200 ms for a process that hangs in the kernel or a zombie that
// nobody reaps.
func endGroup(pgid int) {
	for range 100 {
		if syscall.Kill(-pgid, syscall.SIGKILL) != nil {
			return // ESRCH; on macOS EPERM if only zombies are left
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Kill ends the command, its process group, and the descendants in other groups that it can find.
func (p *process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	pid := p.cmd.Process.Pid
	// Find them first: once their parents are dead they cannot be found.
	family := descendants(pid)
	if p.group {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // an error means that it is already gone
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for _, child := range family {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}

// Signal sends a signal to the command.
func (p *process) Signal(number int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return os.ErrProcessDone
	}
	if sig := syscall.Signal(number); sig == syscall.SIGINT && p.group {
		return syscall.Kill(-p.cmd.Process.Pid, sig)
	}
	return p.cmd.Process.Signal(syscall.Signal(number))
}

// Refused is empty: sandbox-exec does not report what it refused.
func (p *process) Refused() []sandbox.Denial { return nil }

// Trace has no denials either.
func (p *process) Trace() sandbox.Trace { return sandbox.Trace{Evidence: sandbox.EvidenceNothing} }

// Revoke revokes nothing: a profile cannot be changed once it is applied (sandbox_init(3)).
func (p *process) Revoke(sandbox.Revocation) sandbox.RevokeResult { return sandbox.Kept }

// descendants returns the descendants of pid, as ps shows them now.
func descendants(pid int) []int {
	cmd := exec.Command("/bin/ps", "-axo", "pid=,ppid=")
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		child, err1 := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		if err1 == nil && err2 == nil {
			children[parent] = append(children[parent], child)
		}
	}
	var all []int
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		all = append(all, children[todo[0]]...)
		todo = append(todo, children[todo[0]]...)
	}
	return all
}

// shield keeps descriptors that codeagent inherited from reaching the command. codeagent's own are
// closed at exec already.
func shield() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// wrap puts bash in front of a command that needs limits or an argv[0] other than its path, because
// sandbox-exec provides neither. bash then executes the command. It reads no startup file (-p), and
// its script contains only numbers.
func wrap(l sandbox.Limits, program string, args, env []string) []string {
	script := ""
	for _, one := range []struct {
		option string
		value  int64
	}{
		{"-t", l.CPUSeconds}, {"-u", l.Processes}, {"-n", l.OpenFiles},
		{"-f", (l.FileSize + 1023) / 1024}, // in blocks of 1024 bytes
	} {
		if one.value > 0 {
			script += fmt.Sprintf("ulimit %s %d || exit %d\n", one.option, one.value, sandbox.ExitCannotConfine)
		}
	}
	if script == "" && (args[0] == program || args[0] == filepath.Base(program)) {
		return append([]string{program}, args[1:]...)
	}
	// bash sets these if they are unset. (It also leaves SHLVL=0.)
	for _, name := range []string{"PWD", "OLDPWD"} {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			script += "unset " + name + "\n"
		}
	}
	script += `program=$1; shift; exec -a "$0" "$program" "$@"`
	return append([]string{"/bin/bash", "-p", "-c", script, args[0], program}, args[1:]...)
}
