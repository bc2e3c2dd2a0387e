package hostfile

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Replacement is a file that will be written as a whole. Its folder is open from the
// start, so a command that changes the path meanwhile has no effect. Readers see the old or
// the new content.
type Replacement struct {
	dir  int
	name string
	path string
	perm fs.FileMode
	// inPlace: no file can be created in the folder, but codeagent's user may write this one.
	// No command can then have put it there.
	inPlace bool
}

// Replace prepares to write the file path, which is canonical. The path must be a regular
// file, or absent; then perm, less the umask, is the mode of the new file.
func Replace(path string, perm fs.FileMode) (*Replacement, error) {
	dir, name, err := parent(path)
	if err != nil {
		return nil, failed("write", path, err)
	}
	r := &Replacement{dir: dir, name: name, path: path, perm: perm}
	var was *unix.Stat_t
	if was, err = r.there(); err == nil {
		err = r.try(was != nil)
	}
	if err != nil {
		r.Close()
		return nil, failed("write", path, err)
	}
	return r, nil
}

// try finds out whether a file can be created in the folder.
func (r *Replacement) try(exists bool) error {
	probe, err := r.temporary()
	if exists && (err == unix.EACCES || err == unix.EPERM || err == unix.EROFS) {
		var f *os.File
		if f, err = r.open(); err == nil {
			r.inPlace = true
			err = f.Close()
		}
		return err
	}
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), unix.Unlinkat(r.dir, filepath.Base(probe.Name()), 0))
}

// open opens the present file for writing.
func (r *Replacement) open() (*os.File, error) {
	fd, err := OpenAt(r.dir, r.name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	return regular(fd, r.path)
}

// there returns the present entry of the name; nil if it is absent.
func (r *Replacement) there() (*unix.Stat_t, error) {
	var st unix.Stat_t
	err := Retry(func() error { return unix.Fstatat(r.dir, r.name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case err == unix.ENOENT:
		return nil, nil
	case err != nil:
		return nil, err
	}
	is := uint32(st.Mode) & unix.S_IFMT
	if is == unix.S_IFREG {
		return &st, nil
	}
	return nil, &KindError{cmp.Or(otherKinds[is], fs.ModeDevice)}
}

var otherKinds = map[uint32]fs.FileMode{
	unix.S_IFDIR: fs.ModeDir, unix.S_IFLNK: fs.ModeSymlink, unix.S_IFIFO: fs.ModeNamedPipe, unix.S_IFSOCK: fs.ModeSocket,
}

// Write writes the output of write to a new file and renames it to the path.
func (r *Replacement) Write(write func(io.Writer) error) error {
	err := r.write(write)
	if err == nil {
		// Sync the folder as well, so that the name is on disk, if the file system supports it.
		if dir, derr := OpenAt(r.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0); derr == nil {
			_ = unix.Fsync(dir)
			unix.Close(dir)
		}
	}
	return failed("write", r.path, err)
}

func (r *Replacement) write(write func(io.Writer) error) error {
	if r.inPlace {
		return r.overwrite(write)
	}
	was, err := r.there()
	var planted *KindError // put there since Replace: the rename replaces it and follows no link
	if err != nil && !(errors.As(err, &planted) && !planted.Mode.IsDir()) {
		return err
	}
	f, err := r.temporary()
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil && was != nil {
		err = dress(f, was)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	temporary := filepath.Base(f.Name())
	if err == nil {
		err = Retry(func() error { return unix.Renameat(r.dir, temporary, r.dir, r.name) })
	}
	if err == unix.EBUSY { // a mount point: usually a single file in a container
		err = r.overwrite(write)
		_ = unix.Unlinkat(r.dir, temporary, 0)
		return err
	}
	if err != nil {
		_ = unix.Unlinkat(r.dir, temporary, 0)
	}
	return err
}

// overwrite writes the present file in place, if no file can be created in the folder.
func (r *Replacement) overwrite(write func(io.Writer) error) error {
	f, err := r.open()
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		err = write(f)
	}
	return errors.Join(err, f.Close())
}

// dress gives the new file the owner and the permissions of the old one, if the file system
// supports them.
func dress(f *os.File, was *unix.Stat_t) error {
	if os.Geteuid() == 0 { // only root may change the owner of a file
		_ = f.Chown(int(was.Uid), int(was.Gid)) // on failure the file belongs to codeagent's user
	}
	want := fs.FileMode(was.Mode & 0o777)
	err := f.Chmod(want)
	if info, serr := f.Stat(); err != nil && serr == nil && info.Mode().Perm()&^want == 0 {
		err = nil
	}
	return err
}

func (r *Replacement) temporary() (*os.File, error) {
	for {
		name := ".codeagent-" + token()
		fd, err := OpenAt(r.dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, uint32(r.perm.Perm()))
		if err == unix.EEXIST {
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// Close closes the folder. If nothing was written, the old file stays.
func (r *Replacement) Close() error { return unix.Close(r.dir) }

// Write replaces the file path with data.
func Write(path string, data []byte, perm fs.FileMode) error {
	r, err := Replace(path, perm)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Write(func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	})
}

// token returns a random name.
func token() string { return rand.Text()[:12] }
