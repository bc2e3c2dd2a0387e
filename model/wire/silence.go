package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// drainTime and drainSize bound the wait for the last bytes of an answer, after
// which its connection can be used again.
const (
	drainTime = 50 * time.Millisecond
	drainSize = 4 << 10
)

// errIdle is the cause of a request that was given up for silence.
type errIdle struct{ after time.Duration }

func (e errIdle) Error() string { return fmt.Sprintf("the provider said nothing for %s", e.after) }

// commentsOnly is how many times Idle a provider may send nothing but comments:
// they say that a queue or a model is alive, not that it will ever answer.
const commentsOnly = 3

// watched reads a body and gives the request up when a read brings nothing for
// too long. Time between reads is the consumer's own and does not count.
type watched struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	bytes  alarm // for a read that brings nothing
	events alarm // for reads that bring no event
	body   io.ReadCloser
}

// alarm is a timer that is set again and again.
type alarm struct{ timer *time.Timer }

// set lets w give up after so many times its limit.
func (a *alarm) set(w *watched, times time.Duration) {
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

// why replaces the cancelled request's error by the reason it was cancelled for.
func (w *watched) why(err error) error {
	if idle := (errIdle{}); errors.As(context.Cause(w.ctx), &idle) {
		return idle
	}
	return err
}

func (w *watched) Read(p []byte) (int, error) {
	w.bytes.set(w, 1)
	n, err := w.body.Read(p)
	w.bytes.off()
	if err != nil && err != io.EOF {
		err = w.why(err)
	}
	return n, err
}

func (w *watched) Close() error {
	w.bytes.off()
	w.events.off()
	err := w.body.Close()
	w.cancel(nil)
	return err
}

// drain reads what is left of an answer that is over, so that its connection
// can be used again; not for long.
func (w *watched) drain() {
	stop := time.AfterFunc(drainTime, func() { w.cancel(nil) })
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, w.body, drainSize)
}
