// Package modeltest is the conformance suite of the model adapters. Run plays the
// misbehaviour of real servers, over real HTTP, and checks that each leads to the right
// answer, to a retry, or to one clear typed error, and never to a hang.
package modeltest

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"codeagent/internal/scripted"
	"codeagent/model"
)

// Model is the interface of an adapter.
type Model interface {
	Stream(context.Context, model.Request) iter.Seq2[model.Delta, error]
}

// Attempts is how often the models that Run builds must try.
const Attempts = 3

// hang is the time after which a case counts as hanging. No passing test waits for it.
const hang = 5 * time.Minute

// silence is the idle limit in the cases with a silent server: short, because the tests
// wait for it, but longer than the pauses of a busy machine.
const silence = time.Second

// Build makes the adapter for baseURL. It must try Attempts times without a pause between
// attempts, and give up on a server that is silent for idle (0: its own limit). It must
// register the closing of what it opens with t.Cleanup.
type Build func(t *testing.T, baseURL string, idle time.Duration) Model

// Answer is what a consumer has at the end of a stream; what Retrying voided is not in it.
type Answer struct {
	Text, Reasoning string
	Calls           []model.ToolCall
	Reason          model.StopReason
	Usage           model.Usage
	Retries         int
	// Unseen holds the refusals of images.
	Unseen []model.Unseen `json:"-"`
	// Items is the whole answer as items of the conversation, in order.
	Items []model.Item
}

// Collect reads a stream to its end, as a consumer would, and checks the rules for
// deltas on the way:
//   - a call begins, gets its fragments and is done, in this order; its arguments are the
//     joined fragments ("{}" if they are empty); ids differ;
//   - Retrying voids everything before it and counts up;
//   - Finished comes last and once, or an error comes last and once; the error
//     is a *model.Error or the context's.
func Collect(t *testing.T, seq iter.Seq2[model.Delta, error]) (Answer, error) {
	t.Helper()
	c := &collector{t: t, calls: map[string]*progress{}}
	for d, err := range seq {
		if c.err != nil || c.finished {
			t.Errorf("%T, %v came after the end of the stream", d, err)
		}
		if err != nil {
			if d != nil {
				t.Errorf("a delta %T came together with the error %v", d, err)
			}
			c.fail(err)
			continue
		}
		c.take(d)
	}
	if c.err == nil && !c.finished {
		t.Error("the stream ended with neither Finished nor an error")
	}
	c.answer.Text = c.text.String()
	c.closeRun(nil)
	return c.answer, c.err
}

type progress struct {
	arguments strings.Builder
	done      bool
}

type collector struct {
	t        *testing.T
	answer   Answer
	text     strings.Builder
	run      strings.Builder // the open run of text or thinking
	kind     model.Kind      // of that run; "" if none is open
	calls    map[string]*progress
	finished bool
	err      error
}

func (c *collector) fail(err error) {
	c.t.Helper()
	c.err = err
	if e := new(model.Error); !errors.As(err, &e) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		c.t.Errorf("the error %v has type %T, want *model.Error", err, err)
	}
}

func (c *collector) take(d model.Delta) {
	c.t.Helper()
	switch d := d.(type) {
	case model.TextDelta:
		c.text.WriteString(d.Text)
		c.openRun(model.Assistant, d.Text)
	case model.ReasoningDelta:
		c.answer.Reasoning += d.Text
		c.openRun(model.Reasoning, d.Text)
	case model.Sealed:
		c.openRun(d.Kind, "")
		c.closeRun(d.Opaque)
	case model.CallStarted:
		if c.calls[d.ID] != nil || d.ID == "" {
			c.t.Errorf("the call id %q is used twice or empty", d.ID)
		}
		c.calls[d.ID] = &progress{}
	case model.CallDelta:
		p := c.calls[d.ID]
		if p == nil || p.done {
			c.t.Errorf("a fragment came for the call %q, which is not open", d.ID)
			return
		}
		p.arguments.WriteString(d.Arguments)
	case model.CallDone:
		c.closeRun(nil)
		c.done(d.Call)
		c.answer.Items = append(c.answer.Items, model.Item{Kind: model.Call, Call: &d.Call, Opaque: d.Opaque})
	case model.Retrying:
		c.answer = Answer{Retries: c.answer.Retries + 1}
		c.text.Reset()
		c.run.Reset()
		c.kind = ""
		c.calls = map[string]*progress{}
		if d.Attempt != c.answer.Retries+1 || d.Most != Attempts || d.Err == nil {
			c.t.Errorf("retry number %d reports %+v", c.answer.Retries, d)
		}
	case model.Unseen:
		if d.Err == nil {
			c.t.Error("images are refused without a reason")
		}
		c.answer.Unseen = append(c.answer.Unseen, d)
	case model.Searched:
		if len(d.Query)+len(d.Sources) == 0 {
			c.t.Error("a search has neither a query nor sources")
		}
	case model.Finished:
		c.finished = true
		c.answer.Reason, c.answer.Usage = d.Reason, d.Usage
		for id, p := range c.calls {
			if !p.done {
				c.t.Errorf("the call %q is not done when the answer is finished", id)
			}
		}
	default:
		c.t.Errorf("unknown delta %T", d)
	}
}

func (c *collector) openRun(kind model.Kind, text string) {
	if c.kind != kind {
		c.closeRun(nil)
		c.kind = kind
	}
	c.run.WriteString(text)
}

func (c *collector) closeRun(opaque *model.Opaque) {
	if c.run.Len() > 0 || opaque != nil {
		c.answer.Items = append(c.answer.Items, model.Item{Kind: c.kind, Text: c.run.String(), Opaque: opaque})
	}
	c.run.Reset()
	c.kind = ""
}

func (c *collector) done(call model.ToolCall) {
	c.t.Helper()
	p := c.calls[call.ID]
	if p == nil || p.done {
		c.t.Errorf("the call %q is done, but not open", call.ID)
		return
	}
	p.done = true
	want := strings.TrimSpace(p.arguments.String())
	if want == "" {
		want = "{}"
	}
	if call.Arguments != want {
		c.t.Errorf("the call %q is done with %q, its fragments were %q", call.ID, call.Arguments, want)
	}
	c.answer.Calls = append(c.answer.Calls, call)
}

// question returns the request of every case.
func question() model.Request {
	return model.Request{
		Model: "m", Instructions: "be brief",
		Items: []model.Item{{Kind: model.User, Text: "hello"}},
		Tools: []model.ToolSpec{{Name: "shell", Description: "runs a command"}},
	}
}

// Run tests the adapter of a wire. It counts goroutines, so the test that calls it must not
// be parallel.
func Run(t *testing.T, w Wire, build Build) {
	for _, c := range cases(w) {
		t.Run(c.name, func(t *testing.T) { c.run(t, w, build) })
	}
	t.Run("nobody listens", func(t *testing.T) { nobodyListens(t, build) })
	for _, c := range cancels() {
		t.Run("cancel "+c.name, func(t *testing.T) { c.run(t, build) })
	}
	t.Run("consumer stops early", func(t *testing.T) { stopsEarly(t, build) })
	t.Run("many at once", func(t *testing.T) { manyAtOnce(t, build) })
	t.Run("call ids of others", func(t *testing.T) { foreignCallIDs(t, w, build) })
	t.Run("images", func(t *testing.T) { images(t, w, build) })
}

// serve starts a script for one case, and checks at the case's end that no goroutine of
// server or adapter still runs.
func serve(t *testing.T, h scripted.Handler) *scripted.Server {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() { settled(t, before) }) // runs after the later cleanups
	srv, err := scripted.Start(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

// settled waits until there are no more goroutines than before.
func settled(t *testing.T, before int) {
	t.Helper()
	for start := time.Now(); time.Since(start) < hang; time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
}

// unhung returns a context that turns a hang into a failure.
func unhung(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Error("the stream hung")
		}
		cancel()
	})
	return ctx
}
