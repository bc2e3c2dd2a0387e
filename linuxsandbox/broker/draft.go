//go:build linux

package broker

import (
	"errors"
	"os"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// On a draft, overlayfs renames no folder that its lower layer has: the new name would have to lead to the old folder
// there (redirect_dir, which it has only for privileged mounts). rename(2) fails with EXDEV then, which few programs but
// mv expect for two names in one folder. So the broker makes the folder at its new name and renames what is in it.
// A command that looks meanwhile may see a part at each name.

// mostMoved bounds the entries that one rename moves this way: the broker answers no other call meanwhile.
const mostMoved = 20_000

// renameOnDraft renames the folder of m entry by entry. It reports each to o first.
func (m *moveCall) renameOnDraft(o *observer) error {
	var from, to unix.Stat_t // the folders, which tell the overlays of two roots apart
	if err := errors.Join(unix.Fstat(m.From.Dir, &from), unix.Fstat(m.To.Dir, &to)); err != nil {
		return err
	}
	if !kernel.IsFolder(&m.Old) || m.Exchange() || from.Dev != to.Dev {
		return unix.EXDEV
	}
	left := mostMoved
	if err := countBelow(m.From.Dir, m.From.Last, m.From.Full(), &left, o); err != nil {
		return err
	}
	if m.There {
		if err := unix.Unlinkat(m.To.Dir, m.To.Last, unix.AT_REMOVEDIR); err != nil {
			return err
		}
	}
	return moveFolder(m.From.Dir, m.From.Last, m.To.Dir, m.To.Last)
}

// failed answers a rename or link that err stopped. Between two folders of a draft neither works, as between any two file
// systems. That is recorded, since it works on the files themselves.
func (h *moves) failed(n *notify.Notification, call, path string, err error) notify.Reply {
	if err == unix.EXDEV && h.observer.draft != nil {
		h.deny.log.Record(n, sandbox.Denial{Kind: sandbox.KindWrite, Operation: call, Target: path, Errno: "EXDEV", Moot: true, MootReason: "on a draft each write root is a file system"})
	}
	return h.deny.performed(n, call, path, err)
}

func folderAt(dir int, name string) (*os.File, error) {
	fd, err := kernel.Openat2(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, unix.RESOLVE_BENEATH)
	return os.NewFile(uintptr(fd), name), err
}

// countBelow takes the entries below the folder at path from left.
func countBelow(dir int, name, path string, left *int, o *observer) error {
	f, err := folderAt(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return unix.EIO
	}
	if *left -= len(entries); *left < 0 {
		return unix.EXDEV
	}
	for _, e := range entries {
		if a, stops := o.copies(path + "/" + e.Name()); stops {
			return a.Errno
		}
		o.note(path + "/" + e.Name())
		if e.IsDir() {
			if err := countBelow(int(f.Fd()), e.Name(), path+"/"+e.Name(), left, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveFolder makes the folder at its new name, with the permissions, owner and times of the old one, and renames its
// entries.
func moveFolder(from int, old string, to int, name string) error {
	f, err := folderAt(from, old)
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if err := unix.Mkdirat(to, name, 0o700); err != nil {
		return err
	}
	g, err := folderAt(to, name)
	if err != nil {
		return err
	}
	defer g.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return unix.EIO
	}
	for _, entry := range names {
		err := unix.Renameat2(int(f.Fd()), entry, int(g.Fd()), entry, unix.RENAME_NOREPLACE)
		if err == unix.EXDEV {
			err = moveFolder(int(f.Fd()), entry, int(g.Fd()), entry)
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Fchown(int(g.Fd()), int(st.Uid), int(st.Gid)); err != nil && err != unix.EPERM {
		return err
	}
	if err := unix.Fchmod(int(g.Fd()), st.Mode&0o7777); err != nil {
		return err
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	if err := unix.UtimesNanoAt(int(g.Fd()), ".", times, 0); err != nil {
		return err
	}
	return unix.Unlinkat(from, old, unix.AT_REMOVEDIR)
}
