package hostfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Replacement is a file that will be written as a whole. Its folder is held open from
// the start: what a command does meanwhile to the path, or to the name, leads it
// nowhere else, and whoever reads the file sees the old or the new.
type Replacement struct {
	dir  int
	name string
	path string
	perm fs.FileMode
}

// Replace prepares to write the file path, which is canonical. What stands there must
// be a regular file, or nothing; then perm is the new one's mode, less the umask.
func Replace(path string, perm fs.FileMode) (*Replacement, error) {
	dir, name, err := parent(path)
	if err != nil {
		return nil, failed("write", path, err)
	}
	r := &Replacement{dir, name, path, perm}
	if _, err = r.there(); err == nil {
		var probe *os.File // is the folder one to write in?
		if probe, err = r.temporary(); err == nil {
			probe.Close()
			err = unix.Unlinkat(dir, filepath.Base(probe.Name()), 0)
		}
	}
	if err != nil {
		r.Close()
		return nil, failed("write", path, err)
	}
	return r, nil
}

// there is what stands at the name now, nil for nothing.
func (r *Replacement) there() (*unix.Stat_t, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(r.dir, r.name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case err == unix.ENOENT:
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return &st, nil
	case unix.S_IFDIR:
		return nil, &KindError{fs.ModeDir}
	case unix.S_IFLNK:
		return nil, &KindError{fs.ModeSymlink}
	case unix.S_IFIFO:
		return nil, &KindError{fs.ModeNamedPipe}
	case unix.S_IFSOCK:
		return nil, &KindError{fs.ModeSocket}
	}
	return nil, &KindError{fs.ModeDevice}
}

// Write writes what write gives, and puts it in the place of what is there.
func (r *Replacement) Write(write func(io.Writer) error) error {
	err := r.write(write)
	if err == nil {
		// The name is on the disk with its folder, where the file system has that.
		if dir, derr := openat(r.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0); derr == nil {
			_ = unix.Fsync(dir)
			unix.Close(dir)
		}
	}
	return failed("write", r.path, err)
}

func (r *Replacement) write(write func(io.Writer) error) error {
	was, err := r.there()
	var planted *KindError // since Replace: the rename takes its place, and follows nothing
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
		err = retry(func() error { return unix.Renameat(r.dir, temporary, r.dir, r.name) })
	}
	if err != nil {
		_ = unix.Unlinkat(r.dir, temporary, 0)
	}
	return err
}

// dress gives the new file the owner and the permissions of the old one.
func dress(f *os.File, was *unix.Stat_t) error {
	if os.Geteuid() == 0 { // nobody else may give a file away
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(fs.FileMode(was.Mode & 0o777))
}

func (r *Replacement) temporary() (*os.File, error) {
	for {
		name := ".codeagent-" + token()
		fd, err := openat(r.dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, uint32(r.perm.Perm()))
		if err == unix.EEXIST {
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// Close lets go of the folder. What was not written stays as it was.
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

// token is a name that is free.
func token() string { return rand.Text()[:12] }
