//go:build linux

package keeper

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"

	"golang.org/x/sys/unix"
)

// codeagent may run in its own checkout, with its binaries in bin/, where every command may write.
// The threat is a command that replaces codeagent and so runs unconfined the next time. Landlock
// cannot exclude bin/ from the workspace. So a change there is undone when the last process of the
// command has ended, before anything could start the file:
//
//	Start   keep identity, size, times, mode and a sealed copy of each file
//	end     compare; restore a file that differs, and record a Denial
//
// codeagent does this, or the keeper if codeagent has ended. It trusts nothing on the way to the
// file: the command may have made links and folders there.

// ownFile is a spec.OwnFile that can be restored.
type ownFile spec.OwnFile

// StateIn returns the state of a file from what fstat(2) said.
func StateIn(st *unix.Stat_t) spec.FileState {
	return spec.FileState{
		Exists: true, Dev: st.Dev, Ino: st.Ino, Mode: st.Mode, UID: st.Uid, GID: st.Gid,
		Size: st.Size, Mtime: st.Mtim, Ctime: st.Ctim,
	}
}

// StateOf returns the state of an open file.
func StateOf(fd int) (spec.FileState, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return spec.FileState{}, err
	}
	return StateIn(&st), nil
}

// StateAt returns the state of the file at path and follows no link. If a link is on the way, the
// file counts as absent: that path no longer leads to it.
func StateAt(path string) (spec.FileState, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, fs.ErrNotExist) || err == unix.ENOTDIR || err == unix.ELOOP {
		return spec.FileState{}, nil
	}
	if err != nil {
		return spec.FileState{}, err
	}
	defer unix.Close(fd)
	return StateOf(fd)
}

// Changed reports whether the file differs from its recorded state. A file that cannot be examined
// counts as changed.
func Changed(o spec.OwnFile) bool {
	now, err := StateAt(o.Path)
	return err != nil || now != o.State
}

// Restore gives the file its recorded state back and returns its new state.
func Restore(own spec.OwnFile) (spec.FileState, error) {
	o := ownFile(own)
	parent, err := o.openParent()
	if err != nil {
		return spec.FileState{}, err
	}
	defer unix.Close(parent)
	base := filepath.Base(o.Path)
	if !o.State.Exists {
		if err := removeEntry(parent, base); err != nil {
			return spec.FileState{}, fmt.Errorf("remove what was planted at %s: %w", o.Path, err)
		}
		return spec.FileState{}, nil
	}
	want, err := o.replace(parent, base)
	if err != nil {
		return spec.FileState{}, fmt.Errorf("put back %s: %w", o.Path, err)
	}
	// Another command may have moved a folder meanwhile.
	now, err := StateAt(o.Path)
	if err != nil || now.Ino != want.Ino || now.Dev != want.Dev {
		return spec.FileState{}, fmt.Errorf("put back %s: another file has taken its place", o.Path)
	}
	return now, nil
}

// replace writes the copy to a new file and renames it over base.
func (o ownFile) replace(parent int, base string) (spec.FileState, error) {
	if o.SourceState != nil {
		if now, err := StateOf(o.Source); err != nil || now.Size != o.SourceState.Size || now.Mtime != o.SourceState.Mtime {
			return spec.FileState{}, errors.New("the file was changed in place, and there is no copy of it")
		}
	}
	temp := spareName(base)
	fd, err := unix.Openat(parent, temp, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return spec.FileState{}, err
	}
	defer unix.Close(fd)
	_, err = io.CopyN(kernel.File(fd), io.NewSectionReader(kernel.File(o.Source), 0, o.State.Size), o.State.Size)
	if err == io.EOF {
		err = errors.New("the copy is too short")
	}
	if err == nil {
		err = o.dress(fd)
	}
	if err == nil {
		err = clearDir(parent, base)
	}
	if err == nil {
		err = unix.Renameat(parent, temp, parent, base)
	}
	if err != nil {
		_ = unix.Unlinkat(parent, temp, 0)
		return spec.FileState{}, err
	}
	return StateOf(fd)
}

// dress gives the new file the owner, mode and modification time of the old one.
func (o ownFile) dress(fd int) error {
	now, err := StateOf(fd)
	if err != nil {
		return err
	}
	if now.UID != o.State.UID || now.GID != o.State.GID {
		if err := unix.Fchown(fd, int(o.State.UID), int(o.State.GID)); err != nil {
			return err
		}
	}
	if err := unix.Fchmod(fd, o.State.Mode&0o7777); err != nil {
		return err
	}
	return unix.UtimesNanoAt(fd, "", []unix.Timespec{o.State.Mtime, o.State.Mtime}, unix.AT_EMPTY_PATH)
}

// openParent opens each folder from / to the file's, one name at a time and through no link. Below
// the write root it restores the folders too: it moves aside what replaced a folder, creates a
// missing one and sets its mode.
func (o ownFile) openParent() (int, error) {
	at, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	names := strings.Split(strings.TrimPrefix(filepath.Dir(o.Path), "/"), "/")
	rootDepth := 0
	if o.Root != "/" {
		rootDepth = strings.Count(o.Root, "/")
	}
	for depth, name := range names {
		if name == "" {
			continue
		}
		next, err := openDir(at, name)
		if inside := depth + 1 - rootDepth; inside >= 0 && inside < len(o.Dirs) {
			next, err = o.mend(at, next, name, o.Dirs[inside], inside > 0, err)
		}
		unix.Close(at)
		if err != nil {
			return -1, fmt.Errorf("the folder /%s has changed: %w", strings.Join(names[:depth+1], "/"), err)
		}
		at = next
	}
	return at, nil
}

// mend restores the folder name in at. fd and err are the result of opening it. With mayMake it
// moves aside what is there and creates the folder.
func (o ownFile) mend(at, fd int, name string, mode uint32, mayMake bool, err error) (int, error) {
	if err != nil && mayMake {
		if err != unix.ENOENT {
			if err := aside(at, name); err != nil {
				return -1, err
			}
		}
		if err := unix.Mkdirat(at, name, 0o700); err != nil {
			return -1, err
		}
		fd, err = openDir(at, name)
	}
	if err != nil {
		return -1, err
	}
	now, err := StateOf(fd)
	if err == nil && now.Mode&0o7777 != mode&0o7777 {
		// fchmod(2) refuses an O_PATH descriptor.
		err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode&0o7777)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func openDir(at int, name string) (int, error) {
	return unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// removeEntry removes name. It moves a directory aside.
func removeEntry(at int, name string) error {
	if err := clearDir(at, name); err != nil {
		return err
	}
	if err := unix.Unlinkat(at, name, 0); err != nil && err != unix.ENOENT {
		return err
	}
	return nil
}

// clearDir moves name aside if it is a directory.
func clearDir(at int, name string) error {
	var st unix.Stat_t
	err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT || err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	if err != nil {
		return err
	}
	return aside(at, name)
}

// aside renames name, so that nothing of the user's is deleted.
func aside(at int, name string) error {
	return unix.Renameat2(at, name, at, spareName(name), unix.RENAME_NOREPLACE)
}

// spareName is a name beside name that is unlikely to exist.
func spareName(name string) string {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return name + ".refused-" + strconv.FormatInt(ts.Nano(), 36)
}

// restoreAll restores the files from the keeper, after codeagent has ended. Nobody can receive an
// error; the next start refuses to run if a file was not restored.
func restoreAll(own []spec.OwnFile) {
	for _, o := range own {
		if Changed(o) {
			_, _ = Restore(o)
		}
	}
}
