package agent

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codeagent/event"
)

// heard is one event and when it was told.
type heard struct {
	event.ToolOutput
	at time.Time
}

// thin runs write against an output whose face takes delay for each event.
func thin(t *testing.T, delay time.Duration, write func(o *output)) []heard {
	t.Helper()
	var out []heard
	o := newOutput(func(e event.Event) {
		time.Sleep(delay)
		out = append(out, heard{e.(event.ToolOutput), time.Now()})
	}, "1")
	o.open()
	var wg sync.WaitGroup
	wg.Go(o.tell)
	write(o)
	o.close()
	wg.Wait()
	return out
}

// holds checks what is promised of every stream of events.
func holds(t *testing.T, out []heard, total int64) {
	t.Helper()
	end := int64(0)
	for i, h := range out {
		if h.Offset-h.Skipped != end || h.Skipped < 0 {
			t.Fatalf("event %d: offset %d skipped %d after %d", i, h.Offset, h.Skipped, end)
		}
		end = h.Offset + int64(len(h.Data))
		n, size := 0, 0
		for _, other := range out[i:] {
			if other.at.Sub(h.at) < time.Second {
				n, size = n+1, size+len(other.Data)
			}
		}
		if n > 20 || size > 256<<10 {
			t.Fatalf("from event %d on: %d events, %d bytes in a second", i, n, size)
		}
	}
	if end != total {
		t.Fatalf("the last piece ends at %d of %d", end, total)
	}
}

func TestShortOutputIsToldWholeAndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		out := thin(t, 0, func(o *output) {
			for i, s := range []string{"out\n", "err\n", "out\n"} {
				o.sink(1+i%2, int64(4*i), []byte(s))
				synctest.Wait()
			}
		})
		holds(t, out, 12)
		if len(out) != 3 || out[2].at != start || out[2].Skipped != 0 {
			t.Errorf("%+v", out)
		}
	})
}

// A line that comes when nothing may be told is told soon after, also when the
// command says no more for a long time.
func TestALineIsNotHeldBackBySilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last time.Duration
		out := thin(t, 0, func(o *output) {
			for i := range 30 {
				o.sink(1, int64(i), []byte("x"))
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
		out := thin(t, 0, func(o *output) {
			for range 2000 {
				o.sink(1, total, chunk)
				total += int64(len(chunk))
				time.Sleep(5 * time.Millisecond)
			}
		})
		holds(t, out, total)
		if len(out) < 50 {
			t.Errorf("only %d events in ten seconds", len(out))
		}
		for _, h := range out {
			if h.Data[0] != chunk[h.Offset%16] {
				t.Fatalf("at %d stands %q", h.Offset, h.Data[0])
			}
		}
	})
}

// A face that is busy, or suspended, never makes the command wait.
func TestASuspendedFaceDoesNotStopTheCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		total := int64(0)
		out := thin(t, time.Hour, func(o *output) {
			start := time.Now()
			for range 10000 {
				o.sink(1, total, make([]byte, 4096))
				total += 4096
			}
			if time.Since(start) != 0 {
				t.Error("sink waited for the face")
			}
			if o.size > burst*maxPiece || len(o.pending) > burst {
				t.Errorf("%d bytes in %d pieces wait", o.size, len(o.pending))
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
			out := thin(t, time.Duration(rng.IntN(3))*30*time.Millisecond, func(o *output) {
				for range rng.IntN(400) {
					n := 1 + rng.IntN(200)
					if rng.IntN(10) == 0 {
						n = rng.IntN(300000)
					}
					o.sink(1+rng.IntN(2), total, make([]byte, n))
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

func TestASecondRunGoesOnCounting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out []event.ToolOutput
		o := newOutput(func(e event.Event) { out = append(out, e.(event.ToolOutput)) }, "1")
		for _, text := range []string{"first", "second"} {
			o.open()
			var wg sync.WaitGroup
			wg.Go(o.tell)
			o.sink(1, 0, []byte(text))
			o.close()
			wg.Wait()
		}
		if len(out) != 2 || out[1].Offset != 5 || out[1].Skipped != 0 || string(out[1].Data) != "second" {
			t.Errorf("%+v", out)
		}
	})
}
