package acp

import (
	"fmt"
	"path"
	"strings"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"

	sdk "github.com/coder/acp-go-sdk"
)

// Bounds of what the editor is shown of one call, in bytes.
const (
	outputMost  = 64 << 10 // the output of a call that has ended
	tailMost    = 8 << 10  // the end of the output of one that runs: each update repeats it
	titleMost   = 1 << 10
	commandMost = 64 << 10
	// placesMost is how many files a call names.
	placesMost = 100
	// changedMost is the most of files, before and after, that a call that has ended shows as diffs.
	changedMost = 4 << 20
)

// shownCall is a call that runs.
type shownCall struct {
	output []byte // its end
	hint   string // what would allow what was refused
}

type contentItem struct {
	Type    string `json:"type"`
	Content any    `json:"content"`
}

func words(s string) contentItem { return contentItem{"content", text(s)} }

// printed is what a command printed. Editors draw text as Markdown, which would join its lines.
func printed(s string) contentItem {
	return contentItem{"content", textBlock{"text", visible.Fenced(visible.Text(s), "")}}
}

// diffItem is a changed file. OldText is null for a new file.
type diffItem struct {
	Type    string  `json:"type"`
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
}

// size is how much text the diff has, in bytes.
func (d diffItem) size() int {
	n := len(d.NewText)
	if d.OldText != nil {
		n += len(*d.OldText)
	}
	return n
}

// callUpdate is a tool_call or a tool_call_update: what is left out stays as it was, and lists
// replace the earlier ones, also by an empty one.
type callUpdate struct {
	SessionUpdate string                 `json:"sessionUpdate,omitempty"`
	ToolCallID    string                 `json:"toolCallId"`
	Title         string                 `json:"title,omitempty"`
	Name          string                 `json:"name,omitempty"`
	Kind          sdk.ToolKind           `json:"kind,omitempty"`
	Status        sdk.ToolCallStatus     `json:"status,omitempty"`
	Content       []any                  `json:"content,omitzero"`
	Locations     []sdk.ToolCallLocation `json:"locations,omitzero"`
	RawInput      any                    `json:"rawInput,omitempty"`
	Meta          map[string]any         `json:"_meta,omitempty"`
}

// kinds maps what calls do to the protocol's words.
var kinds = map[word.Kind]sdk.ToolKind{
	word.KindCommand: sdk.ToolKindExecute, word.KindEdit: sdk.ToolKindEdit, word.KindRead: sdk.ToolKindRead,
	word.KindPlan: sdk.ToolKindThink, word.KindInput: sdk.ToolKindExecute, word.KindFetch: sdk.ToolKindFetch, word.KindWatch: sdk.ToolKindRead,
}

func kindOf(k word.Kind) sdk.ToolKind {
	if kind, ok := kinds[k]; ok {
		return kind
	}
	return sdk.ToolKindOther
}

// tool returns the updates for an event about a call; ok is false for other events.
func (v *view) tool(e event.Event, replaying bool) (out []any, ok bool) {
	switch e := e.(type) {
	case event.ToolStarted:
		return v.started(e), true
	case event.ToolOutput:
		return v.output(e), true
	case event.ToolFinished:
		return v.ended(e, replaying), true
	case event.PermissionRequested:
		if v.calls[e.CallID] == nil {
			return nil, true
		}
		if v.questions == nil {
			v.questions = map[string]string{}
		}
		v.questions[e.ID] = e.CallID
		if e.Held { // the command runs and waits
			return nil, true
		}
		return v.status(e.CallID, sdk.ToolCallStatusPending), true
	case event.PermissionAnswered:
		call := v.questions[e.ID]
		delete(v.questions, e.ID)
		if c := v.calls[call]; c != nil && !e.Answer.Granted() {
			c.hint = e.Hint
		}
		if call == "" || !e.Answer.Granted() {
			return nil, true
		}
		return v.status(call, sdk.ToolCallStatusInProgress), true
	}
	return nil, false
}

func (*view) status(callID string, s sdk.ToolCallStatus) []any {
	return []any{callUpdate{SessionUpdate: "tool_call_update", ToolCallID: callID, Status: s}}
}

// started shows a new call. That of a plan is shown as the plan.
func (v *view) started(e event.ToolStarted) []any {
	if e.Kind == word.KindPlan {
		return nil
	}
	if v.calls == nil {
		v.calls = map[string]*shownCall{}
	}
	v.spoke = false
	v.calls[e.CallID] = &shownCall{}
	u := v.call(e.CallID, e.Tool, e.Title, e.Kind)
	u.Status = sdk.ToolCallStatusInProgress
	for _, p := range e.Paths[:min(len(e.Paths), placesMost)] {
		u.Locations = append(u.Locations, sdk.ToolCallLocation{Path: v.path(p)})
	}
	if e.Command != "" {
		u.RawInput = map[string]string{"command": short.Bound(visible.Text(e.Command), commandMost), "cwd": v.path(e.Folder)}
	}
	if s := e.Server; s != nil {
		u.RawInput = map[string]string{"server": s.Server, "tool": s.Tool, "arguments": short.Bound(visible.Text(s.Arguments), commandMost)}
	}
	return []any{u}
}

func (*view) call(id, tool, title string, kind word.Kind) callUpdate {
	return callUpdate{SessionUpdate: "tool_call", ToolCallID: id, Title: short.Bound(visible.Line(title), titleMost), Name: tool, Kind: kindOf(kind)}
}

func (v *view) output(e event.ToolOutput) []any {
	c := v.calls[e.CallID]
	if c == nil {
		return nil
	}
	c.output = append(c.output, e.Data...)
	c.output = c.output[max(0, len(c.output)-tailMost):]
	return []any{callUpdate{SessionUpdate: "tool_call_update", ToolCallID: e.CallID, Content: []any{printed(string(c.output))}}}
}

// resultKey names the end of a call as data in _meta.
const resultKey = "codeagent/result"

// result is what the protocol has no field for.
type result struct {
	Outcome word.Outcome `json:"outcome"`
	Exit    *int         `json:"exit,omitempty"`
	Signal  string       `json:"signal,omitempty"`
	// Denials are what the sandbox denied, in words.
	Denials []string `json:"denials,omitempty"`
	// Experiment says what trying the command again on a copy showed.
	Experiment string `json:"experiment,omitempty"`
}

// ended shows the end of a call: with the diffs of the files that it changed, its output, and a
// line about it.
func (v *view) ended(e event.ToolFinished, replaying bool) []any {
	u := callUpdate{SessionUpdate: "tool_call_update", ToolCallID: e.CallID, Status: sdk.ToolCallStatusFailed, Content: []any{}}
	c := v.calls[e.CallID]
	if c == nil {
		c = &shownCall{}
		if e.Kind == word.KindPlan && e.Outcome == word.OK {
			return nil
		}
		u = v.call(e.CallID, e.Tool, e.Title, e.Kind)
		u.Status = sdk.ToolCallStatusFailed
	}
	delete(v.calls, e.CallID)
	if e.Outcome == word.OK {
		u.Status = sdk.ToolCallStatusCompleted
	}
	size := 0
	for _, c := range e.Changes {
		at := sdk.ToolCallLocation{Path: v.path(c.Path)}
		if line := firstLine(c.Diff); line > 0 {
			at.Line = &line
		}
		u.Locations = append(u.Locations, at)
		d, ok := v.diff(c)
		if size += d.size(); ok && size <= changedMost {
			u.Content = append(u.Content, d)
		}
	}
	for _, c := range e.Changed.List {
		u.Locations = append(u.Locations, sdk.ToolCallLocation{Path: v.path(c.Path)})
	}
	if len(u.Locations) > placesMost {
		u.Locations = u.Locations[:placesMost]
	}
	if e.Output != "" {
		u.Content = append(u.Content, printed(short.Bound(e.Output, outputMost)))
	}
	if e.Message != "" {
		u.Content = append(u.Content, words(e.Message))
	}
	for _, d := range e.Diagnostics {
		u.Content = append(u.Content, words(strings.Join(append([]string{d.Title}, d.Lines...), "\n")))
	}
	if c.hint != "" {
		u.Content = append(u.Content, words("what would allow it: "+c.hint))
	}
	u.Meta = map[string]any{resultKey: resultOf(e, replaying)}
	return []any{u}
}

// resultOf has the exit status of a command that ran and has ended. A replay does not know it.
func resultOf(e event.ToolFinished, replaying bool) result {
	r := result{Outcome: e.Outcome, Signal: e.Signal}
	ended := e.Outcome == word.OK || e.Outcome == word.Failed && e.Exit != 0
	if e.Kind == word.KindCommand && e.Signal == "" && ended && !e.Running && !replaying {
		r.Exit = &e.Exit
	}
	for _, d := range e.Verdict.Denials {
		if !d.Moot {
			r.Denials = append(r.Denials, visible.Line(string(d.Kind)+" "+d.Target))
		}
	}
	r.Experiment = e.Verdict.Experiment
	return r
}

// diff shows a changed file whole; ok is false for a binary or long one.
func (v *view) diff(c event.FileChange) (d diffItem, ok bool) {
	d = diffItem{Type: "diff", Path: v.path(c.Path), OldText: c.Before}
	if c.After != nil {
		d.NewText = *c.After
	}
	return d, c.Before != nil || c.After != nil
}

// firstLine returns the number of the first line that a unified diff changes; 0 if it has none.
func firstLine(diff string) (line int) {
	_, hunk, found := strings.Cut(diff, "\n@@ -")
	if _, at, ok := strings.Cut(hunk, " +"); found && ok {
		_, _ = fmt.Sscanf(at, "%d", &line) // stays 0
	}
	return line
}

// path returns a path as the editor knows it: absolute, and below the folder that it has named.
func (v *view) path(p string) string {
	if !path.IsAbs(p) {
		p = path.Join(v.folder, p)
	}
	if v.cwd != "" && v.cwd != v.folder && sandbox.Covers(v.folder, p) {
		return path.Join(v.cwd, strings.TrimPrefix(p, v.folder))
	}
	return p
}
