package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// spans are the spans that have begun.
type spans struct {
	session []attribute
	model   string
	turn    *span
	request *span
	compact *span
	calls   map[string]*span // by the ID of the call
	waits   map[string]*span // by the ID of the question
	// settled are the calls with an answered question: their refusals have a span.
	settled map[string]bool
	// helpers are those of the helpers that work, by the call of delegate and the number. Theirs begin
	// below a call.
	helpers map[string]spans
	below   *span
}

func (s *spans) begin() {
	s.calls, s.waits, s.settled, s.helpers = map[string]*span{}, map[string]*span{}, map[string]bool{}, map[string]spans{}
}

// Observe takes an event of the session.
//
//	turn
//	  model request
//	  compaction
//	  tool call
//	    wait for a person     a question, until it was answered
//	    grant                 the answer was yes
//	    refusal               a person, the policy or a rule said no
//	    turn                  of a helper, with all of these below it
func (x *Exporter) Observe(e event.Event) {
	switch e.(type) {
	case event.TextDelta, event.ReasoningDelta, event.ToolOutput: // many, and of no use here
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.observe(e)
}

// helper is observe for an event of a helper; x.mu is held.
func (x *Exporter) helper(e event.HelperEvent) {
	key, parent := fmt.Sprintf("%s/%d", e.CallID, e.Number), x.spans
	own, ok := parent.helpers[key]
	if !ok {
		own = spans{session: parent.session, model: parent.model, below: cmp.Or(parent.calls[e.CallID], parent.turn)}
		own.begin()
	}
	x.spans = own
	x.observe(e.Event)
	parent.helpers[key] = x.spans
	if _, over := e.Event.(event.TurnFinished); over {
		delete(parent.helpers, key)
	}
	x.spans = parent
}

func (x *Exporter) observe(e event.Event) {
	o := &x.spans
	switch e := e.(type) {
	case event.HelperEvent:
		x.helper(e)
	case event.SessionStarted:
		o.model = e.Model
		o.session = []attribute{text("gen_ai.conversation.id", e.ID), text("codeagent.sandbox", e.Policy), text("codeagent.approval", e.Approval), text("codeagent.backend", e.Enforcement.Backend)}
	case event.TurnStarted:
		x.finish()
		o.turn = x.start("turn", o.below, append([]attribute{text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", "codeagent")}, o.session...)...)
	case event.RequestStarted:
		x.endRequest(nil)
		o.request = x.start("model request", cmp.Or(o.compact, o.turn), text("gen_ai.operation.name", "chat"), text("gen_ai.request.model", o.model))
		o.request.Kind = kindClient
	case event.Retrying:
		if s := cmp.Or(o.request, o.compact, o.turn); s != nil && len(s.Events) < 100 {
			s.Events = append(s.Events, spanEvent{stamp(x.now()), "retry", []attribute{count("codeagent.attempt", e.Attempt), text("error.message", x.line(e.Message))}})
		}
	case event.UsageUpdated: // the answer was read
		u := e.Last
		if u.Input+u.Output == 0 && len(o.calls) > 0 {
			break // the totals have changed
		}
		x.endRequest(nil, count("gen_ai.usage.input_tokens", u.Input), count("gen_ai.usage.cache_read.input_tokens", u.Cached), count("gen_ai.usage.output_tokens", u.Output))
	case event.Compacting:
		x.endRequest(nil)
		o.compact = x.start("compaction", o.turn, text("codeagent.reason", string(e.Reason)))
	case event.Compacted:
		x.endRequest(nil)
		if o.compact != nil {
			x.end(o.compact, failure(e.Err), count("codeagent.tokens.before", e.Before), count("codeagent.tokens.after", e.After))
			o.compact = nil
		}
	case event.ToolStarted:
		s := x.start("tool call", o.turn, text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", e.Tool), text("gen_ai.tool.call.id", e.CallID), text("codeagent.kind", string(e.Kind)))
		if e.Server != nil {
			s.Attributes = append(s.Attributes, text("mcp.method.name", "tools/call"), text("codeagent.mcp.server", x.line(e.Server.Server)))
		}
		o.calls[e.CallID] = s
	case event.ToolFinished:
		x.call(e)
	case event.PermissionRequested:
		o.waits[e.ID] = x.start("wait for a person", cmp.Or(o.calls[e.CallID], o.turn), wanted(e.Wanted)...)
	case event.PermissionAnswered:
		x.answer(e)
	case event.TurnFinished:
		x.turn(e)
		x.wake()
	}
}

// start begins a span below another, or one of the program that started codeagent.
func (x *Exporter) start(name string, below *span, attributes ...attribute) *span {
	s := &span{Name: name, Kind: kindInternal, SpanID: newID(8), Start: stamp(x.now()), Attributes: attributes}
	switch p := x.set.parent; {
	case below != nil:
		s.TraceID, s.ParentID = below.TraceID, below.SpanID
	case p.traceID != "":
		s.TraceID, s.ParentID = p.traceID, p.spanID
	default:
		s.TraceID = newID(16)
	}
	return s
}

func (x *Exporter) end(s *span, err error, attributes ...attribute) {
	s.End = stamp(x.now())
	s.Attributes = append(s.Attributes, attributes...)
	if err != nil {
		s.Status = status{statusError, x.line(err.Error())}
	}
	x.enqueue(s)
}

// finish ends what a turn left open, from the innermost span on.
func (x *Exporter) finish() {
	o, ended := &x.spans, errors.New("interrupted")
	for _, key := range slices.Sorted(maps.Keys(o.helpers)) {
		parent := x.spans
		x.spans = parent.helpers[key]
		x.finish()
		x.spans = parent
	}
	for _, open := range []map[string]*span{o.waits, o.calls} {
		for _, key := range slices.Sorted(maps.Keys(open)) {
			x.end(open[key], ended)
		}
	}
	o.begin()
	x.endRequest(ended)
	for _, s := range []*span{o.compact, o.turn} {
		if s != nil {
			x.end(s, ended)
		}
	}
	o.compact, o.turn = nil, nil
}

func (x *Exporter) endRequest(err error, attributes ...attribute) {
	if x.spans.request != nil {
		x.end(x.spans.request, err, attributes...)
		x.spans.request = nil
	}
}

func (x *Exporter) call(e event.ToolFinished) {
	s := x.spans.calls[e.CallID]
	if s == nil {
		return
	}
	delete(x.spans.calls, e.CallID)
	if e.Outcome == word.Refused && !x.spans.settled[e.CallID] { // by a rule or the policy, without a question
		x.refused(s, "policy", nil)
	}
	delete(x.spans.settled, e.CallID)
	var err error
	if e.Outcome != word.OK {
		err = errors.New(string(e.Outcome))
	}
	about := []attribute{text("codeagent.outcome", string(e.Outcome))}
	if e.Kind == word.KindCommand && !e.Running && (e.Outcome == word.OK || e.Outcome == word.Failed) {
		about = append(about, count("process.exit.code", e.Exit))
	}
	if n := len(e.Verdict.Denials); n > 0 {
		about = append(about, count("codeagent.denials", n))
	}
	x.end(s, err, about...)
}

func (x *Exporter) answer(e event.PermissionAnswered) {
	o := &x.spans
	wait := o.waits[e.ID]
	if wait == nil {
		return
	}
	delete(o.waits, e.ID)
	o.settled[e.CallID] = true
	below, wishes, answer := cmp.Or(o.calls[e.CallID], o.turn), wait.Attributes, text("codeagent.answer", string(e.Answer))
	by := "person"
	if e.Answer == word.AnswerRefused { // nobody was asked, so nothing waited
		by = "policy"
	} else {
		x.end(wait, nil, answer)
	}
	if !e.Answer.Granted() {
		x.refused(below, by, wishes)
		return
	}
	x.end(x.start("grant", below, answer), nil, wishes...)
}

// refused records a refusal.
func (x *Exporter) refused(below *span, by string, wishes []attribute) {
	x.end(x.start("refusal", below, text("codeagent.by", by)), nil, wishes...)
}

func (x *Exporter) turn(e event.TurnFinished) {
	s := x.spans.turn
	if s == nil {
		return
	}
	err := e.Err
	if err == nil && e.Outcome != word.TurnDone {
		err = errors.New(string(e.Outcome))
	}
	x.endRequest(err)
	x.spans.turn = nil
	x.finish()
	var ahead []attribute
	if u := e.Ahead; u.Hits+u.Misses > 0 {
		ahead = []attribute{count("codeagent.ahead.hits", u.Hits), count("codeagent.ahead.misses", u.Misses),
			count("codeagent.ahead.hidden_ms", int(u.Hidden.Milliseconds())), count("codeagent.ahead.wasted_ms", int(u.Wasted.Milliseconds()))}
	}
	x.end(s, err, append(ahead, text("codeagent.outcome", string(e.Outcome)), count("codeagent.refused", len(e.Refused)),
		count("gen_ai.usage.input_tokens", e.Usage.Input), count("gen_ai.usage.output_tokens", e.Usage.Output))...)
}

// wanted counts what a request asks for, by kind.
func wanted(g sandbox.Grant) []attribute {
	var out []attribute
	for _, k := range []struct {
		name string
		n    int
	}{{"write", len(g.Write)}, {"read", len(g.Read)}, {"hosts", len(g.Hosts)}, {"sockets", len(g.Sockets)}} {
		if k.n > 0 {
			out = append(out, count("codeagent.wanted."+k.name, k.n))
		}
	}
	if g.Unsandboxed {
		out = append(out, yes("codeagent.wanted.outside"))
	}
	return out
}

func failure(message string) error {
	if message == "" {
		return nil
	}
	return errors.New(message)
}
