package fileworker

import (
	"errors"
	"io/fs"
	"strconv"
	"syscall"
)

// Kind groups what can go wrong by what a caller does about it.
type Kind string

const (
	// Refused: the kernel said EACCES, EPERM or EROFS. Whether that was the
	// sandbox or the file's own permissions is for the caller to judge by its
	// policy.
	Refused Kind = "refused"
	Absent  Kind = "absent"
	Exists  Kind = "exists"
	// Changed: the file is not what Expect says.
	Changed Kind = "changed"
	// IsFolder: a folder is where a file is wanted; NotFolder: the reverse.
	IsFolder  Kind = "is-folder"
	NotFolder Kind = "not-folder"
	// IsSymlink: a path that was canonical has a symbolic link.
	IsSymlink Kind = "is-symlink"
	// Special: a FIFO, a socket or a device.
	Special Kind = "special"
	// CrossDevice: these two folders do not allow a move between them.
	CrossDevice Kind = "cross-device"
	// Invalid: the request itself makes no sense (path, pattern, size).
	Invalid Kind = "invalid"
	// Torn: the system failed when a part was written into the file.
	Torn Kind = "torn"
	// Failed: any other error of the system.
	Failed Kind = "failed"
)

// Error is the failure of an operation. It crosses the pipe unchanged.
type Error struct {
	// Op is "stat", "read", "list", "write", "remove", "rename", "mkdir", "grep",
	// "put", "chmod" or "symlink".
	Op   string
	Path string
	Kind Kind
	// Errno is the symbol of the system's error ("EACCES"); empty when the
	// refusal is the worker's own.
	Errno string
	// Text says it in words.
	Text string
}

// Error reads "write /etc/hosts: permission denied (EACCES)".
func (e *Error) Error() string {
	s := e.Op + " " + printable(e.Path) + ": " + e.Text
	if e.Errno != "" {
		s += " (" + e.Errno + ")"
	}
	return s
}

// Is lets errors.Is match fs.ErrPermission, fs.ErrNotExist and fs.ErrExist.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrPermission:
		return e.Kind == Refused
	case fs.ErrNotExist:
		return e.Kind == Absent
	case fs.ErrExist:
		return e.Kind == Exists
	}
	return false
}

// printable quotes a path that holds anything but plain printable text.
func printable(path string) string {
	if q := strconv.Quote(path); q != `"`+path+`"` {
		return q
	}
	return path
}

func fail(op, path string, kind Kind, text string) *Error {
	return &Error{Op: op, Path: path, Kind: kind, Text: text}
}

// errnoTable names the errors that callers distinguish, and other common ones.
var errnoTable = []struct {
	errno syscall.Errno
	name  string
	kind  Kind
}{
	{syscall.EACCES, "EACCES", Refused},
	{syscall.EPERM, "EPERM", Refused},
	{syscall.EROFS, "EROFS", Refused},
	{syscall.ENOENT, "ENOENT", Absent},
	{syscall.EEXIST, "EEXIST", Exists},
	{syscall.ENOTEMPTY, "ENOTEMPTY", Exists},
	{syscall.EISDIR, "EISDIR", IsFolder},
	{syscall.ENOTDIR, "ENOTDIR", NotFolder},
	{syscall.ELOOP, "ELOOP", IsSymlink},
	{syscall.EXDEV, "EXDEV", CrossDevice},
	{syscall.ENAMETOOLONG, "ENAMETOOLONG", Invalid},
	{syscall.EINVAL, "EINVAL", Failed},
	{syscall.EBUSY, "EBUSY", Failed},
	{syscall.ENOSPC, "ENOSPC", Failed},
	{syscall.EDQUOT, "EDQUOT", Failed},
	{syscall.EFBIG, "EFBIG", Failed},
	{syscall.EIO, "EIO", Failed},
	{syscall.EMFILE, "EMFILE", Failed},
	{syscall.ETXTBSY, "ETXTBSY", Failed},
	{syscall.ENXIO, "ENXIO", Special},
	{syscall.EAGAIN, "EAGAIN", Special},
}

// wrap makes an *Error of err, which may already be one.
func wrap(op, path string, err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	e := &Error{Op: op, Path: path, Kind: Failed, Text: err.Error()}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return e
	}
	e.Text = errno.Error()
	e.Errno = "errno " + strconv.Itoa(int(errno))
	for _, row := range errnoTable {
		if row.errno == errno {
			e.Errno, e.Kind = row.name, row.kind
		}
	}
	return e
}
