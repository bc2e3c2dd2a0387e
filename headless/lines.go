package headless

import (
	"fmt"
	"strings"
	"time"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/model"
	"codeagent/sandbox"
)

// The format of `codeagent exec --json`: one JSON object per line, with the names and
// shapes of other agents' `exec --json`:
//
//	thread.started turn.started item.started item.updated item.completed
//	turn.completed turn.failed error
//
// Our additions: `kind` of an error; `sandbox` on thread.started and command_execution; `limit`, `session`,
// `running` and the changed files on command_execution; `refused` and `ahead` on turn.completed; the
// output of a running call in item.updated; and the item types `permission_request`, `tool_call`,
// `compaction`, `finding`, `earlier_answer` and `helper`; `helper` on the items of helpers; `sandbox` on mcp_tool_call. Schema: schema/lines.json.

type line struct {
	Type     string           `json:"type"`
	ThreadID string           `json:"thread_id,omitempty"`
	Model    string           `json:"model,omitempty"`
	Folder   string           `json:"folder,omitempty"`
	Item     *item            `json:"item,omitempty"`
	Usage    *model.Usage     `json:"usage,omitempty"`
	Error    *failure         `json:"error,omitempty"`
	Message  string           `json:"message,omitempty"`
	Kind     ErrorKind        `json:"kind,omitempty"`
	Outcome  word.TurnOutcome `json:"outcome,omitempty"`
	Refused  []refusal        `json:"refused,omitempty"`
	Ahead    *aheadUse        `json:"ahead,omitempty"`
	Sandbox  *sandboxState    `json:"sandbox,omitempty"`
	// Helper is set where a helper of the model did it.
	Helper *helperRef `json:"helper,omitempty"`
}

// helperRef names a helper: CallID is the call of delegate, Number counts its helpers from 1.
type helperRef struct {
	CallID string `json:"call_id"`
	Number int    `json:"number"`
	Kind   string `json:"kind"`
}

type failure struct {
	Message string    `json:"message"`
	Kind    ErrorKind `json:"kind,omitempty"`
}

type refusal struct {
	Title string        `json:"title"`
	Grant sandbox.Grant `json:"grant"`
	Hint  string        `json:"hint,omitempty"`
}

// aheadUse is event.Ahead.
type aheadUse struct {
	Hits     int   `json:"hits"`
	Misses   int   `json:"misses"`
	HiddenMS int64 `json:"hidden_ms"`
	WastedMS int64 `json:"wasted_ms"`
}

func aheadOf(e event.TurnFinished) *aheadUse {
	if e.Ahead.Hits+e.Ahead.Misses == 0 {
		return nil
	}
	return &aheadUse{e.Ahead.Hits, e.Ahead.Misses, e.Ahead.Hidden.Milliseconds(), e.Ahead.Wasted.Milliseconds()}
}

type sandboxState struct {
	sandbox.Enforcement
	Preset   string `json:"preset"`
	Approval string `json:"approval"`
}

// status is how far an item is.
type status string

const (
	inProgress status = "in_progress"
	completed  status = "completed"
	failed     status = "failed"
	declined   status = "declined"
	notStarted status = "not_started"
)

type item struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// command_execution
	Command    string           `json:"command,omitempty"`
	Backend    string           `json:"backend,omitempty"`
	Output     *string          `json:"aggregated_output,omitempty"`
	ExitCode   *int             `json:"exit_code,omitempty"`
	Signal     string           `json:"signal,omitempty"`
	Status     status           `json:"status,omitempty"`
	Limit      sandbox.Limit    `json:"limit,omitempty"`
	DurationMS *int64           `json:"duration_ms,omitempty"` // of every call that ended
	Sandbox    *sandbox.Verdict `json:"sandbox,omitempty"`
	background
	delta
	changeList
	Diagnostics []event.Diagnostics `json:"diagnostics,omitempty"`
	*serverCall
	webSearch
	earlierAnswer
	// todo_list
	Items []todo `json:"items,omitempty"`
	// tool_call and permission_request
	Tool          string `json:"tool,omitempty"`
	Title         string `json:"title,omitempty"`
	Justification string `json:"justification,omitempty"`
	permissionRequest
	decision
	tokens
	finding
	// error and finding
	Message string `json:"message,omitempty"`
}

// webSearch is a search of the provider's own. Query is "" where it does not say what it searched for.
type webSearch struct {
	Query   *string        `json:"query,omitempty"`
	Sources []model.Source `json:"sources,omitempty"`
}

// earlierAnswer says when the answer was given, how near its message was, and how many files were compared.
type earlierAnswer struct {
	AnsweredAt *time.Time `json:"answered_at,omitempty"`
	Score      *float64   `json:"score,omitempty"`
	Unchanged  *int       `json:"files_unchanged,omitempty"`
}

// background is the background command that a command_execution or a tool_call refers to.
type background struct {
	Job     int   `json:"session,omitempty"`
	Running *bool `json:"running,omitempty"`
}

// delta is new output of a running call, in an item.updated.
type delta struct {
	CallID string `json:"call_id,omitempty"`
	Delta  string `json:"delta,omitempty"`
	// Stream is that of the delta, where each has a pipe.
	Stream string `json:"stream,omitempty"`
	// Skipped counts the bytes left out before it.
	Skipped int64 `json:"skipped_bytes,omitempty"`
}

// decision is how a permission_request was answered, or why a compaction is made.
type decision struct {
	Decision word.Answer `json:"decision,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Hint     string      `json:"hint,omitempty"`
}

// permissionRequest describes what a permission_request would open, with the known facts.
type permissionRequest struct {
	Wanted   *sandbox.Grant `json:"wanted,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Facts    []string       `json:"facts,omitempty"`
}

// changeList is what a file_change, command_execution or tool_call changed. More counts
// the changes that are not listed. Partial: not all changes are known.
type changeList struct {
	Changes []change `json:"changes,omitempty"`
	More    int      `json:"more_changes,omitempty"`
	Partial bool     `json:"partial_changes,omitempty"`
}

// tokens counts the tokens of a request before and after a compaction.
type tokens struct {
	Before int `json:"tokens_before,omitempty"`
	After  int `json:"tokens_after,omitempty"`
}

type change struct {
	Path string             `json:"path"`
	Kind sandbox.ChangeKind `json:"kind"`
}

type todo struct {
	Text      string `json:"text"`
	Completed bool   `json:"completed"`
}

// lines converts events to lines; it keeps the ids of items that have started.
type lines struct {
	plain  bool
	kindOf func(error) ErrorKind // nil: no kinds
	next   int
	calls  map[string]*item // running calls by call id
	prints map[string]*liveOutput
	asked  map[string]*item // open questions by request id
	plan   *item
	// summary is the running compaction.
	summary *item
	turn    turnState
}

// turnState is how far the run's turn is.
type turnState int

const (
	turnNone turnState = iota
	turnOpen
	turnFailed
	turnCompleted
)

// encode returns the lines for one event, each ended by a newline; empty if the event has
// none.
func (l *lines) encode(e event.Event) []byte {
	var out []byte
	for _, ln := range l.lines(e) {
		out = append(out, l.marshal(ln)...)
	}
	return out
}

// fail returns the line for a run that ends with an error: turn.failed in a turn, nothing after
// a turn that failed, else error.
func (l *lines) fail(message string, kind ErrorKind) []byte {
	message = strings.ToValidUTF8(message, "\uFFFD")
	switch l.turn {
	case turnOpen:
		l.turn = turnFailed
		return l.marshal(line{Type: "turn.failed", Outcome: word.TurnFailed, Error: &failure{message, kind}})
	case turnFailed:
		return nil
	}
	return l.marshal(line{Type: "error", Message: message, Kind: kind})
}

func (l *lines) marshal(ln line) []byte {
	var v any = ln
	if l.plain {
		plain, ok := ln.plain()
		if !ok {
			return nil
		}
		v = plain
	}
	data, err := visible.JSON(v, "")
	if err != nil { // lines hold plain data only
		data = []byte(`{"type":"error","message":"bug: a line could not be encoded"}`)
	}
	return append(data, '\n')
}

func (l *lines) lines(e event.Event) []line {
	switch e := e.(type) {
	case event.SessionStarted:
		return []line{{Type: "thread.started", ThreadID: e.ID, Model: e.Model, Folder: e.Folder,
			Sandbox: stateOf(e)}}
	case event.TurnStarted:
		l.turn = turnOpen
		return []line{{Type: "turn.started"}}
	case event.MessageFinished:
		return l.completed(&item{Type: "agent_message", Text: e.Text})
	case event.EarlierAnswer:
		at, score := e.At.UTC().Truncate(time.Second), e.Rounded()
		return l.completed(&item{Type: "earlier_answer", earlierAnswer: earlierAnswer{&at, &score, &e.Files}})
	case event.Searched:
		return l.completed(&item{Type: "web_search", webSearch: webSearch{&e.Query, e.Sources}})
	case event.ReasoningFinished:
		return l.completed(&item{Type: "reasoning", Text: e.Text})
	case event.ToolStarted:
		return l.toolStarted(e)
	case event.ToolFinished:
		return l.toolFinished(e)
	case event.PermissionRequested:
		it := &item{ID: l.id(), Type: "permission_request", Title: e.Title, Command: e.Command,
			Justification: e.Justification, permissionRequest: permissionRequest{&e.Wanted, e.Warnings, e.Facts}, Status: inProgress}
		l.asked[e.ID] = it
		return []line{{Type: "item.started", Item: it}}
	case event.PermissionAnswered:
		return l.answered(e)
	case event.PlanUpdated:
		return l.planUpdated(e)
	case event.Retrying:
		return l.completed(&item{Type: "error", Message: retryWords(e)})
	case event.Notice:
		if e.Level == word.LevelInfo {
			return l.completed(&item{Type: "notice", Message: e.Text})
		}
		return l.completed(&item{Type: "error", Message: string(e.Level) + ": " + e.Text})
	case event.BackgroundEnded:
		return l.completed(backgroundEnded(e))
	case event.TurnFinished:
		return l.turnFinished(e)
	case event.Compacting:
		l.summary = &item{ID: l.id(), Type: "compaction", Status: inProgress, decision: decision{Reason: string(e.Reason)}}
		return []line{{Type: "item.started", Item: l.summary}}
	case event.Compacted:
		return l.compacted(e)
	case event.ToolOutput:
		return l.printed(e)
	case event.HelperEvent:
		return l.helper(e)
	case event.Steered, event.TextDelta, event.ReasoningDelta, event.RequestStarted, event.UsageUpdated,
		event.BackgroundChanged:
		// Pieces of texts are not repeated: items carry the whole text.
	}
	return nil
}

// helper returns the lines for an event of a helper. The helper itself is an item. What it says on the way
// has none: a reader that takes the last message for the answer must not meet a helper's.
func (l *lines) helper(e event.HelperEvent) (out []line) {
	key := fmt.Sprintf("%s/%d", e.CallID, e.Number)
	switch in := e.Event.(type) {
	case event.TurnStarted:
		it := &item{ID: l.id(), Type: "helper", Title: in.Text, Status: inProgress}
		l.calls[key] = it
		out = []line{{Type: "item.started", Item: it}}
	case event.TurnFinished:
		started, ok := l.calls[key]
		if !ok {
			return nil
		}
		delete(l.calls, key)
		it := *started
		it.Status, it.Text = completed, in.Answer
		if in.Outcome != word.TurnDone {
			it.Status, it.Message = failed, string(in.Outcome)
		}
		if in.Err != nil {
			it.Message = in.Err.Error()
		}
		out = []line{{Type: "item.completed", Item: &it, Usage: usageOf(in)}}
	case event.ToolStarted, event.ToolOutput, event.ToolFinished, event.PermissionRequested, event.PermissionAnswered, event.Notice, event.Retrying:
		out = l.lines(in)
	}
	for i := range out {
		out[i].Helper = &helperRef{e.CallID, e.Number, e.Kind}
	}
	return out
}

func usageOf(e event.TurnFinished) *model.Usage {
	if !e.Usage.Cost.Known() {
		e.Usage.Cost = model.Cost{}
	}
	return &e.Usage
}

// stateOf uses empty lists, never null.
func stateOf(e event.SessionStarted) *sandboxState {
	f := &sandboxState{e.Enforcement, e.Policy, e.Approval}
	if f.Layers == nil {
		f.Layers = []sandbox.Layer{}
	}
	if f.Weaknesses == nil {
		f.Weaknesses = []sandbox.Weakness{}
	}
	return f
}

func (l *lines) id() string {
	id := fmt.Sprintf("item_%d", l.next)
	l.next++
	return id
}

func (l *lines) completed(it *item) []line {
	it.ID = l.id()
	return []line{{Type: "item.completed", Item: it}}
}

func (l *lines) toolStarted(e event.ToolStarted) []line {
	it := &item{ID: l.id(), Status: inProgress}
	switch {
	case e.Kind == word.KindCommand:
		empty := ""
		it.Type, it.Command, it.Backend, it.Output = "command_execution", e.Command, e.Backend, &empty
	case e.Kind == word.KindEdit:
		it.Type = "file_change"
	case e.Kind == word.KindServer && e.Server != nil:
		it.Type = "mcp_tool_call"
		it.serverCall = servedCall(e)
		it.Tool = e.Server.Tool
	case e.Kind == word.KindPlan:
		it.Type = "todo_list"
		l.next-- // the plan has an item of its own for the whole run
		return nil
	default:
		it.Type, it.Tool, it.Title = "tool_call", e.Tool, e.Title
	}
	l.calls[e.CallID] = it
	return []line{{Type: "item.started", Item: it}}
}

func (l *lines) toolFinished(e event.ToolFinished) []line {
	started, ok := l.calls[e.CallID]
	if !ok {
		return nil
	}
	delete(l.calls, e.CallID)
	for _, stream := range []string{"", "stdout", "stderr"} {
		delete(l.prints, e.CallID+stream)
	}
	it := *started
	it.Status = map[word.Outcome]status{word.OK: completed, word.Refused: declined, word.NotStarted: notStarted}[e.Outcome]
	if it.Status == "" {
		it.Status = failed
	}
	it.DurationMS = new(e.Duration.Milliseconds())
	if e.Job != 0 {
		it.Job, it.Running = e.Job, &e.Running
	}
	switch {
	case it.Type == "command_execution" || e.Job != 0:
		it.Output, it.Signal, it.Limit = &e.Output, e.Signal, e.Limit
		// A background command has no exit status yet, and a call that did not run has none at all.
		if !e.Running && (e.Outcome == word.OK || e.Outcome == word.TimedOut || e.Outcome == word.Failed && hasEnd(e)) {
			it.ExitCode = &e.Exit
		}
		if e.Verdict.Confidence != "" { // it ran, and was judged
			it.Sandbox = &e.Verdict
		}
	case it.Type == "mcp_tool_call":
		it.serverCall = started.serverCall.answered(e)
		if e.Verdict.Confidence != "" {
			it.Sandbox = &e.Verdict
		}
	case it.Type == "file_change":
		for _, c := range e.Changes {
			if c.Kind == sandbox.Moved {
				c.Kind = sandbox.Updated
			}
			it.Changes = append(it.Changes, change{Path: c.Path, Kind: c.Kind})
		}
	}
	it.changed(e.Changed)
	it.Message, it.Diagnostics = e.Message, e.Diagnostics
	return []line{{Type: "item.completed", Item: &it}}
}

// hasEnd reports whether a failed command ran: if so, it has a status or a signal.
func hasEnd(e event.ToolFinished) bool { return e.Exit != 0 || e.Signal != "" }

func (it *item) changed(c sandbox.Changes) {
	for _, one := range c.List {
		it.Changes = append(it.Changes, change(one))
	}
	it.More, it.Partial = c.More, c.Partial
}

// backgroundEnded returns the item of a background command whose end no call reports.
func backgroundEnded(e event.BackgroundEnded) *item {
	it := &item{Type: "command_execution", Command: e.Command, Output: &e.Output, Signal: e.Signal, Limit: e.Limit,
		Status: completed, DurationMS: new(e.Duration.Milliseconds()), background: background{e.Job, new(bool)}, Message: e.Message}
	if e.Exit != 0 || e.Signal != "" || e.Killed {
		it.Status = failed
	}
	if !e.Killed {
		it.ExitCode = &e.Exit
	}
	if e.Verdict.Confidence != "" {
		it.Sandbox = &e.Verdict
	}
	it.changed(e.Changed)
	return it
}

func (l *lines) answered(e event.PermissionAnswered) []line {
	asked, ok := l.asked[e.ID]
	if !ok {
		return nil
	}
	delete(l.asked, e.ID)
	it := *asked
	it.Status, it.Decision, it.Reason, it.Hint = completed, e.Answer, e.Reason, e.Hint
	return []line{{Type: "item.completed", Item: &it}}
}

func (l *lines) planUpdated(e event.PlanUpdated) []line {
	kind := "item.updated"
	if l.plan == nil {
		l.plan, kind = &item{ID: l.id(), Type: "todo_list"}, "item.started"
	}
	l.plan.Items = nil
	for _, s := range e.Steps {
		l.plan.Items = append(l.plan.Items, todo{s.Step, s.Status == word.StepCompleted})
	}
	it := *l.plan
	return []line{{Type: kind, Item: &it}}
}

func (l *lines) compacted(e event.Compacted) []line {
	if l.summary == nil {
		return nil
	}
	it := *l.summary
	l.summary = nil
	it.Status, it.Text, it.Before, it.After, it.Message = completed, e.Summary, e.Before, e.After, e.Err
	if e.Err != "" {
		it.Status = failed
	}
	return []line{{Type: "item.completed", Item: &it}}
}

func (l *lines) turnFinished(e event.TurnFinished) []line {
	var out []line
	if l.plan != nil {
		out = append(out, line{Type: "item.completed", Item: l.plan})
		l.plan = nil
	}
	l.turn = turnCompleted
	if e.Outcome == word.TurnFailed || e.Outcome == word.TurnInterrupted {
		l.turn = turnFailed
		message, kind := string(e.Outcome), ErrorKind("")
		if e.Err != nil {
			message = e.Err.Error()
		}
		if l.kindOf != nil {
			kind = l.kindOf(e.Err)
		}
		return append(out, line{Type: "turn.failed", Outcome: e.Outcome, Error: &failure{strings.ToValidUTF8(message, "\uFFFD"), kind}, Refused: refusals(e), Ahead: aheadOf(e)})
	}
	return append(out, line{Type: "turn.completed", Outcome: e.Outcome, Usage: usageOf(e), Refused: refusals(e), Ahead: aheadOf(e)})
}

func refusals(e event.TurnFinished) []refusal {
	var out []refusal
	for _, r := range e.Refused {
		out = append(out, refusal(r))
	}
	return out
}
