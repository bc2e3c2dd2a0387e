//go:build linux

package linuxsandbox

import (
	"fmt"
	"strings"
	"testing"
)

// TestToldBounds: what is remembered of told paths stays within its bounds, and the
// last path is always among it.
func TestToldBounds(t *testing.T) {
	for _, length := range []int{10, 200, 4096} {
		var told toldPaths
		forgot := false
		for i := range maxTold + 2 {
			path := fmt.Sprintf("/%0*d", length, i)
			told.add(path)
			told.add(path)
			sum := len(told.paths) * len(path)
			if !told.has(path) || told.bytes != sum || sum > maxToldBytes || len(told.paths) > maxTold {
				t.Fatalf("path %d of %d bytes: remembered %v, %d paths of %d bytes, counted %d", i, length, told.has(path), len(told.paths), sum, told.bytes)
			}
			forgot = forgot || i > 0 && len(told.paths) == 1
		}
		if !forgot {
			t.Errorf("%d paths of %d bytes were all remembered", maxTold+2, length)
		}
		if told.has(strings.Repeat("0", length)) {
			t.Error("what was never told is remembered")
		}
	}
}
