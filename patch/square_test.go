package patch

import (
	"strings"
	"testing"
	"time"
)

// Each of these took minutes, as the square of its length; now a moment.
func TestLongPatchesTakeTheirLength(t *testing.T) {
	blank := strings.Repeat("\n", 1_000_000)
	equal := []byte(strings.Repeat("a\n", 200_000))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for what, text := range map[string]string{
			"an update": "*** Update File: f\n*** Move to: g\n" + blank,
			"an add":    "*** Add File: f\n+x\n" + blank,
			"two":       "*** Update File: f\n-a\n" + blank + "*** Add File: g\n" + blank,
		} {
			if _, err := Parse(beginMark + "\n" + text + endMark + "\n"); err != nil {
				t.Errorf("%s with a million empty lines: %v", what, err)
			}
		}
		p, err := Parse(beginMark + "\n*** Update File: f\n a\n" + strings.Repeat("+x\n", 1_000_000) + endMark + "\n")
		if err != nil {
			t.Error(err)
			return
		}
		if _, _, err := applyHunks(equal, p.Files[0]); err == nil || !strings.Contains(err.Error(), "are at lines") {
			t.Errorf("a line that stands 200,000 times: %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("a patch is still being read")
	}
}
