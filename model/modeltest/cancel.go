package modeltest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/internal/scripted"
	"codeagent/model"
)

// cancelcase cancels a stream at a point that the script defines.
type cancelcase struct {
	name  string
	reply scripted.Reply
	// at reports whether to cancel at this delta; nil: cancel when the request has reached
	// the server.
	at func(model.Delta) bool
}

func cancels() []cancelcase {
	text := func(d model.Delta) bool { _, ok := d.(model.TextDelta); return ok }
	retrying := func(d model.Delta) bool { _, ok := d.(model.Retrying); return ok }
	call := func(d model.Delta) bool { _, ok := d.(model.CallStarted); return ok }
	return []cancelcase{
		{"before the answer", scripted.Reply{Fault: scripted.NeverAnswer}, nil},
		{"in a silent stream", scripted.Reply{Text: "some text", Piece: 1, Fault: scripted.Stall, After: 8}, text},
		{"in a busy stream", scripted.Reply{Text: strings.Repeat("x", 1<<20)}, text},
		{"in a call", scripted.Reply{Calls: []scripted.Call{{Name: "shell", Arguments: strings.Repeat(" ", 1<<16) + "{}"}}}, call},
		{"at a retry", scripted.Reply{Status: 503}, retrying},
	}
}

func (c cancelcase) run(t *testing.T, build Build) {
	ctx, cancel := context.WithCancel(unhung(t))
	defer cancel()
	srv := serve(t, func(scripted.Request) scripted.Reply {
		if c.at == nil {
			cancel()
		}
		return c.reply
	})
	var last error
	after := 0
	for d, err := range build(t, srv.URL, 0).Stream(ctx, question()) {
		if ctx.Err() != nil && err == nil {
			after++
		}
		last = err
		if err == nil && c.at != nil && c.at(d) {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("the stream ended with %v, want the context's error", last)
	}
	if after > 0 {
		t.Errorf("%d deltas came after the cancel", after)
	}
}

// stopsEarly breaks out of the loop at each kind of delta.
func stopsEarly(t *testing.T, build Build) {
	srv := serve(t, scripted.Steps(
		scripted.Reply{Status: 503},
		scripted.Reply{Reasoning: "hm", Text: "text", Calls: []scripted.Call{{Name: "shell", Arguments: `{"x":1}`}}}))
	m := build(t, srv.URL, 0)
	seen := 0
	for stop := 1; ; stop++ {
		q := question()
		q.Items[0].Text = strings.Repeat("x", stop) // a different conversation each time
		seen = 0
		for _, err := range m.Stream(unhung(t), q) {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen == stop {
				break
			}
		}
		if seen < stop {
			break // the whole stream was read
		}
	}
	if seen < 6 { // Retrying, reasoning, text, call started, fragment, done, Finished
		t.Errorf("only %d deltas in the whole stream", seen)
	}
}

// manyAtOnce uses one adapter from several goroutines.
func manyAtOnce(t *testing.T, build Build) {
	srv := serve(t, func(r scripted.Request) scripted.Reply {
		return scripted.Reply{Text: "answer to " + r.FirstUser(), Delay: time.Millisecond}
	})
	m, ctx := build(t, srv.URL, 0), unhung(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			q := question()
			q.Items[0].Text = strings.Repeat("x", i+1)
			if got, err := Collect(t, m.Stream(ctx, q)); err != nil || got.Text != "answer to "+q.Items[0].Text {
				t.Errorf("%d: %q, %v", i, got.Text, err)
			}
		})
	}
	all.Wait()
}
