// Package headless is the face behind `codeagent exec`: the answer goes to stdout and
// nothing else does, progress goes to stderr, and with JSON every event becomes a line on
// stdout. It imports no agent and asks nobody: every question is answered at once, as
// unattended. Start reading at lines.go for the JSON that is promised, and at progress.go
// for what a person reads.
package headless

import (
	"context"
	"io"
	"sync"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/internal/visible"
)

// Options says where to write and how.
type Options struct {
	// Out gets the answer, or the JSON lines. Err gets progress.
	Out, Err io.Writer
	// Terminal: Out is one. The model writes the answer, and it must not move the
	// cursor or set the clipboard of whoever reads it. A file or another program
	// gets the answer as it is.
	Terminal bool
	// JSON prints one event a line on Out.
	JSON bool
	// Plain drops from the JSON every field and item that is ours alone
	// (--experimental-json).
	Plain bool
	// Color allows colour on Err; only when it is a terminal.
	Color bool
	// Quiet keeps progress off Err.
	Quiet bool
}

// Printer renders one run. It is safe for concurrent use. A write error on Out
// is remembered, ends the writing, and is returned by Err.
type Printer struct {
	mu       sync.Mutex
	opts     Options
	json     *lines
	progress *progress
	outErr   error
	last     event.TurnFinished
}

// New returns a Printer for one run.
func New(o Options) *Printer {
	p := &Printer{opts: o, progress: newProgress(o)}
	if o.JSON {
		p.json = newLines(o.Plain)
	}
	return p
}

// Emit renders one event.
func (p *Printer) Emit(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done, ok := e.(event.TurnFinished); ok {
		p.last = done
	}
	if p.json != nil {
		p.write(p.json.encode(e))
	} else {
		if done, ok := e.(event.TurnFinished); ok && done.Answer != "" {
			p.write([]byte(p.answer(done.Answer)))
		}
	}
	if !p.opts.Quiet {
		p.progress.print(e)
	}
}

// Ask answers every question at once: nobody is there.
func (p *Printer) Ask(context.Context, approvals.Request) (approvals.Answer, error) {
	return approvals.Answer{Decision: approvals.Unattended}, nil
}

// Fail tells an error that ended the run before or between turns, where no
// event could carry it.
func (p *Printer) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json != nil {
		p.write(p.json.fail(err))
	}
}

// Last is the last finished turn.
func (p *Printer) Last() event.TurnFinished {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// Err is the first error of writing to Out: the reader has gone away.
func (p *Printer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outErr
}

func (p *Printer) write(data []byte) {
	if p.outErr != nil || len(data) == 0 {
		return
	}
	_, p.outErr = p.opts.Out.Write(data)
}

// answer is what is written of the answer.
func (p *Printer) answer(text string) string {
	if p.opts.Terminal {
		text = visible.Text(text)
	}
	return ensureNewline(text)
}

func ensureNewline(s string) string {
	if s != "" && s[len(s)-1] != '\n' {
		return s + "\n"
	}
	return s
}
