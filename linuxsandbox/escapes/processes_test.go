//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"unsafe"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// A friend is another process of the same user, outside the sandbox. It has the secret in its
// environment, and ends with the test.

// harms is a row that ends or stops a friend; do gets its pid.
func harms(name, escape string, do func(pid int) error) attempt {
	a := onFriend(name, escape, "the user's other processes", do)
	a.word, a.weakness = false, "signals"
	a.landed = func(_ *host, p place) bool { return harmed(friendOf(p)) }
	return a
}

// harmed reports whether a friend has ended or stopped. A signal wakes a friend at once. So a
// sleeping friend got none, and a running one is acting on a signal or has just started.
func harmed(pid int) bool {
	for {
		if got, err := unix.Wait4(pid, nil, unix.WNOHANG|unix.WUNTRACED, nil); got != 0 || err != nil {
			return true
		}
		if p, ok := kernel.ReadProcess(pid); ok && p.State == 'S' {
			return false
		}
		_, _ = unix.Poll(nil, 1)
	}
}

// onFriend is a row that acts on a friend; success is the proof.
func onFriend(name, escape, protects string, do func(pid int) error) attempt {
	return attempt{
		name: name, escape: escape, protects: protects, word: true, before: befriend,
		do: func(p place) error { return do(friendOf(p)) },
	}
}

func befriend(h *host, p place) {
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env = []string{"SECRET=" + attack.HostSecret}
	h.start(cmd)
	h.put(p.in+"/friend", strconv.Itoa(cmd.Process.Pid), 0o644)
}

// start starts a process that ends with the test.
func (h *host) start(cmd *exec.Cmd) {
	h.t.Helper()
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func friendOf(p place) int {
	text, err := os.ReadFile(p.in + "/friend")
	pid, bad := strconv.Atoi(string(text))
	if err != nil || bad != nil || pid <= 1 {
		panic("no friend: a pid that is not one could mean every process")
	}
	return pid
}

func processEscapes() []attempt {
	const memory = "the memory and environment of the user's other processes"
	rows := []attempt{
		harms("kill", "E39", func(pid int) error { return unix.Kill(pid, unix.SIGKILL) }),
		harms("stop", "E39", func(pid int) error { return unix.Kill(pid, unix.SIGSTOP) }),
		harms("terminate", "E39", func(pid int) error { return unix.Kill(pid, unix.SIGTERM) }),
		harms("tgkill", "E39", func(pid int) error { return unix.Tgkill(pid, pid, unix.SIGKILL) }),
		harms("tkill", "E39", func(pid int) error { return rawCall(unix.SYS_TKILL, uintptr(pid), uintptr(unix.SIGKILL)) }),
		harms("rt_sigqueueinfo", "E39", func(pid int) error {
			info := [32]int32{int32(unix.SIGKILL), 0, -1}
			return rawCall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(unix.SIGKILL), uintptr(unsafe.Pointer(&info)))
		}),
		harms("pidfd_send_signal", "E39", func(pid int) error {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}),
		harms("a signal by a socket's owner", "E39", ownedSocket),
		harms("the shell's kill", "E39", func(pid int) error { return runQuiet("/bin/sh", "-c", "kill -9 "+strconv.Itoa(pid)) }),
		onFriend("read environ", "E39", memory, func(pid int) error { return hasSecret(attack.ProcOf(pid, "environ")) }),
		onFriend("open mem", "E39", memory, func(pid int) error {
			return withFD(attack.ProcOf(pid, "mem"), unix.O_RDWR, func(int) error { return nil })
		}),
		onFriend("read maps", "E39", memory, func(pid int) error { return hasBytes(attack.ProcOf(pid, "maps")) }),
		onFriend("what its descriptors are", "E39", memory, func(pid int) error { _, err := os.Readlink(attack.ProcOf(pid, "fd/0")); return err }),
		onFriend("open its descriptor", "E39", memory, func(pid int) error {
			return withFD(attack.ProcOf(pid, "fd/0"), unix.O_RDONLY, func(int) error { return nil })
		}),
		onFriend("its working folder", "E6", memory, func(pid int) error { _, err := os.Readlink(attack.ProcOf(pid, "cwd")); return err }),
		onFriend("its root", "E6", memory, func(pid int) error { _, err := os.ReadDir(attack.ProcOf(pid, "root")); return err }),
		onFriend("its program", "E6", memory, func(pid int) error {
			return withFD(attack.ProcOf(pid, "exe"), unix.O_RDONLY, func(int) error { return nil })
		}),
		onFriend("its chance to be ended for want of memory", "-", "the user's other processes", func(pid int) error {
			return writeText(attack.ProcOf(pid, "oom_score_adj"), "500")
		}),
	}
	return append(rows, foreignEscapes()...)
}

// foreignEscapes make calls on other processes, and examine codeagent itself.
func foreignEscapes() []attempt {
	taken := onFriend("a descriptor of another process", "E39", "the user's other processes", func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		got, err := unix.PidfdGetfd(fd, 0, 0)
		if err == nil {
			unix.Close(got)
		}
		return err
	})
	taken.cannot = func(s attack.Setting) string {
		if s.Surroundings == attack.SurroundDocker {
			return "Docker's filter refuses copies of descriptors"
		}
		return ""
	}
	const sched = "the scheduling and limits of the user's other processes"
	rows := []attempt{
		onFriend("trace another process", "E39", "the user's other processes", func(pid int) error { return unix.PtraceSeize(pid) }),
		onFriend("process_vm_readv of another process", "E39", "the user's other processes", func(pid int) error {
			return movesMemory(unix.SYS_PROCESS_VM_READV, pid)
		}),
		onFriend("nice of another process", "-", sched, func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) }),
		onFriend("limits of another process", "-", sched, func(pid int) error {
			return unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
		}),
		onFriend("affinity of another process", "-", sched, func(pid int) error {
			var set unix.CPUSet
			set.Set(0)
			return unix.SchedSetaffinity(pid, &set)
		}),
		taken,
	}
	codeagent := func(name, escape string, do func(p place) error) attempt {
		return attempt{name: "codeagent: " + name, escape: escape, protects: "codeagent itself, its keys and what it has open", word: true, do: do}
	}
	signals := func(a attempt) attempt { a.weakness = "signals"; return a }
	return append(rows, segmentEscape(),
		codeagent("trace it", "E39", func(p place) error { return unix.PtraceSeize(p.Host) }),
		codeagent("trace a thread of its", "E39", func(p place) error { return eachThread(p.Host, unix.PtraceSeize) }),
		codeagent("trace the parent", "E39", func(place) error { return unix.PtraceSeize(os.Getppid()) }),
		codeagent("trace a thread of the parent's", "E39", func(place) error { return eachThread(os.Getppid(), unix.PtraceSeize) }),
		codeagent("move memory of the parent's", "E39", func(place) error { return movesMemory(unix.SYS_PROCESS_VM_WRITEV, os.Getppid()) }),
		signals(codeagent("signal it", "E39", func(p place) error { return unix.Kill(p.Host, unix.SIGURG) })),
		signals(codeagent("signal the parent", "E39", func(place) error { return unix.Kill(os.Getppid(), unix.SIGCONT) })),
		codeagent("its environment", "E39", func(p place) error { return hasSecret(attack.ProcOf(p.Host, "environ")) }),
		codeagent("its memory", "E39", func(p place) error {
			return withFD(attack.ProcOf(p.Host, "mem"), unix.O_RDONLY, func(int) error { return nil })
		}),
		codeagent("what its descriptors are", "E39", func(p place) error { _, err := os.Readlink(attack.ProcOf(p.Host, "fd/0")); return err }),
		codeagent("its root", "E6", func(p place) error { _, err := os.ReadDir(attack.ProcOf(p.Host, "root/")); return err }),
		codeagent("its limits", "-", func(p place) error {
			// These are its own limits, which the command inherited.
			var same unix.Rlimit
			return errors.Join(unix.Getrlimit(unix.RLIMIT_CORE, &same), unix.Prlimit(p.Host, unix.RLIMIT_CORE, &same, nil))
		}),
		codeagent("the parent's limits", "-", func(place) error {
			var same unix.Rlimit
			return errors.Join(unix.Getrlimit(unix.RLIMIT_NOFILE, &same), unix.Prlimit(os.Getppid(), unix.RLIMIT_NOFILE, &same, nil))
		}),
		codeagent("the parent's nice value", "-", func(place) error {
			return unix.Setpriority(unix.PRIO_PROCESS, os.Getppid(), niceOf(os.Getppid()))
		}),
		codeagent("the nice value of a thread of the parent's", "-", func(place) error {
			for tid := range 64 { // in a PID namespace the keeper's threads are the first
				if tid > 1 && tid != os.Getpid() && unix.Tgkill(os.Getppid(), tid, 0) != unix.ESRCH {
					return unix.Setpriority(unix.PRIO_PROCESS, tid, niceOf(tid))
				}
			}
			return unix.Setpriority(unix.PRIO_PROCESS, os.Getppid(), niceOf(os.Getppid()))
		}),
		codeagent("the parent's environment", "E39", func(p place) error { return hasBytes(attack.ProcOf(os.Getppid(), "environ")) }),
		codeagent("the parent's memory", "E39", func(p place) error {
			return withFD(attack.ProcOf(os.Getppid(), "mem"), unix.O_RDONLY, func(int) error { return nil })
		}),
	)
}

// movesMemory reports whether the process lets its memory be read or written. Nothing is mapped at the
// address that is used, and the kernel looks at that after the permission.
func movesMemory(call uintptr, pid int) error {
	var buf [8]byte
	local := unix.Iovec{Base: &buf[0], Len: 8}
	remote := [2]uintptr{0x1000, 8}
	err := rawCall(call, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil
	}
	return err
}

// eachThread calls do with each thread of a process until one call succeeds. Threads of a PID namespace
// have small numbers, and may not be listed.
func eachThread(pid int, do func(tid int) error) (err error) {
	tids := []int{pid}
	if list, _ := os.ReadDir(attack.ProcOf(pid, "task")); len(list) > 0 {
		for _, e := range list {
			tid, _ := strconv.Atoi(e.Name())
			tids = append(tids, tid)
		}
	} else {
		for tid := 1; tid < os.Getpid(); tid++ {
			tids = append(tids, tid)
		}
	}
	for _, tid := range tids {
		if err = do(tid); err == nil {
			return nil
		}
	}
	return err
}

// segmentEscape finds a segment of the host by its key.
func segmentEscape() attempt {
	return attempt{
		name: "a segment of shared memory by its key", escape: "-", protects: "the user's other processes", word: true,
		before: func(h *host, p place) {
			key := uintptr(rand.Int32N(math.MaxInt32-1) + 1)
			id, _, errno := unix.Syscall(unix.SYS_SHMGET, key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
			if errno != 0 {
				h.t.Fatal(errno)
			}
			h.t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0) })
			h.put(p.in+"/key", strconv.Itoa(int(key)), 0o644)
		},
		do: func(p place) error {
			text, err := os.ReadFile(p.in + "/key")
			key, bad := strconv.Atoi(string(text))
			if err := errors.Join(err, bad); err != nil {
				panic(err)
			}
			return rawCall(unix.SYS_SHMGET, uintptr(key), 0, 0)
		},
	}
}

// ownedSocket makes a pid the owner of a socket. The kernel then signals it when data arrives: no
// call names the victim of the signal at that point.
func ownedSocket(pid int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	for _, set := range [][2]int{{unix.F_SETOWN, pid}, {unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETFL, unix.O_ASYNC}} {
		if _, err := unix.FcntlInt(uintptr(pair[0]), set[0], set[1]); err != nil {
			return fmt.Errorf("fcntl %d: %w", set[0], err)
		}
	}
	_, err = unix.Write(pair[1], []byte("x"))
	return err
}

func hasBytes(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && len(data) == 0 {
		err = errors.New("nothing is there")
	}
	return err
}

func writeText(path, text string) error { return os.WriteFile(path, []byte(text), 0) }

func runQuiet(path string, args ...string) error { return exec.Command(path, args...).Run() }

// leftEscapes leave a process behind that survives the command.
func leftEscapes() []attempt {
	left := func(name, script string) attempt {
		return attempt{
			name: "left behind: " + name, escape: "E33", protects: "the machine after the command's end", alone: true,
			do:     func(p place) error { return leave(p, script) },
			landed: func(h *host, p place) bool { return outlives(h, p) },
		}
	}
	return []attempt{
		left("in the background", `sleep 1000 & echo $! > left`),
		left("in a session of its own", `setsid sh -c 'echo $$ > left; exec sleep 1000' &`),
		left("forked twice", `(setsid sh -c 'sleep 1000 & echo $! > left' &)`),
		left("deaf to signals", `setsid sh -c 'trap "" HUP INT TERM QUIT; echo $$ > left; while :; do sleep 1000; done' &`),
		left("stopped", `sh -c 'echo $$ > left; kill -STOP $$; exec sleep 1000' &`),
		left("a tree that still grows to some hundreds",
			`b() { [ $1 -le 0 ] && exec sleep 1000; setsid sleep 1000 & b $(($1-1)) & b $(($1-1)) & wait; }; b 7 & echo x > left`),
		left("under a parent of its own that stays", `setsid sh -c 'sh -c "echo \$\$ > left; exec sleep 1000"; exec sleep 1000' &`),
	}
}

// leave runs a script that leaves a process behind, and waits until it has.
func leave(p place, script string) error {
	cmd := exec.Command("/bin/sh", "-c", "("+script+")\n while ! [ -s left ]; do :; done")
	cmd.Dir = p.in
	return cmd.Run()
}

// outlives reports whether a process of the row still runs, and ends it. Its pid may differ here,
// so it is recognised by its working folder.
func outlives(h *host, p place) bool {
	found := false
	for {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			h.t.Fatal(err)
		}
		more := false
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if cwd, err := os.Readlink(attack.ProcOf(pid, "cwd")); err == nil && cwd == p.in {
				found = true
				more = unix.Kill(pid, unix.SIGKILL) == nil || more
			}
		}
		if !more {
			return found
		}
	}
}

// niceOf is the nice value of a process or thread. Setting this value changes nothing.
func niceOf(number int) int {
	n, _ := unix.Getpriority(unix.PRIO_PROCESS, number)
	return 20 - n // the system call returns it as 1 to 40
}
