package wire

import (
	"bytes"
	"errors"
	"io"
	"time"
)

const (
	// afterFinish bounds the wait for the usage once the answer is complete, and afterAll the
	// wait for the end of the stream once nothing is missing; some servers keep the connection
	// open instead.
	afterFinish = 3 * time.Second
	afterAll    = 200 * time.Millisecond
)

// ErrStopped ends an attempt whose consumer has stopped.
var ErrStopped = errors.New("the consumer stopped")

// source is a stream of go-openai.
type source interface {
	RecvRaw() ([]byte, error)
	Close() error
}

// decoder converts the events of one answer to deltas.
type decoder interface {
	// Event decodes one event.
	Event(data []byte) error
	// State reports whether the answer is complete, and whether its usage has come too.
	State() (complete, all bool)
	// End yields the end of an answer, or returns why the stream was not a complete one; err
	// is the stream's last error.
	End(err error) error
}

// Read decodes the stream to its end and closes it. cancel aborts a stream that the server
// keeps open after the answer is complete.
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

// Ended reports whether err is a regular end of the stream, and whether [DONE] was sent.
func Ended(err error) (end, said bool) {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF)
}
