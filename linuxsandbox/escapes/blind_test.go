//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/broker/evidence"

	"golang.org/x/sys/unix"
)

// A program executed from a file of mode 0111 is not dumpable: without capabilities nobody may read
// its memory or follow its links in /proc, and neither may the broker. The broker must refuse what
// it cannot examine.

// blindName is the argv[0] of such a program. Its arguments are an action and the folders of its
// row.
const blindName = "escape-blind"

// blindDeeds are its actions.
var blindDeeds = map[string]func(p place) error{
	"chmod":          func(p place) error { return unix.Chmod(p.out+"/file", 0o777) },
	"chmod suid":     func(p place) error { return unix.Chmod(p.out+"/program", 0o4755) },
	"chmod mine":     func(p place) error { return unix.Chmod(p.in+"/mine", 0o4755) },
	"chmod theirs":   func(p place) error { return unix.Chmod(p.out+"/theirs", 0o777) },
	"chmod of /proc": func(p place) error { return unix.Chmod("/proc/self/root"+p.out+"/file", 0o777) },
	"fchmod":         onFile(func(fd int) error { return unix.Fchmod(fd, 0o777) }),
	"chown":          func(p place) error { return unix.Chown(p.out+"/file", os.Getuid(), os.Getgid()) },
	"fchown":         onFile(func(fd int) error { return unix.Fchown(fd, os.Getuid(), os.Getgid()) }),
	"utimes":         func(p place) error { return unix.UtimesNanoAt(unix.AT_FDCWD, p.out+"/file", longAgo, 0) },
	"futimes":        onFile(func(fd int) error { return unix.Futimes(fd, make([]unix.Timeval, 2)) }),
	"touch":          onFile(func(fd int) error { return rawCall(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0) }),
	"fchmod mine": func(p place) error {
		return withFD(p.in+"/mine", unix.O_RDONLY, func(fd int) error { return unix.Fchmod(fd, 0o4755) })
	},
	"setxattr":  func(p place) error { return unix.Setxattr(p.out+"/file", "user.planted", []byte("x"), 0) },
	"fsetxattr": onFile(func(fd int) error { return unix.Fsetxattr(fd, "user.planted", []byte("x"), 0) }),
	"write":     func(p place) error { return writeTo(p.out+"/file", unix.O_WRONLY) },
	"openat2": func(p place) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, p.out+"/file", &unix.OpenHow{Flags: unix.O_WRONLY | unix.O_TRUNC})
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	},
	"truncate": func(p place) error { return unix.Truncate(p.out+"/file", 0) },
	"rename":   func(p place) error { return unix.Rename(p.out+"/file", p.in+"/taken") },
	"unlink":   func(p place) error { return unix.Unlink(p.out + "/file") },
	"flock":    func(p place) error { return errors.Join(lockOpen(p.out+"/file", unix.LOCK_EX), hostTries(p)) },
	"link":     func(p place) error { return unix.Link(p.out+"/file", p.in+"/taken") },
	"shell":    made("{shell}"),
	"agent":    made("{agent2}"),
	"hook":     made("sub/.git/hooks/pre-commit"),
	"move":     func(p place) error { return renamed(p, "sub", "sub2")() },
}

// blind returns a row's action that creates such a program and has it do a deed of blindDeeds.
func blind(deed string) func(p place) error {
	return func(p place) error {
		program := p.in + "/blind"
		if err := copyProgram(program); err != nil {
			return fmt.Errorf("make the program: %w", err)
		}
		defer os.Remove(program) // a copy for each row would fill a small disk
		out, err := (&exec.Cmd{Path: program, Args: []string{blindName, deed, p.in, p.out}, Dir: "/"}).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
		}
		return nil
	}
}

// copyProgram makes a copy of this program that can be executed but not read.
func copyProgram(path string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	// No child of another thread may hold it open for writing.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Chmod(0o111), to.Close())
}

// blindVictim takes over the process if it was started as such a program.
func blindVictim() {
	if filepath.Base(os.Args[0]) != blindName {
		return
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); (err != nil || dumpable == 1) && !attack.HasCapabilities() {
		fmt.Println("it can be looked at")
		syscall.Exit(2)
	}
	if err := blindDeeds[os.Args[1]](place{in: os.Args[2], out: os.Args[3]}); err != nil {
		fmt.Println(err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

// blindEscapes are made by programs that nobody can examine, and by programs that have exhausted
// the broker's budget.
func blindEscapes() []attempt {
	var rows []attempt
	for _, deed := range []string{"chmod", "chmod suid", "chmod of /proc", "fchmod", "chown", "fchown", "utimes", "futimes", "touch", "setxattr", "fsetxattr"} {
		rows = append(rows, metadata("not readable: "+deed, "E18", blind(deed)))
	}
	rows = append(rows, metadata("chmod after more refusals than are kept", "E18", func(p place) error {
		return errors.Join(exhaust(p), unix.Chmod(p.out+"/file", 0o777))
	}))
	for _, deed := range []string{"write", "openat2", "truncate", "rename", "unlink", "link"} {
		a := outside("not readable: "+deed, "E18", blind(deed))
		a.before = func(h *host, p place) { h.put(p.out+"/file", "data\n", 0o644) }
		rows = append(rows, a)
	}
	tired := outside("write after more refusals than are kept", "E18", func(p place) error {
		return errors.Join(exhaust(p), writeTo(p.out+"/file", unix.O_WRONLY))
	})
	tired.before = func(h *host, p place) { h.put(p.out+"/file", "data\n", 0o644) }
	rows = append(rows, tired,
		protected("not readable: {shell}", "E28", "{shell}", blind("shell")),
		protected("not readable: {agent2} that was absent", "E29", "{agent2}", blind("agent")),
		protected("not readable: a hook of a nested repository", "E10", "sub/.git/hooks", blind("hook")),
		protected("not readable: the ancestor of a nested repository moved", "E11", "sub", blind("move")),
		foreign("chmod by a program that may only be executed", "E18", "files of other users outside the write roots", blind("chmod theirs")))
	return append(rows, privilegedPrograms()...)
}

// exhaust causes more refusals than the broker keeps.
func exhaust(p place) error {
	if err := unix.Mkdir(p.out+"/none", 0o755); err == nil || err == unix.EEXIST {
		return nil // without a sandbox nothing is refused
	}
	for i := range evidence.MaxDenials + 10 {
		if err := unix.Mkdir(p.out+"/none"+strconv.Itoa(i), 0o755); err == nil {
			return errors.New("something was made outside")
		}
	}
	return nil
}

// privilegedPrograms are rows that leave a program in the workspace that runs with its creator's
// rights.
func privilegedPrograms() []attempt {
	planted := func(name string, do func(p place) error) attempt {
		return attempt{
			name: "set-user-id in the workspace: " + name, escape: "E18", protects: "the rights of the user, and root's", weakness: "set-user-id", do: do,
			landed: func(_ *host, p place) bool {
				return slices.ContainsFunc([]string{"/mine", "/planted"}, func(name string) bool {
					info, err := os.Stat(p.in + name)
					return err == nil && info.Mode()&os.ModeSetuid != 0
				})
			},
		}
	}
	const suid = 0o4755
	open := func(p place, flags int) (int, error) {
		return unix.Open(p.in+"/planted", flags|unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, suid)
	}
	return []attempt{
		planted("chmod", func(p place) error { return unix.Chmod(p.in+"/mine", suid) }),
		planted("chmod by a program that may only be executed", blind("chmod mine")),
		planted("fchmod by a program that may only be executed", blind("fchmod mine")),
		planted("open", func(p place) error { _, err := open(p, 0); return err }),
		planted("openat2", func(p place) error {
			_, err := unix.Openat2(unix.AT_FDCWD, p.in+"/planted", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_EXCL | unix.O_RDWR, Mode: suid})
			return err
		}),
		planted("mknod", func(p place) error { return unix.Mknod(p.in+"/planted", unix.S_IFREG|suid, 0) }),
		planted("O_TMPFILE and linkat", func(p place) error {
			fd, err := unix.Open(p.in, unix.O_TMPFILE|unix.O_RDWR, suid)
			if err != nil {
				return err
			}
			return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, p.in+"/planted", unix.AT_SYMLINK_FOLLOW)
		}),
	}
}
