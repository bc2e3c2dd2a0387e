package exec

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Output is drained as fast as a command writes it, and given to a sink as fast as a
// screen can show it: at most 20 pieces and 256 KiB in any second. A bucket of 10
// tokens that refills by 9 a second allows at most 19 pieces, and the last piece is always
// sent. When more is printed, the oldest bytes are dropped and the next offset shows the gap.
const (
	feedBurst = 10
	feedRate  = 9
	// feedPiece is the most bytes of one piece: 20 of them are 256 KiB.
	feedPiece = 256 << 10 / 20
	// feedWaits is how many pieces may be queued while the bucket is empty: the queue is
	// then at most half a second old.
	feedWaits = 4
)

// feed passes output to a sink from a goroutine of its own, so that a slow sink
// delays nothing else.
type feed struct {
	sink Sink

	// mu guards the fields below.
	mu     sync.Mutex
	pieces *rate.Limiter // may be sent
	data   []byte        // the queue
	end    int64         // the offset of its end
	over   bool          // no more output will come

	wake chan struct{} // one slot: the queue is not empty
	stop chan struct{} // closed when no more output will come
	done chan struct{} // closed when the sink has the last piece
}

// newFeed starts a feed; finish ends its goroutine.
func newFeed(sink Sink) *feed {
	f := &feed{sink: sink, pieces: rate.NewLimiter(feedRate, feedBurst),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go f.deliver()
	return f
}

// put queues a copy of data; calls come in order.
func (f *feed) put(offset int64, data []byte) {
	f.mu.Lock()
	most := max(feedWaits, int(f.pieces.Tokens())) * feedPiece
	if offset != f.end {
		f.data = nil
	}
	f.end = offset + int64(len(data))
	f.data = append(f.data, data[max(0, len(data)-most):]...)
	f.data = f.data[max(0, len(f.data)-most):]
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// finish sends the rest of the queue and waits for the sink.
func (f *feed) finish() {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	close(f.stop)
	<-f.done
}

func (f *feed) deliver() {
	defer close(f.done)
	for {
		offset, piece, wait := f.next()
		switch {
		case piece != nil:
			f.sink(offset, piece)
		case wait < 0:
			return
		case wait > 0:
			select {
			case <-time.After(wait):
			case <-f.stop:
			}
		default:
			select {
			case <-f.wake:
			case <-f.stop:
			}
		}
	}
}

// next removes the next piece from the queue. Without a piece, wait is the time until the
// next token, 0 to wait for output, or negative at the end of the output.
func (f *feed) next() (offset int64, piece []byte, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.data) == 0 {
		if f.over {
			return 0, nil, -1
		}
		return 0, nil, 0
	}
	reserved := f.pieces.Reserve()
	if wait := reserved.Delay(); wait > 0 {
		if !f.over {
			reserved.Cancel()
			return 0, nil, wait
		}
		f.data = f.data[max(0, len(f.data)-feedPiece):] // the last piece only
	}
	n := min(len(f.data), feedPiece)
	offset, piece = f.end-int64(len(f.data)), f.data[:n:n]
	f.data = f.data[n:]
	return offset, piece, 0
}
