//go:build linux

package escapes

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// terminalEscapes reach one of the user's terminals. Each row has its own, which the host has open
// and another program may use.
func terminalEscapes() []attempt {
	const terminals = "the user's terminals: what they show, and what is typed there"
	writes := func(name string, path func(p place) string) attempt {
		return attempt{
			name: "terminal: " + name, escape: "E40", protects: terminals, before: openForRow,
			do: func(p place) error {
				return withFD(path(p), unix.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, func(fd int) error {
					_, err := unix.Write(fd, []byte("pwned "+p.in+"\n"))
					return err
				})
			},
			landed: func(h *host, p place) bool { return strings.Contains(h.shown(p), "pwned") },
		}
	}
	does := func(name string, do func(p place, path string) error) attempt {
		return attempt{name: "terminal: " + name, escape: "E40", protects: terminals, word: true, before: openForRow,
			do: func(p place) error { return do(p, terminalOfRow(p, 0)) }}
	}
	return []attempt{
		writes("by its name", func(p place) string { return terminalOfRow(p, 0) }),
		writes("through a symlink", func(p place) string {
			_ = os.Symlink(terminalOfRow(p, 0), p.in+"/l")
			return p.in + "/l"
		}),
		writes("by the host's descriptor of it", func(p place) string { return attack.ProcOf(p.Host, "fd/"+terminalOfRow(p, 2)) }),
		writes("below the host's root", func(p place) string { return attack.ProcOf(p.Host, "root"+terminalOfRow(p, 0)) }),
		does("opened to read", func(_ place, path string) error {
			return withFD(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK, func(int) error { return nil })
		}),
		does("its near end, by the host's descriptor", func(p place, _ string) error {
			return withFD(attack.ProcOf(p.Host, "fd/"+terminalOfRow(p, 1)), unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, func(int) error { return nil })
		}),
		does("its mode", func(_ place, path string) error { return unix.Chmod(path, 0o666) }),
		does("reached from one of the attacker's own", func(_ place, path string) error {
			near, err := unix.Open(kernel.Ptmx, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
			if err != nil {
				near = -1 // without a private /dev/pts: only the name is tried
			}
			defer unix.Close(near)
			n, _ := strconv.Atoi(strings.TrimPrefix(path, kernel.PtsDir+"/"))
			if own, err := unix.IoctlGetInt(near, unix.TIOCGPTN); err == nil && own == n {
				return errors.New("a terminal of its own, with the same number")
			}
			return withFD(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCNXCL, 0) })
		}),
	}
}

// openForRow opens a terminal. It records its path and the numbers of the host's descriptors of
// both ends.
func openForRow(h *host, p place) {
	near, far := attack.OpenTerminal(h.t)
	h.terminals[p.in] = near
	h.t.Cleanup(func() { far.Close() })
	h.put(p.in+"/terminal", far.Name()+" "+strconv.Itoa(int(near.Fd()))+" "+strconv.Itoa(int(far.Fd())), 0o644)
}

// terminalOfRow is one word of that record.
func terminalOfRow(p place, i int) string {
	text, err := os.ReadFile(p.in + "/terminal")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) != 3 {
		panic("the row has no terminal")
	}
	return fields[i]
}

// shown is the output on a row's terminal.
func (h *host) shown(p place) string {
	h.t.Helper()
	fd := int(h.terminals[p.in].Fd())
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 0); err != nil || n == 0 {
		return ""
	}
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(buf[:n])
}
