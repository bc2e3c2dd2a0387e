// Package headless is the face behind `codeagent exec`: the answer goes to stdout and
// nothing else does, progress goes to stderr, and with JSON every event becomes a line on
// stdout. It does not import agent and asks nobody: it answers every question at once, as
// unattended. Start reading at lines.go for the stable JSON format, and at progress.go
// for what a person reads.
package headless

import (
	"context"
	"io"
	"strings"
	"sync"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/visible"
)

// Options sets the outputs and the format.
type Options struct {
	// Out receives the answer, or the JSON lines. Err receives progress.
	Out, Err io.Writer
	// Terminal: Out is a terminal. The model writes the answer, so control characters are
	// removed: they could move the cursor or set the clipboard. A file or another program gets
	// the answer unchanged.
	Terminal bool
	// JSON prints one event a line on Out.
	JSON bool
	// Plain drops every field and item from the JSON that only codeagent has
	// (--experimental-json).
	Plain bool
	// Kind returns the kind of the error that ended a run, for the JSON; nil: it has none.
	Kind func(error) ErrorKind
	// Color allows colour on Err.
	Color bool
	// Detail is how much Err gets.
	Detail Detail
}

// Detail is how much of a run progress shows.
type Detail int

const (
	Normal Detail = iota
	// Quiet: warnings, errors and what was refused.
	Quiet
	// Verbose: also the model's thinking, the output of every command, and tokens.
	Verbose
)

// Printer renders one run. It is safe for concurrent use. The first write error on Out ends
// the writing and is returned by Err.
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
	p := &Printer{opts: o, progress: &progress{w: o.Err, color: o.Color, silent: o.JSON, detail: o.Detail}}
	if o.JSON {
		p.json = &lines{plain: o.Plain, kindOf: o.Kind, calls: map[string]*item{}, asked: map[string]*item{}, prints: map[string]*liveOutput{}}
	}
	return p
}

// Emit renders one event.
func (p *Printer) Emit(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done, ok := e.(event.TurnFinished)
	if ok {
		p.last = done
	}
	switch {
	case p.json != nil:
		p.write(p.json.encode(e))
	case ok && done.Answer != "":
		p.write([]byte(p.answer(done.Answer)))
	}
	p.progress.print(e)
}

// Ask answers every question at once, as unattended.
func (p *Printer) Ask(context.Context, approvals.Request) (approvals.Answer, error) {
	return approvals.Answer{Decision: approvals.Unattended}, nil
}

// Fail reports why the run ends: in the JSON, if no event has said that a turn failed. The message
// is that of err, in words for the user.
func (p *Printer) Fail(message string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json != nil {
		var kind ErrorKind
		if p.opts.Kind != nil {
			kind = p.opts.Kind(err)
		}
		p.write(p.json.fail(message, kind))
	}
}

// Warn shows a warning on Err.
func (p *Printer) Warn(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress.notice(event.Notice{Level: word.LevelWarning, Text: text})
}

// Last returns the last finished turn.
func (p *Printer) Last() event.TurnFinished {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// Err returns the first error of writing to Out: the reader is gone.
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

func (p *Printer) answer(text string) string {
	if p.opts.Terminal {
		text = visible.Text(text)
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}
