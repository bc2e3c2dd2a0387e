package agent

import (
	"sync"
	"time"

	"codeagent/event"
)

// Output is drained as fast as a command writes it, and told as fast as a
// screen can take it: at most 20 events and 256 KiB in any second of a call. A
// bucket of 10 events that fills by 9 a second gives at most 19, and the last
// piece comes in any case.
const (
	burst = 10
	every = time.Second / 9
	// maxPiece is the most bytes of one event: 20 of them are 256 KiB.
	maxPiece = 256 << 10 / 20
)

// slack is how many pieces may wait when nothing may be told at once: what is
// shown is then at most half a second old.
const slack = 4

// output thins the output of one call. sink takes what comes and never waits
// for a face; tell runs beside it and emits.
type output struct {
	emit   func(event.Event)
	callID string

	mu      sync.Mutex
	tokens  float64 // events that may be told now
	filled  time.Time
	pending []piece // in order
	size    int     // bytes in pending
	told    int64   // end of the last piece told
	base    int64   // where the run began in the output of the call
	end     int64   // of all output
	closed  bool
	news    chan struct{} // one slot: something is pending
	closing chan struct{} // closed with the run
}

// piece is output without a gap.
type piece struct {
	offset int64
	data   []byte
}

func newOutput(emit func(event.Event), callID string) *output {
	return &output{emit: emit, callID: callID, tokens: burst, filled: time.Now(), news: make(chan struct{}, 1)}
}

// open begins a run. A second run's offsets go on from the first's.
func (o *output) open() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.base, o.closed, o.closing = o.end, false, make(chan struct{})
}

// close ends a run: tell returns after the last piece.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	close(o.closing)
}

// sink takes a piece; data is copied. What cannot be told soon is dropped,
// oldest first.
func (o *output) sink(_ int, offset int64, data []byte) {
	o.mu.Lock()
	offset += o.base
	o.end = max(o.end, offset+int64(len(data)))
	o.refill()
	most := max(slack, int(o.tokens))
	if cut := len(data) - most*maxPiece; cut > 0 {
		data, offset = data[cut:], offset+int64(cut)
	}
	o.push(piece{offset, data})
	o.trim(most)
	o.mu.Unlock()
	select {
	case o.news <- struct{}{}:
	default:
	}
}

func (o *output) refill() {
	now := time.Now()
	o.tokens = min(burst, o.tokens+float64(now.Sub(o.filled))/float64(every))
	o.filled = now
}

// push adds a copy of p, joined to the last piece where it goes on from there.
func (o *output) push(p piece) {
	o.size += len(p.data)
	if n := len(o.pending); n > 0 {
		last := &o.pending[n-1]
		if last.offset+int64(len(last.data)) == p.offset {
			last.data = append(last.data, p.data...)
			return
		}
	}
	p.data = append([]byte(nil), p.data...)
	o.pending = append(o.pending, p)
}

// trim drops the oldest until most pieces wait.
func (o *output) trim(most int) {
	for len(o.pending) > most || o.size > most*maxPiece {
		first := &o.pending[0]
		cut := len(first.data)
		if len(o.pending) <= most {
			cut = min(cut, o.size-most*maxPiece)
		}
		first.data, first.offset = first.data[cut:], first.offset+int64(cut)
		o.size -= cut
		if len(first.data) == 0 {
			o.pending = o.pending[1:]
		}
	}
}

// tell emits until the run is closed and its last piece is told.
func (o *output) tell() {
	for {
		o.mu.Lock()
		e, wait, more := o.next()
		closed, closing := o.closed, o.closing
		o.mu.Unlock()
		switch {
		case more:
			o.emit(e)
		case closed:
			return
		case wait > 0:
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-closing:
			}
			timer.Stop()
		default:
			select {
			case <-o.news:
			case <-closing:
			}
		}
	}
}

// next takes the next event, or says how long to wait for the right to tell one.
func (o *output) next() (e event.ToolOutput, wait time.Duration, more bool) {
	if len(o.pending) == 0 {
		return e, 0, false
	}
	o.refill()
	switch {
	case o.tokens >= 1:
		o.tokens--
	case o.closed:
		// The last piece is told in any case, and it alone.
		o.trim(1)
	default:
		// A microsecond more: rounding must not wake it too early for a token.
		return e, time.Duration((1-o.tokens)*float64(every)) + time.Microsecond, false
	}
	first := &o.pending[0]
	n := min(len(first.data), maxPiece)
	e = event.ToolOutput{CallID: o.callID, Offset: first.offset, Data: first.data[:n:n], Skipped: first.offset - o.told}
	o.told = first.offset + int64(n)
	first.data, first.offset = first.data[n:], first.offset+int64(n)
	o.size -= n
	if len(first.data) == 0 {
		o.pending = o.pending[1:]
	}
	return e, 0, true
}
