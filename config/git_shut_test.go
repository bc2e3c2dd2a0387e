package config

import (
	"os"
	"testing"
)

func TestShutForGood(t *testing.T) {
	for _, c := range []struct {
		user, owner int
		mode        os.FileMode
		want        bool
	}{
		{1001, 999, os.ModeDir | 0o700, true}, {1001, 999, os.ModeDir | 0o744, true},
		{1001, 1001, os.ModeDir, false}, {1001, 999, os.ModeDir | 0o710, false}, {1001, 999, os.ModeDir | 0o701, false},
		{0, 999, os.ModeDir | 0o700, false}, {1001, 999, 0o700, false},
	} {
		if got := shutFor(c.user, c.owner, c.mode); got != c.want {
			t.Errorf("a folder %v of %d for %d: %v, want %v", c.mode, c.owner, c.user, got, c.want)
		}
	}
}
