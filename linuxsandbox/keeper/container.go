//go:build linux

package keeper

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/spec"

	"golang.org/x/sys/unix"
)

// containerMain is the first process (PID 1) of a container. It connects to codeagent's socket at path. For each command,
// codeagent sends the descriptors that a keeper needs, and containerMain starts the keeper with them.
//
// Threat: commands that outlive codeagent or their keeper. When codeagent closes the socket, or a keeper is killed, this
// process ends, and the kernel kills all other processes of the container (pid_namespaces(7)).
func containerMain(path string) int {
	ignoreSignals()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil && unix.Getpid() != 1 {
		err = errors.New("not the first process of a container")
	}
	if err != nil {
		return say("connect to codeagent: " + err.Error())
	}
	out := socketOutlet{control.Socket(fd)}
	err = out.report(control.FrameSession, spec.Container{
		Env: os.Environ(), Memory: ownLimit("memory.max", "memory/memory.limit_in_bytes"),
		CPU: ownLimit("cpu.max", "cpu/cpu.cfs_quota_us"), Tasks: ownLimit("pids.max", "pids/pids.max"),
	})
	for err == nil {
		var kind control.Frame
		var body []byte
		var files []int
		if kind, body, files, err = out.fd.ReceiveFDs(); err != nil || kind != control.FrameSpec {
			break
		}
		var env spec.Container
		err = spec.Decode(body, &env)
		pidfd, bad := -1, err
		if err == nil {
			pidfd, bad = startKeeper(fd, env.Env, files)
		}
		for _, file := range files {
			unix.Close(file)
		}
		if bad != nil {
			err = out.report(control.FrameFailed, *fail("container", bad))
		} else {
			err = out.report(control.FrameStarted, nil, pidfd)
			unix.Close(pidfd)
		}
	}
	return 0
}

// ownLimit returns a limit of the container's control group. names are the files that hold it in cgroup version 2 and 1;
// "" if neither can be read.
func ownLimit(names ...string) string {
	for _, name := range names {
		if data, err := os.ReadFile("/sys/fs/cgroup/" + name); err == nil {
			return strings.TrimSpace(string(data))
		}
	}
	return ""
}

// startKeeper starts a keeper with files as its descriptors 0, 1 and so on, and returns a pidfd of it. If the keeper
// crashes or is killed, startKeeper shuts down the socket fd, so that containerMain ends.
func startKeeper(fd int, env []string, files []int) (pidfd int, err error) {
	var fds []uintptr
	for _, file := range files {
		fds = append(fds, uintptr(file))
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{control.HelperName, spec.KeeperArg}, &syscall.ProcAttr{
		Dir: "/", Env: env, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	if err != nil {
		return -1, os.NewSyscallError("fork", err)
	}
	go func() { // ends when the keeper ends
		var ws unix.WaitStatus
		_, err := unix.Wait4(pid, &ws, 0, nil)
		for err == unix.EINTR {
			_, err = unix.Wait4(pid, &ws, 0, nil)
		}
		if panicked := 2; err != nil || !ws.Exited() || ws.ExitStatus() == panicked {
			_ = unix.Shutdown(fd, unix.SHUT_RDWR) // containerMain then reads end of file
		}
	}()
	return pidfd, nil
}
