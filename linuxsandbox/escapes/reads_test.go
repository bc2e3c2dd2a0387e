//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"codeagent/internal/attack"

	"golang.org/x/sys/unix"
)

// reads is a row that reads what the policy "reads" denies.
func reads(name, escape string, path func(p place) (string, error)) attempt {
	return attempt{
		name: "deny-read: " + name, escape: escape, protects: "files that may not be read", policy: "reads", word: true,
		do: func(p place) error {
			way, err := path(p)
			if err != nil {
				return err
			}
			return hasSecret(way)
		},
	}
}

// hasSecret succeeds if the file at path contains the secret.
func hasSecret(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(data), attack.HostSecret) {
		err = errors.New("something else is there")
	}
	return err
}

func readEscapes() []attempt {
	secret := func(p place) string { return p.secret + "/file" }
	byLink := func(target func(p place) string, rest string) func(p place) (string, error) {
		return func(p place) (string, error) { return p.in + "/l" + rest, os.Symlink(target(p), p.in+"/l") }
	}
	plain := func(f func(p place) string) func(p place) (string, error) {
		return func(p place) (string, error) { return f(p), nil }
	}
	rows := []attempt{
		reads("by its name", "E2", plain(secret)),
		reads("through a symlink", "E2", byLink(secret, "")),
		reads("through a symlinked folder", "E2", byLink(func(p place) string { return p.secret }, "/file")),
		reads("through ..", "E9", plain(func(p place) string { return p.in + "/../../secret/" + base(p.in) + "/file" })),
		reads("through /proc/self/root", "E6", plain(func(p place) string { return "/proc/self/root" + p.secret + "/file" })),
		reads("through /proc/self/cwd", "E6", plain(func(p place) string { return "/proc/self/cwd/../../secret/" + base(p.in) + "/file" })),
		reads("through the root of the host", "E6", plain(func(p place) string { return "/proc/" + strconv.Itoa(p.Host) + "/root" + p.secret + "/file" })),
		reads("through a descriptor of the path", "E6", func(p place) (string, error) {
			fd, err := unix.Open(p.secret+"/file", unix.O_PATH, 0)
			return fmt.Sprintf("/proc/self/fd/%d", fd), err
		}),
		reads("through a folder's descriptor", "E22", func(p place) (string, error) {
			fd, err := unix.Open(p.secret, unix.O_PATH|unix.O_DIRECTORY, 0)
			return fmt.Sprintf("/proc/self/fd/%d/file", fd), err
		}),
		reads("through a new hard link", "E19", func(p place) (string, error) { return p.in + "/h", unix.Link(p.secret+"/file", p.in+"/h") }),
		reads("moved into the workspace", "E62", func(p place) (string, error) { return p.in + "/m", unix.Rename(p.secret+"/file", p.in+"/m") }),
		reads("its folder moved into the workspace", "E62", func(p place) (string, error) {
			return p.in + "/m/file", unix.Rename(p.secret+"/dir", p.in+"/m")
		}),
		reads("exchanged into the workspace", "E62", func(p place) (string, error) {
			return p.in + "/mine", unix.Renameat2(unix.AT_FDCWD, p.secret+"/file", unix.AT_FDCWD, p.in+"/mine", unix.RENAME_EXCHANGE)
		}),
		reads("by another program", "E33", func(p place) (string, error) {
			out, err := exec.Command("/bin/cat", p.secret+"/file").Output()
			return p.in + "/copy", errors.Join(err, os.WriteFile(p.in+"/copy", out, 0o644))
		}),
	}
	rows = append(rows,
		attempt{name: "deny-read: list its folder", escape: "E2", protects: "names that may not be read", policy: "reads", word: true,
			do: func(p place) error { _, err := os.ReadDir(p.secret); return err }},
		attempt{name: "deny-read: write it", escape: "E2", protects: "files that may be neither read nor written", policy: "reads",
			do: func(p place) error { return writeTo(p.secret+"/file", unix.O_WRONLY) }},
	)
	return append(append(rows, globEscapes()...), rootEscapes()...)
}

// globEscapes read files that a pattern denies.
func globEscapes() []attempt {
	glob := func(name string, path func(p place) (string, error)) attempt {
		a := reads("glob, "+name, "E16", path)
		a.weakness = "deny-read-glob"
		a.before = func(h *host, p place) { h.put(p.in+"/sub/.secret", attack.HostSecret, 0o644) }
		return a
	}
	return []attempt{
		glob("by its name", func(p place) (string, error) { return p.in + "/sub/.secret", nil }),
		glob("through a symlink", func(p place) (string, error) { return p.in + "/l", os.Symlink("sub/.secret", p.in+"/l") }),
		glob("through a new hard link", func(p place) (string, error) { return p.in + "/h", unix.Link(p.in+"/sub/.secret", p.in+"/h") }),
		glob("renamed", func(p place) (string, error) { return p.in + "/m", unix.Rename(p.in+"/sub/.secret", p.in+"/m") }),
		glob("its folder renamed", func(p place) (string, error) { return p.in + "/m/.secret", unix.Rename(p.in+"/sub", p.in+"/m") }),
	}
}

// rootEscapes read outside the read roots of the strict preset.
func rootEscapes() []attempt {
	strict := func(name, escape string, do func(p place) error) attempt {
		return attempt{name: "strict: " + name, escape: escape, protects: "files outside the read roots", policy: "roots", word: true, do: do}
	}
	return []attempt{
		strict("read", "E21", func(p place) error { return hasSecret(p.secret + "/file") }),
		strict("list", "E21", func(p place) error { _, err := os.ReadDir(p.secret); return err }),
		strict("execute", "E21", func(p place) error { return exec.Command(p.out + "/program").Run() }),
		strict("read through /proc/self/root", "E6", func(p place) error { return hasSecret("/proc/self/root" + p.secret + "/file") }),
		strict("read through a symlink", "E2", func(p place) error {
			return errors.Join(os.Symlink(p.secret+"/file", p.in+"/l"), hasSecret(p.in+"/l"))
		}),
		strict("map a file", "E21", func(p place) error {
			return withFD(p.secret+"/file", unix.O_RDONLY, func(fd int) error {
				m, err := unix.Mmap(fd, 0, 4, unix.PROT_READ, unix.MAP_PRIVATE)
				if err == nil {
					err = unix.Munmap(m)
				}
				return err
			})
		}),
	}
}

// ownEscapes change codeagent's own files inside the workspace. The state after the end of the
// command counts.
func ownEscapes() []attempt {
	own := func(name, escape string, do func(p place) error) attempt {
		return attempt{
			name: "own: " + name, escape: escape, protects: "codeagent's own programs and settings", policy: "own", do: do,
			before: func(h *host, p place) { h.put(p.in+"/bin/tool", "a program", 0o755) },
			landed: func(_ *host, p place) bool {
				data, err := os.ReadFile(p.in + "/bin/tool")
				info, bad := os.Lstat(p.in + "/bin/tool")
				_, planted := os.Lstat(p.in + "/absent-settings")
				return err != nil || bad != nil || string(data) != "a program" || info.Mode() != 0o755 || planted == nil
			},
		}
	}
	return []attempt{
		own("overwrite a program", "E23", func(p place) error { return writeTo(p.in+"/bin/tool", unix.O_WRONLY) }),
		own("replace a program", "E23", func(p place) error { return unix.Rename(p.in+"/mine", p.in+"/bin/tool") }),
		own("unlink a program", "E23", func(p place) error { return unix.Unlink(p.in + "/bin/tool") }),
		own("chmod a program", "E23", func(p place) error { return unix.Chmod(p.in+"/bin/tool", 0o777) }),
		own("rename its folder and make another", "E11", func(p place) error {
			return do(renamed(p, "bin", "x"), planted(p, "bin/tool"))
		}),
		own("a symlink in place of its folder", "E11", func(p place) error {
			return do(planted(p, "sub/tool"), renamed(p, "bin", "x"), func() error { return os.Symlink("sub", p.in+"/bin") })
		}),
		own("settings that were absent", "E13", made("absent-settings")),
		own("settings that were absent, as a symlink", "E13", func(p place) error { return os.Symlink("mine", p.in+"/absent-settings") }),
	}
}
