//go:build linux

package umask

import "testing"

// TestMasksLeave: a mode is known without reading the caller's umask only if every umask
// that it may have leaves the same bits.
func TestMasksLeave(t *testing.T) {
	for _, row := range []struct {
		masks []uint32
		mode  uint32
		left  uint32
		same  bool
	}{
		{nil, 0o600, 0, false},
		{[]uint32{0o022}, 0o666, 0o644, true},
		{[]uint32{0o022, 0}, 0o600, 0o600, true},
		{[]uint32{0o022, 0}, 0o644, 0o644, true},
		{[]uint32{0o022, 0}, 0o666, 0, false},
		{[]uint32{0, 0o777}, 0o600, 0, false},
		{[]uint32{0o077, 0o027, 0o777}, 0o007, 0, true},
		{[]uint32{0o022, 0o002, 0o027}, 0o1777, 0, false},
	} {
		left, same := (&Masks{all: row.masks}).leave(row.mode)
		if same != row.same || same && left != row.left {
			t.Errorf("%o under %o: %o, %v", row.mode, row.masks, left, same)
		}
	}
}
