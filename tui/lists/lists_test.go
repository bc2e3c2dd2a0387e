package lists

import (
	"testing"
	"time"
)

func TestHowACommandIsDoing(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for want, c := range map[string]Job{
		"just started":       {Running: true, Started: now.Add(-999 * time.Millisecond)},
		"running 1.0 s":      {Running: true, Started: now.Add(-1900 * time.Millisecond)},
		"running 1m 35s":     {Running: true, Started: now.Add(-95 * time.Second)},
		"exit 1 · 3 min ago": {End: "exit 1", Started: now.Add(-time.Hour), Ended: now.Add(-3 * time.Minute)},
	} {
		if got := c.state(now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAgo(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-time.Second: "just now", 59 * time.Second: "just now", 90 * time.Second: "1 min ago", 47 * time.Hour: "47 h ago",
		2 * day: "2 days ago", 61 * day: "2 months ago", 729 * day: "24 months ago", 730 * day: "2 years ago",
	} {
		if got := Ago(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
