package session

import (
	"errors"
	"math"
	"os/signal"
	"syscall"
	"testing"

	"codeagent/model"

	"github.com/google/go-cmp/cmp"
)

// A full disk takes part of a line. That part is removed again, and once there is space the
// session continues.
func TestFullDisk(t *testing.T) {
	s, ses := begun(t, user("one"))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	limit := func(cur uint64) {
		t.Helper()
		var l syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
		l.Cur = min(cur, l.Max)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
	}
	whole := bytesOf(t, s, ses.ID())
	limit(uint64(len(whole)) + 10)
	err := ses.Append(answer("there is no room for this"))
	limit(math.MaxUint64)
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("%v", err)
	}
	if now := bytesOf(t, s, ses.ID()); string(now) != string(whole) {
		t.Errorf("%q is left", now[len(whole):])
	}
	put(t, ses, answer("two"))
	want := History{Items: []model.Item{user("one"), answer("two")}}
	if diff := cmp.Diff(want, history(t, ses)); diff != "" {
		t.Error(diff)
	}
	closed(t, ses)
	if diff := cmp.Diff(want, history(t, opened(t, s, ses.ID()))); diff != "" {
		t.Error(diff)
	}
}
