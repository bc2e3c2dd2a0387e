package exec

import (
	"testing"
	"testing/synctest"
	"time"
)

// A command whose call is held prints nothing meanwhile: the read continues, so that the
// person has time to answer.
func TestSilenceOfAHeldCallEndsNoRead(t *testing.T) {
	const quiet = 2 * time.Second
	for name, tt := range map[string]struct {
		held, prints, want time.Duration // 0: not at all
	}{
		"not held":                           {want: quiet},
		"held":                               {held: 10500 * time.Millisecond, want: 10500*time.Millisecond + quiet},
		"held, and prints after the answer":  {held: 10 * time.Second, prints: 11 * time.Second, want: 11*time.Second + quiet},
		"held for less than a silence":       {held: time.Second, want: time.Second + quiet},
		"held, and prints too late after it": {held: 10 * time.Second, prints: 13 * time.Second, want: 10*time.Second + quiet},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, clock, began := &Job{}, newWallClock(time.Minute), time.Now()
				defer clock.end()
				s.take([]byte("up\n"))
				if tt.held > 0 {
					clock.pause()
					time.AfterFunc(tt.held, clock.resume)
				}
				if tt.prints > 0 {
					time.AfterFunc(tt.prints, func() { s.take([]byte("more\n")) })
				}
				r := reader{job: s, wait: Wait{Most: time.Minute, Quiet: quiet}, rest: time.NewTimer(quiet)}
				r.follow(t.Context(), clock)
				if got := time.Since(began); got != tt.want {
					t.Errorf("the read took %v, want %v", got, tt.want)
				}
			})
		})
	}
}
