//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"codeagent/internal/attack"

	"golang.org/x/sys/unix"
)

// sessionEscapes reach for the user's own things: secrets in the environment of the user's
// processes, and the user's terminal.
func sessionEscapes() []attempt {
	rows := []attempt{
		{name: "secrets: the environment of every process", escape: "E39", protects: "keys in the environment", word: true,
			do: func(place) error { return anySecret("/proc/[0-9]*/environ") }},
		{name: "secrets: the environment of every thread", escape: "E39", protects: "keys in the environment", word: true,
			do: func(place) error { return anySecret("/proc/[0-9]*/task/[0-9]*/environ") }},
	}
	terminal := func(name string, path func(name string, fd int, p place) string) attempt {
		return attempt{
			name: "terminal: " + name, escape: "E40", protects: "what the person at the terminal reads and trusts", word: true,
			before: func(h *host, p place) {
				_, slave := attack.OpenTerminal(h.t)
				h.t.Cleanup(func() { slave.Close() })
				h.put(p.in+"/terminal", fmt.Sprintf("%s %d", slave.Name(), slave.Fd()), 0o644)
			},
			do: func(p place) error {
				var device string
				var fd int
				text, err := os.ReadFile(p.in + "/terminal")
				if err == nil {
					_, err = fmt.Sscan(string(text), &device, &fd)
				}
				if err != nil {
					return err
				}
				return writeTo(path(device, fd, p), unix.O_WRONLY|unix.O_NOCTTY)
			},
		}
	}
	return append(rows,
		terminal("write to it", func(device string, _ int, _ place) string { return device }),
		terminal("write to it by codeagent's descriptor", func(_ string, fd int, p place) string {
			return attack.ProcOf(p.Host, "fd/"+strconv.Itoa(fd))
		}),
		terminal("write to it through the root of codeagent", func(device string, _ int, p place) string { return attack.ProcOf(p.Host, "root"+device) }),
	)
}

// setUIDEscapes become another user through a set-user-ID program such as sudo.
func setUIDEscapes() []attempt {
	return []attempt{{
		name: "a set-user-id program", escape: "-", protects: "the rights of other users, and root's by sudo", word: true,
		do: func(p place) error {
			out, err := exec.Command(p.SetUID, "-u").Output()
			if who := strings.TrimSpace(string(out)); err == nil && who != strconv.Itoa(attack.StrangerUID) {
				err = errors.New("it runs as " + who)
			}
			return err
		},
		cannot: func(attack.Setting) string {
			var fs unix.Statfs_t
			switch on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); {
			case err != nil || on != 0:
				return "the tests themselves run without set-user-id"
			case unix.Statfs(attack.SetUIDProgram(), &fs) != nil || fs.Flags&unix.ST_NOSUID != 0:
				return "the file system of the tests is mounted without set-user-id"
			}
			return ""
		},
	}}
}

// anySecret looks for the secret in every file that matches the pattern.
func anySecret(pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, file := range files {
		if hasSecret(file) == nil {
			return nil
		}
	}
	return errors.New("it is in none of them")
}
