// Package hostfile is the only room in which codeagent itself opens, writes and runs
// files on the host. It may touch any path, within the rules below. Start reading at
// walk.go, then ground.go, which knows the folders that commands may write.
//
// Threat: a sandboxed command shares folders with codeagent. It may plant a link, a FIFO
// or a program under a name that codeagent uses later, outside the sandbox and with the
// user's own rights.
//
// The rules:
//
//   - A path is absolute and is walked from the root through no symbolic link
//     (openat2 with RESOLVE_NO_SYMLINKS, or O_NOFOLLOW for each component).
//   - A name that a person gave may lead through links. Ground.Resolve follows
//     them first, and only those in folders that no command may write.
//   - Only regular files are read or written. Opening never waits for a FIFO's
//     other end, a device or the holder of a lease (O_NONBLOCK).
//   - Every read is bounded, and ends with its context.
//   - A whole file is replaced: a temporary file beside it, fsync, rename.
//   - A program is run only if no name on the way to it lies on ground that
//     commands may write (Ground.Program).
//
// The house test allows the functions of os, syscall and x/sys/unix that take a
// path only here, and in the exceptions of its table.
package hostfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrLink reports a symbolic link where none is followed.
var ErrLink = errors.New("symbolic links are not followed here")

// KindError says that something is not a regular file.
type KindError struct{ Mode fs.FileMode }

func (e *KindError) Error() string { return kindOf(e.Mode) + ", not a regular file" }

// kindOf names the type of a directory entry.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// failed adds the path to err. The kernel returns ELOOP for a link on a walk that follows
// none.
func failed(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.ELOOP) {
		err = ErrLink
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// Open opens the regular file path for reading.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for regular files.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	truncate := flag&os.O_TRUNC != 0 // only after it is known to be a regular file
	fd, err := walk(path, flag&^os.O_TRUNC|unix.O_NONBLOCK|unix.O_NOCTTY, uint32(perm.Perm()))
	if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EISDIR) {
		if info, serr := Lstat(path); serr == nil && !info.Mode().IsRegular() {
			err = &KindError{info.Mode()}
		}
	}
	if err != nil {
		return nil, failed("open", path, err)
	}
	f, err := regular(fd, path)
	if err == nil && truncate {
		if err = f.Truncate(0); err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, failed("open", path, err)
	}
	return f, nil
}

// regular makes a file from a descriptor that was opened with O_NONBLOCK.
func regular(fd int, path string) (*os.File, error) {
	// Reads and writes of a regular file may block on the disk.
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &KindError{info.Mode()}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenFolder opens the folder path, to list, lock or sync it.
func OpenFolder(path string) (*os.File, error) {
	fd, err := walk(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, failed("open", path, err)
	}
	_ = unix.SetNonblock(fd, false) // operations on a folder do not block
	return os.NewFile(uintptr(fd), path), nil
}

// OpenRoot opens the folder path as a root: operations through it stay inside it.
func OpenRoot(path string) (*os.Root, error) {
	dir, err := OpenFolder(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	walked, err := dir.Stat()
	var opened fs.FileInfo
	if err == nil {
		opened, err = root.Stat(".")
	}
	if err == nil && !os.SameFile(walked, opened) {
		err = failed("open", path, ErrLink)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// OpenPass opens the folder path to reach the entries in it, which needs no permission to
// list it.
func OpenPass(path string) (int, error) {
	fd, err := walk(path, onlyPass|unix.O_DIRECTORY, 0)
	return fd, failed("open", path, err)
}

// parent opens the folder that holds path, and returns the name in it.
func parent(path string) (dir int, name string, err error) {
	dir, err = walk(filepath.Dir(path), onlyPass|unix.O_DIRECTORY, 0)
	return dir, filepath.Base(path), err
}

// at calls do with the folder that holds path.
func at(op, path string, do func(dir int, name string) error) error {
	dir, name, err := parent(path)
	if err == nil {
		err = Retry(func() error { return do(dir, name) })
		unix.Close(dir)
	}
	return failed(op, path, err)
}

// Retry repeats a system call that a signal interrupts.
func Retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// Read reads the regular file path, which may have at most most bytes. If the file system does
// not answer, Read returns when ctx ends.
func Read(ctx context.Context, path string, most int64) ([]byte, error) {
	return read(ctx, path, most, false)
}

// ReadStart reads at most most bytes from the beginning of the regular file path.
func ReadStart(ctx context.Context, path string, most int64) ([]byte, error) {
	return read(ctx, path, most, true)
}

func read(ctx context.Context, path string, most int64, cut bool) ([]byte, error) {
	return Within(ctx, func() ([]byte, error) {
		f, err := Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.Size() > most && !cut {
			return nil, cmp.Or(err, failed("read", path, &TooLargeError{info.Size(), most}))
		}
		data, err := io.ReadAll(io.LimitReader(f, most+1))
		if n := int64(len(data)); n > most {
			if data = data[:most]; !cut { // it is growing, or its size is not known (as in /proc)
				return nil, failed("read", path, &TooLargeError{n, most})
			}
		}
		return data, err
	})
}

// TooLargeError says that a file is larger than a reader takes.
type TooLargeError struct{ Size, Most int64 }

func (e *TooLargeError) Error() string {
	if e.Most%(1<<20) == 0 {
		return fmt.Sprintf("larger than %d MiB", e.Most>>20)
	}
	return fmt.Sprintf("larger than %d bytes", e.Most)
}

// Within returns the result of do, or the cause of ctx's end if that comes first: a read that
// waits for a terminal, a pipe or a file system cannot be ended otherwise. What do opened is
// closed when do returns, at the latest at the end of the process.
func Within[T any](ctx context.Context, do func() (T, error)) (T, error) {
	if ctx.Done() == nil {
		return do()
	}
	type answer struct {
		value T
		err   error
	}
	ready := make(chan answer, 1)
	go func() {
		value, err := do()
		ready <- answer{value, err}
	}()
	select {
	case a := <-ready:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
