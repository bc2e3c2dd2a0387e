package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// drainTime and drainSize bound the reading of an answer's last bytes, after which the
// connection can be reused.
const (
	drainTime = 50 * time.Millisecond
	drainSize = 4 << 10
)

// errIdle is the cause of a request that was cancelled because the provider was silent.
type errIdle struct{ after time.Duration }

func (e errIdle) Error() string { return fmt.Sprintf("the provider said nothing for %s", e.after) }

// commentsOnly is how many times Idle a provider may send only comments: they show that a
// queue or a model is alive, not that it will ever answer.
const commentsOnly = 3

// idleReader reads a body and cancels the request when a read returns nothing for
// too long. The time between reads is the consumer's and does not count.
type idleReader struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	bytes  alarm // for a read that returns nothing
	events alarm // for reads without an event
	body   io.ReadCloser
}

// alarm is a timer that is set repeatedly.
type alarm struct{ timer *time.Timer }

// set makes w give up after this multiple of its limit.
func (a *alarm) set(w *idleReader, times time.Duration) {
	switch {
	case w.idle < 0:
	case a.timer == nil:
		a.timer = time.AfterFunc(times*w.idle, func() { w.cancel(errIdle{times * w.idle}) })
	default:
		a.timer.Reset(times * w.idle)
	}
}

func (a *alarm) off() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// why replaces the error of a cancelled request by the reason for the cancellation.
func (w *idleReader) why(err error) error {
	if idle := (errIdle{}); errors.As(context.Cause(w.ctx), &idle) {
		return idle
	}
	return err
}

func (w *idleReader) Read(p []byte) (int, error) {
	w.bytes.set(w, 1)
	n, err := w.body.Read(p)
	w.bytes.off()
	if err != nil && err != io.EOF {
		err = w.why(err)
	}
	return n, err
}

func (w *idleReader) Close() error {
	w.bytes.off()
	w.events.off()
	err := w.body.Close()
	w.cancel(nil)
	return err
}

// drain reads the rest of a finished answer, for a bounded time, so that its connection can
// be reused.
func (w *idleReader) drain() {
	stop := time.AfterFunc(drainTime, func() { w.cancel(nil) })
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, w.body, drainSize)
}
