package execcmd

import (
	"context"
	"io"
	"time"

	"codeagent/hostfile"
)

// lastWords is how long the reader of stdout has to take what is written after a signal or the time
// limit.
const lastWords = 2 * time.Second

// patient writes to stdout. A reader that has stopped reading and keeps the pipe open would otherwise
// hold codeagent up for ever: it has lastWords once ctx is done.
type patient struct {
	ctx context.Context // done lastWords after the run's
	w   io.Writer
}

// patiently returns the writer for a run, and what releases it.
func patiently(run context.Context, w io.Writer) (io.Writer, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(run))
	stop := context.AfterFunc(run, func() {
		time.AfterFunc(lastWords, func() { cancel(context.Cause(run)) })
	})
	return patient{ctx, w}, func() { stop(); cancel(nil) }
}

func (p patient) Write(data []byte) (int, error) {
	return hostfile.Within(p.ctx, func() (int, error) { return p.w.Write(data) })
}
