package sessionscmd

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"codeagent/cmd/codeagent/cli"
)

// TestStorageError: a path that cannot be read or written is named with what to do, and an
// error that has this advice already is unchanged.
func TestStorageError(t *testing.T) {
	for reason, want := range map[error]string{
		syscall.ENOSPC: "make room", syscall.EDQUOT: "quota", syscall.EROFS: "read-only", syscall.EACCES: "chmod", syscall.ENOTDIR: "move it away",
	} {
		err := Error(fmt.Errorf("session x: %w", &fs.PathError{Op: "open", Path: "/state/sessions", Err: reason}))
		code, message, hints := cli.ExitOf(err)
		if code != cli.ExitFailed || message != reason.Error()+": session x: open /state/sessions" || len(hints) != 1 || !strings.Contains(hints[0], want) {
			t.Errorf("%v: status %d, %q, %q", reason, code, message, hints)
		}
	}
	usage := cli.Usage(syscall.ENOSPC)
	if got := cli.StorageError(usage); got != error(usage) || cli.StorageError(nil) != nil {
		t.Errorf("%v", got)
	}
	if other := errors.New("other"); cli.StorageError(other) != other {
		t.Error("an error of another kind is changed")
	}
}
