package exec

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// TerminalState is what a foreground command shares with the process that started
// codeagent and can change: flags and the owner of open files (which belong to the open
// file description, not to the descriptor; open(2)), and the state of a terminal.
type TerminalState struct{ files []sharedFile }

type sharedFile struct {
	file       *os.File
	flags      int
	owner      int
	signal     int
	terminal   bool
	ours       bool // codeagent's group was in the foreground
	modes      unix.Termios
	exclusive  bool
	discipline int
}

// sharedFlags are the flags that F_SETFL changes (fcntl(2)).
const sharedFlags = unix.O_APPEND | unix.O_ASYNC | unix.O_DIRECT | unix.O_NOATIME | unix.O_NONBLOCK

// tiocgexcl is TIOCGEXCL of asm-generic/ioctls.h, which x/sys lacks on some architectures.
const tiocgexcl = 0x80045440

// SaveTerminal records the state of files; nil entries are skipped.
func SaveTerminal(files ...*os.File) TerminalState {
	var s TerminalState
	for _, f := range files {
		one := sharedFile{file: f}
		if f != nil && control(f, one.look) == nil {
			s.files = append(s.files, one)
		}
	}
	return s
}

func (s *sharedFile) look(fd int) error {
	var err error
	if s.flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil {
		return err
	}
	s.owner, _ = unix.FcntlInt(uintptr(fd), unix.F_GETOWN, 0)
	s.signal, _ = unix.FcntlInt(uintptr(fd), unix.F_GETSIG, 0)
	modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil // not a terminal
	}
	s.terminal, s.modes = true, *modes
	exclusive, _ := unix.IoctlGetInt(fd, tiocgexcl)
	s.exclusive = exclusive != 0
	s.discipline, _ = unix.IoctlGetInt(fd, unix.TIOCGETD)
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	s.ours = err == nil && group == unix.Getpgrp()
	return nil
}

// Restore puts the recorded state back. It may be called more than once.
func (s TerminalState) Restore() {
	if len(s.files) == 0 {
		return
	}
	// The kernel stops a background process that changes a terminal, unless the thread
	// blocks SIGTTOU (tcsetpgrp(3)).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ttou, old unix.Sigset_t
	ttou.Val[0] = 1 << (uint(unix.SIGTTOU) - 1)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &ttou, &old) == nil {
		defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }()
	}
	for i := range s.files {
		_ = control(s.files[i].file, s.files[i].restore) // the file may be closed by now
	}
}

func (s *sharedFile) restore(fd int) error {
	if s.terminal {
		s.restoreTerminal(fd)
	}
	if owner, err := unix.FcntlInt(uintptr(fd), unix.F_GETOWN, 0); err != nil || owner != s.owner {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETOWN, s.owner)
	}
	if signal, err := unix.FcntlInt(uintptr(fd), unix.F_GETSIG, 0); err == nil && signal != s.signal {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETSIG, s.signal)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || (flags^s.flags)&sharedFlags == 0 {
		return err
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&^sharedFlags|s.flags&sharedFlags)
	return err
}

// restoreTerminal does nothing if another process group is in the foreground now, for
// example a shell that has stopped codeagent: the modes are that group's.
func (s *sharedFile) restoreTerminal(fd int) {
	if exclusive, err := unix.IoctlGetInt(fd, tiocgexcl); err == nil && (exclusive != 0) != s.exclusive {
		request := uint(unix.TIOCNXCL)
		if s.exclusive {
			request = unix.TIOCEXCL
		}
		_ = unix.IoctlSetInt(fd, request, 0)
	}
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || !s.ours {
		return
	}
	if group != unix.Getpgrp() {
		if !errors.Is(unix.Kill(-group, 0), unix.ESRCH) {
			return
		}
		_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, unix.Getpgrp()) // a group of the command, which has ended
	}
	if discipline, err := unix.IoctlGetInt(fd, unix.TIOCGETD); err == nil && discipline != s.discipline {
		_ = unix.IoctlSetPointerInt(fd, unix.TIOCSETD, s.discipline)
	}
	if now, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil && *now != s.modes {
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, &s.modes)
	}
	_ = unix.IoctlSetInt(fd, unix.TCXONC, unix.TCOON)
}
