package fileworker

import (
	"errors"
	"runtime"
	"syscall"
	"testing"
)

// asUser gives the thread of the calling goroutine the file system identity of an ordinary
// user permanently: the goroutine must end without unlocking it.
func asUser(t *testing.T) bool {
	t.Helper()
	runtime.LockOSThread()
	if err := errors.Join(syscall.Setfsgid(65534), syscall.Setfsuid(65534)); err != nil {
		t.Error(err)
		return false
	}
	return true
}
