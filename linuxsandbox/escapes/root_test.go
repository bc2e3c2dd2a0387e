//go:build linux

package escapes

import (
	"os"
	"os/exec"
	"strconv"

	"codeagent/internal/attack"

	"golang.org/x/sys/unix"
)

// In another user's workspace, root retains its file capabilities (spec.FileCaps), because it could
// not work there without them. They must have no effect outside.

const workspaceOwner = 4711

// foreign is a row that root attempts in a workspace of workspaceOwner. Files outside belong to a
// third user.
func foreign(name, escape, protects string, do func(p place) error) attempt {
	return attempt{
		name: "root in a foreign workspace: " + name, escape: escape, protects: protects, policy: "foreign", rootOnly: true, do: do,
		before: func(h *host, p place) {
			h.put(p.out+"/theirs", "data\n", 0o600)
			h.put(p.out+"/closed/theirs", "data\n", 0o600)
			h.put(p.secret+"/file", attack.HostSecret, 0o600)
			for path, mode := range map[string]os.FileMode{p.out + "/theirs": 0o600, p.out + "/closed/theirs": 0o600, p.out + "/closed": 0o700, p.secret + "/file": 0o600} {
				h.give(path, attack.StrangerUID, mode)
			}
			h.give(p.in, workspaceOwner, 0o755)
			h.give(p.in+"/mine", workspaceOwner, 0o644)
		},
	}
}

func (h *host) give(path string, uid int, mode os.FileMode) {
	h.t.Helper()
	if err := os.Chown(path, uid, uid); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		h.t.Fatal(err)
	}
}

func foreignRootEscapes() []attempt {
	const (
		files = "files of other users outside the write roots"
		power = "what capabilities beyond those of files give"
	)
	file := func(name, escape string, do func(p place) error) attempt { return foreign(name, escape, files, do) }
	said := func(a attempt) attempt {
		a.word = true
		return a
	}
	return append([]attempt{
		file("write a private file", "E18", func(p place) error { return writeTo(p.out+"/theirs", unix.O_WRONLY) }),
		file("append to a file in a closed folder", "E18", func(p place) error { return writeTo(p.out+"/closed/theirs", unix.O_WRONLY|unix.O_APPEND) }),
		file("truncate", "E20", func(p place) error { return unix.Truncate(p.out+"/theirs", 0) }),
		file("create in a closed folder", "E18", func(p place) error { return writeTo(p.out+"/closed/new", create) }),
		file("unlink", "E18", func(p place) error { return unix.Unlink(p.out + "/theirs") }),
		file("rename into the workspace", "E18", func(p place) error { return unix.Rename(p.out+"/theirs", p.in+"/taken") }),
		file("link into the workspace", "E19", func(p place) error { return unix.Link(p.out+"/theirs", p.in+"/taken") }),
		file("chmod", "E18", func(p place) error { return unix.Chmod(p.out+"/theirs", 0o666) }),
		file("chmod: set-user-id", "E18", func(p place) error { return unix.Chmod(p.out+"/theirs", 0o4777) }),
		file("chmod of a closed folder", "E18", func(p place) error { return unix.Chmod(p.out+"/closed", 0o777) }),
		file("chmod through a symlink of the workspace", "E1", func(p place) error {
			return do(func() error { return os.Symlink(p.out+"/theirs", p.in+"/l") }, func() error { return unix.Chmod(p.in+"/l", 0o666) })
		}),
		file("chown", "E18", func(p place) error { return unix.Chown(p.out+"/theirs", workspaceOwner, -1) }),
		file("utimes", "E18", func(p place) error { return unix.UtimesNanoAt(unix.AT_FDCWD, p.out+"/theirs", longAgo, 0) }),
		file("setxattr", "E18", func(p place) error { return unix.Setxattr(p.out+"/theirs", "user.planted", []byte("x"), 0) }),
		said(foreign("read what may not be read", "E2", "files that may not be read", func(p place) error { return hasSecret(p.secret + "/file") })),
		said(foreign("codeagent's environment", "E39", "codeagent's keys", func(p place) error { return hasSecret(attack.ProcOf(p.Host, "environ")) })),
		said(foreign("the parent's environment", "E39", "codeagent's keys", func(place) error { return hasBytes(attack.ProcOf(os.Getppid(), "environ")) })),
		said(foreign("the parent's memory", "E39", "codeagent's keys", func(place) error {
			return withFD(attack.ProcOf(os.Getppid(), "mem"), unix.O_RDONLY, func(int) error { return nil })
		})),
		said(foreign("become another user", "-", power, func(place) error {
			return rawCall(unix.SYS_SETRESUID, attack.StrangerUID, attack.StrangerUID, attack.StrangerUID)
		})),
		said(foreign("become another group", "-", power, func(place) error {
			return rawCall(unix.SYS_SETRESGID, attack.StrangerUID, attack.StrangerUID, attack.StrangerUID)
		})),
		said(foreign("a device in the workspace", "-", "the machine's disks", func(p place) error {
			return unix.Mknod(p.in+"/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
		})),
	}, killStranger())
}

// killStranger ends a process of another user, which requires CAP_KILL.
func killStranger() attempt {
	a := foreign("kill another user's process", "E39", "other users' processes", func(p place) error { return unix.Kill(friendOf(p), unix.SIGKILL) })
	owned := a.before
	a.before = func(h *host, p place) {
		owned(h, p)
		// SysProcAttr.Credential does not work here: the child would change its user while it still
		// has the memory of this process, and the kernel then lets nobody read it.
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = []string{attack.LauncherName, attack.SurroundPlain, strconv.Itoa(attack.StrangerUID), "/bin/sleep", "1000"}
		h.start(cmd)
		for comm := ""; comm != "sleep\n"; {
			text, err := os.ReadFile(attack.ProcOf(cmd.Process.Pid, "comm"))
			if err != nil {
				h.t.Fatal(err)
			}
			comm = string(text)
		}
		h.put(p.in+"/friend", strconv.Itoa(cmd.Process.Pid), 0o644)
	}
	a.landed = func(_ *host, p place) bool { return harmed(friendOf(p)) }
	return a
}
