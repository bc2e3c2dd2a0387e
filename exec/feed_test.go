package exec

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// heard is one piece and the time when it came.
type heard struct {
	offset int64
	data   []byte
	at     time.Time
}

// thin runs write against a feed whose sink takes delay for each piece.
func thin(t *testing.T, delay time.Duration, write func(f *feed)) []heard {
	t.Helper()
	var out []heard
	f := newFeed(func(offset int64, data []byte) {
		time.Sleep(delay)
		out = append(out, heard{offset, data, time.Now()})
	})
	write(f)
	f.finish()
	return out
}

// holds checks the guarantees of every feed.
func holds(t *testing.T, out []heard, total int64) {
	t.Helper()
	end := int64(0)
	for i, h := range out {
		if h.offset < end {
			t.Fatalf("piece %d: offset %d after %d", i, h.offset, end)
		}
		end = h.offset + int64(len(h.data))
		n, size := 0, 0
		for _, other := range out[i:] {
			if other.at.Sub(h.at) < time.Second {
				n, size = n+1, size+len(other.data)
			}
		}
		if n > 20 || size > 256<<10 {
			t.Fatalf("from piece %d on: %d pieces, %d bytes in a second", i, n, size)
		}
	}
	if end != total {
		t.Fatalf("the last piece ends at %d of %d", end, total)
	}
}

func TestShortOutputIsToldWholeAndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		out := thin(t, 0, func(f *feed) {
			for i, s := range []string{"out\n", "err\n", "out\n"} {
				f.put(int64(4*i), []byte(s))
				synctest.Wait()
			}
		})
		holds(t, out, 12)
		if len(out) != 3 || out[2].at != start || out[2].offset != 8 {
			t.Errorf("%+v", out)
		}
	})
}

// A line that comes while the bucket is empty follows soon after, also if the command then
// prints nothing for a long time.
func TestALineIsNotHeldBackBySilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last time.Duration
		out := thin(t, 0, func(f *feed) {
			for i := range 30 {
				f.put(int64(i), []byte("x"))
				synctest.Wait()
			}
			last = time.Second
			time.Sleep(time.Hour)
		})
		holds(t, out, 30)
		if got := out[len(out)-1].at.Sub(out[0].at); got > last {
			t.Errorf("the last line came after %v", got)
		}
	})
}

func TestAFloodIsThinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chunk := bytes.Repeat([]byte("0123456789abcdef"), 2048) // 32 KiB
		total := int64(0)
		out := thin(t, 0, func(f *feed) {
			for range 2000 {
				f.put(total, chunk)
				total += int64(len(chunk))
				time.Sleep(5 * time.Millisecond)
			}
		})
		holds(t, out, total)
		if len(out) < 50 {
			t.Errorf("only %d pieces in ten seconds", len(out))
		}
		for _, h := range out {
			if h.data[0] != chunk[h.offset%16] {
				t.Fatalf("at %d stands %q", h.offset, h.data[0])
			}
		}
	})
}

// A busy or suspended face never makes the command wait.
func TestASuspendedFaceDoesNotStopTheCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		total := int64(0)
		out := thin(t, time.Hour, func(f *feed) {
			start := time.Now()
			for range 10000 {
				f.put(total, make([]byte, 4096))
				total += 4096
			}
			if time.Since(start) != 0 {
				t.Error("put waited for the sink")
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.data) > feedBurst*feedPiece {
				t.Errorf("%d bytes wait", len(f.data))
			}
		})
		holds(t, out, total)
	})
}

func TestRandomOutputKeepsThePromises(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			total := int64(0)
			out := thin(t, time.Duration(rng.IntN(3))*30*time.Millisecond, func(f *feed) {
				for range rng.IntN(400) {
					n := 1 + rng.IntN(200)
					if rng.IntN(10) == 0 {
						n = rng.IntN(300000)
					}
					f.put(total, make([]byte, n))
					total += int64(n)
					if rng.IntN(3) == 0 {
						time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
					}
				}
			})
			holds(t, out, total)
		})
	}
}
