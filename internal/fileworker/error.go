package fileworker

import (
	"errors"
	"io/fs"
	"strconv"
	"syscall"
)

// Kind groups errors by how a caller reacts to them.
type Kind string

const (
	// Refused: the kernel returned EACCES, EPERM or EROFS. The caller judges by its policy
	// whether the sandbox or the file's own permissions were the cause.
	Refused Kind = "refused"
	Absent  Kind = "absent"
	Exists  Kind = "exists"
	// Changed: the file does not meet Expect.
	Changed Kind = "changed"
	// IsFolder: a folder is where a file is wanted; NotFolder: the reverse.
	IsFolder  Kind = "is-folder"
	NotFolder Kind = "not-folder"
	// IsSymlink: a path that was canonical now contains a symbolic link.
	IsSymlink Kind = "is-symlink"
	// Special: a FIFO, a socket or a device.
	Special Kind = "special"
	// Invalid: the request itself is invalid (path, pattern, size).
	Invalid Kind = "invalid"
	// Torn: the system failed after part of the content was written into the file.
	Torn Kind = "torn"
	// Failed: any other error of the system.
	Failed Kind = "failed"
)

// Error is the failure of an operation. It crosses the pipe unchanged.
type Error struct {
	// Op is "stat", "read", "list", "write", "remove", "mkdir", "grep",
	// "put", "chmod" or "symlink".
	Op   string
	Path string
	Kind Kind
	// Errno is the symbol of the system's error ("EACCES"); empty if the worker itself
	// refused.
	Errno string
	// Text describes the error in words.
	Text string
}

// Error returns, for example, "write /etc/hosts: permission denied (EACCES)".
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

// printable quotes a path that contains anything except printable text.
func printable(path string) string {
	if q := strconv.Quote(path); q != `"`+path+`"` {
		return q
	}
	return path
}

// fail makes an error without Op and Path: perform adds those of the request.
func fail(kind Kind, text string) *Error { return &Error{Kind: kind, Text: text} }

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

// about returns err as an *Error, about path unless it names another path.
func about(path string, err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		e = describe(err)
	}
	if e.Path == "" {
		e.Path = path
	}
	return e
}

// describe converts an error of the system.
func describe(err error) *Error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fail(Failed, err.Error())
	}
	e := &Error{Kind: Failed, Errno: "errno " + strconv.Itoa(int(errno)), Text: errno.Error()}
	for _, row := range errnoTable {
		if row.errno == errno {
			e.Errno, e.Kind = row.name, row.kind
		}
	}
	return e
}
