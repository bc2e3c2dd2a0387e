package wire

import (
	"bytes"
	"errors"
	"io"
	"time"
)

const (
	// afterFinish is how long the usage may take once the answer is complete,
	// and afterAll how long the end of the stream may take once nothing is
	// missing; some servers keep the connection open instead.
	afterFinish = 3 * time.Second
	afterAll    = 200 * time.Millisecond
)

// ErrStopped ends an attempt whose consumer has enough.
var ErrStopped = errors.New("the consumer stopped")

// source is a stream of go-openai's.
type source interface {
	RecvRaw() ([]byte, error)
	Close() error
}

// decoder turns the events of one answer into deltas.
type decoder interface {
	// Event decodes one event.
	Event(data []byte) error
	// State reports whether the answer is complete, and whether its usage is
	// there too.
	State() (complete, all bool)
	// End yields what ends an answer, or says why this was none; err is what
	// the stream ended with.
	End(err error) error
}

// Read decodes the stream to its end and closes it. cancel gives up on a server
// that keeps the stream open after the answer is complete.
func Read(stream source, d decoder, cancel func()) error {
	defer stream.Close()
	var patience *time.Timer
	for {
		data, err := stream.RecvRaw()
		if err != nil {
			return d.End(err)
		}
		for more := true; more; {
			var event []byte
			if event, data, more = bytes.Cut(data, []byte{separator}); len(event) == 0 {
				continue
			}
			if err := d.Event(event); err != nil {
				return err
			}
		}
		complete, all := d.State()
		if !complete {
			continue
		}
		if patience == nil {
			patience = time.AfterFunc(afterFinish, cancel)
			defer patience.Stop()
		}
		if all {
			patience.Reset(afterAll)
		}
	}
}

// Ended reports whether err is the stream's own end, and whether it said so.
func Ended(err error) (end, said bool) {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF)
}
