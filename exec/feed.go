package exec

import "time"

const (
	// feedBytes is how much a sink may lag behind. What waits longer is left out,
	// and the next piece's offset tells.
	feedBytes = 64 << 10
	// feedPause keeps a chatty command from calling the sink for every line.
	feedPause = 10 * time.Millisecond
)

// piece is a run of output of one stream.
type piece struct {
	stream int
	offset int64
	length int
}

// batch is what gathers while the sink is busy.
type batch struct {
	pieces []piece
	data   []byte
}

// feed hands output over to a sink from a goroutine of its own, so that a slow
// sink delays nobody. put is called under the capture's lock.
type feed struct {
	sink Sink
	// slot holds the batch that is being filled; whoever takes it owns it.
	slot chan *batch
	// wake says that the batch holds something.
	wake chan struct{}
	// stop is closed when no more will come, done when the sink knows it all.
	stop, done chan struct{}
}

func newFeed(sink Sink) *feed {
	f := &feed{sink: sink, slot: make(chan *batch, 1), wake: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{})}
	f.slot <- &batch{}
	return f
}

func (f *feed) put(stream int, offset int64, data []byte) {
	b := <-f.slot
	if len(b.data)+len(data) > feedBytes { // the newest is what a reader wants to see
		b.pieces, b.data = b.pieces[:0], b.data[:0]
		cut := max(0, len(data)-feedBytes)
		data, offset = data[cut:], offset+int64(cut)
	}
	last := len(b.pieces) - 1
	if last >= 0 && b.pieces[last].stream == stream && b.pieces[last].offset+int64(b.pieces[last].length) == offset {
		b.pieces[last].length += len(data)
	} else {
		b.pieces = append(b.pieces, piece{stream, offset, len(data)})
	}
	b.data = append(b.data, data...)
	f.slot <- b
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// begin starts the goroutine; end ends it.
func (f *feed) begin() {
	go func() {
		defer close(f.done)
		spare := &batch{}
		for {
			select {
			case <-f.wake:
			case <-f.stop:
				f.deliver(spare)
				return
			}
			spare = f.deliver(spare)
			select {
			case <-time.After(feedPause):
			case <-f.stop:
			}
		}
	}()
}

// deliver swaps the full batch for an empty one and tells the sink.
func (f *feed) deliver(empty *batch) *batch {
	b := <-f.slot
	f.slot <- empty
	at := 0
	for _, p := range b.pieces {
		f.sink(p.stream, p.offset, b.data[at:at+p.length])
		at += p.length
	}
	b.pieces, b.data = b.pieces[:0], b.data[:0]
	return b
}

// end delivers what is left and waits for the sink.
func (f *feed) end() {
	close(f.stop)
	<-f.done
}
