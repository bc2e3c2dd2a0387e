//go:build linux

package broker

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestToldBounds: the remembered reported paths stay within their bounds, and always
// include the latest one.
func TestToldBounds(t *testing.T) {
	for _, length := range []int{10, 200, 4096} {
		var told reportedPaths
		forgot := false
		for i := range maxReported + 2 {
			path := fmt.Sprintf("/%0*d", length, i)
			told.add(path)
			told.add(path)
			sum := len(told.paths) * len(path)
			if !told.has(path) || told.bytes != sum || sum > maxReportedBytes || len(told.paths) > maxReported {
				t.Fatalf("path %d of %d bytes: remembered %v, %d paths of %d bytes, counted %d", i, length, told.has(path), len(told.paths), sum, told.bytes)
			}
			forgot = forgot || i > 0 && len(told.paths) == 1
		}
		if !forgot {
			t.Errorf("%d paths of %d bytes were all remembered", maxReported+2, length)
		}
		if told.has(strings.Repeat("0", length)) {
			t.Error("what was never told is remembered")
		}
	}
}

// TestKeepingIsBounded: beyond the bound the remembered paths are forgotten and reported again.
func TestKeepingIsBounded(t *testing.T) {
	dir, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	told := 0
	k := observer{to: counting(func(int, string, string) { told++ })}
	for i := range maxReported + 10 {
		if err := k.put(dir, "x", "/w/"+strconv.Itoa(i)); err != nil || !k.report() || len(k.reported.paths) > maxReported {
			t.Fatalf("%d: %v, %d are remembered", i, err, len(k.reported.paths))
		}
	}
	last := "/w/" + strconv.Itoa(maxReported+9)
	if told != maxReported+10 || k.report() || !k.knows(last+"/below") || k.knows("/w/0") || k.knows("/w") || k.knows(last+"0") {
		t.Errorf("told %d; remembers %d", told, len(k.reported.paths))
	}
}

// counting makes a change observer of a function.
type counting func(dir int, name, path string)

func (counting) Unsaved(int, string, string) string { return "" }

func (c counting) BeforeChange(dir int, name, path string) { c(dir, name, path) }
