package mcpcmd

import (
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// report is the structured result of shell and apply_patch: offer/call.out.json.
type report struct {
	Outcome    word.Outcome `json:"outcome"`
	Exit       *int         `json:"exit,omitempty"`
	Signal     string       `json:"signal,omitempty"`
	DurationMS int64        `json:"duration_ms"`
	Limit      string       `json:"limit,omitempty"`
	Denied     bool         `json:"denied"`
	Confidence string       `json:"confidence,omitempty"`
	Denials    []denial     `json:"denials"`
	Needed     *grantReport `json:"needed,omitempty"`
	Refused    []refusal    `json:"refused"`
	Changed    []string     `json:"changed,omitempty"`
	UndoID     string       `json:"undo_id,omitempty"`
}

// denial is a sandbox.Denial for another program. Names that commands chose are escaped.
type denial struct {
	Kind      string `json:"kind"`
	Operation string `json:"operation"`
	Target    string `json:"target"`
	Program   string `json:"program"`
	Why       string `json:"why,omitempty"`
	Count     int    `json:"count"`
	Moot      bool   `json:"moot"`
}

// grantReport is a sandbox.Grant.
type grantReport struct {
	Write   []string `json:"write"`
	Read    []string `json:"read"`
	Hosts   []string `json:"hosts"`
	Sockets []string `json:"sockets"`
}

// refusal is a permission that was not granted.
type refusal struct {
	Title  string `json:"title"`
	Reason string `json:"reason,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// agentReport is the structured result of agent: offer/agent.out.json.
type agentReport struct {
	Session string           `json:"session"`
	Outcome word.TurnOutcome `json:"outcome"`
	Answer  string           `json:"answer"`
	Error   string           `json:"error,omitempty"`
	Refused []refusal        `json:"refused"`
	UndoID  string           `json:"undo_id,omitempty"`
}

// undoReport is the structured result of undo: offer/undo.out.json.
type undoReport struct {
	UndoID   string  `json:"undo_id,omitempty"`
	Restored []aPath `json:"restored"`
	Left     []aPath `json:"left"`
}

// aPath is a path and what became of it.
type aPath struct {
	Path string `json:"path"`
	What string `json:"what"`
}

// mostDenials bounds the denials of a report.
const mostDenials = 100

func reportOf(e event.ToolFinished, refused []refusal) report {
	r := report{
		Outcome: e.Outcome, Signal: e.Signal, DurationMS: e.Duration.Milliseconds(), Limit: string(e.Limit),
		Denied: e.Verdict.Denied, Denials: []denial{}, Refused: list(refused),
	}
	if r.Outcome == "" {
		r.Outcome = word.Failed
	}
	if e.Kind == word.KindCommand && e.Signal == "" && (e.Outcome == word.OK || e.Exit > 0) {
		r.Exit = &e.Exit
	}
	for _, d := range e.Verdict.Denials[:min(len(e.Verdict.Denials), mostDenials)] {
		r.Denials = append(r.Denials, denial{
			string(d.Kind), d.Operation, visible.Line(d.Target), visible.Line(d.Who()), visible.Line(d.Why), d.Count, d.Moot,
		})
	}
	if g := e.Verdict.Suggest; e.Verdict.Denied {
		r.Confidence = string(e.Verdict.Confidence)
		if !g.Empty() {
			r.Needed = &grantReport{lines(g.Write), lines(g.Read), lines(sandbox.HostsOf(g.Hosts)), lines(g.Sockets)}
		}
	}
	for _, c := range e.Changes {
		r.Changed = append(r.Changed, visible.Line(c.Path))
	}
	return r
}

// lines escapes names, and never returns nil: JSON has no list then.
func lines(names []string) []string {
	out := []string{}
	for _, n := range names {
		out = append(out, visible.Line(n))
	}
	return out
}

// list escapes refusals, and never returns nil.
func list(refused []refusal) []refusal {
	out := []refusal{}
	for _, r := range refused {
		out = append(out, refusal{visible.Line(r.Title), visible.Line(r.Reason), visible.Line(r.Hint)})
	}
	return out
}
