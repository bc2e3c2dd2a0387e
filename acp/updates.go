package acp

import (
	"path"
	"strconv"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"

	sdk "github.com/coder/acp-go-sdk"
)

// Bounds of what the editor is shown of one call, in bytes.
const (
	outputMost = 64 << 10 // the output of a call that has ended
	tailMost   = 8 << 10  // the end of the output of one that runs: each update repeats it
	titleMost  = 1 << 10
)

// view turns events into updates. It keeps what later updates need.
type view struct {
	folder string
	// message and thought are the numbers of the texts that are being written.
	texts   int
	message string
	thought string
	calls   map[string]*shownCall
}

// shownCall is a call that runs.
type shownCall struct {
	title  string
	output []byte // its end
}

type chunkUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	MessageID     string `json:"messageId,omitempty"`
	Content       any    `json:"content"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func text(s string) textBlock { return textBlock{"text", visible.Text(s)} }

type contentItem struct {
	Type    string `json:"type"`
	Content any    `json:"content"`
}

// callUpdate is a tool_call or a tool_call_update: what is left out stays as it was, and lists
// replace the earlier ones.
type callUpdate struct {
	SessionUpdate string                 `json:"sessionUpdate,omitempty"`
	ToolCallID    string                 `json:"toolCallId"`
	Title         string                 `json:"title,omitempty"`
	Name          string                 `json:"name,omitempty"`
	Kind          sdk.ToolKind           `json:"kind,omitempty"`
	Status        sdk.ToolCallStatus     `json:"status,omitempty"`
	Content       []any                  `json:"content,omitempty"`
	Locations     []sdk.ToolCallLocation `json:"locations,omitempty"`
	RawInput      any                    `json:"rawInput,omitempty"`
	RawOutput     any                    `json:"rawOutput,omitempty"`
	Meta          map[string]any         `json:"_meta,omitempty"`
}

// Emit shows one event to the editor.
func (ses *session) Emit(e event.Event) {
	if _, output := e.(event.ToolOutput); output && ses.server.out.busy() {
		return // the end of the call shows it
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	for _, u := range ses.view.updates(e, ses.replaying) {
		ses.update(u)
	}
}

func (v *view) updates(e event.Event, replaying bool) []any {
	switch e := e.(type) {
	case event.SessionStarted:
		v.folder = e.Folder
	case event.TurnStarted:
		if replaying { // otherwise the editor shows what it has sent
			return []any{chunkUpdate{"user_message_chunk", v.next(), text(e.Text)}}
		}
	case event.TextDelta:
		return v.chunk(&v.message, "agent_message_chunk", e.Text)
	case event.ReasoningDelta:
		return v.chunk(&v.thought, "agent_thought_chunk", e.Text)
	case event.MessageFinished:
		return v.finished(&v.message, "agent_message_chunk", e.Text)
	case event.ReasoningFinished:
		return v.finished(&v.thought, "agent_thought_chunk", e.Text)
	case event.Notice:
		if e.Level != word.LevelInfo { // the protocol has no notices: a message of its own says it
			return []any{chunkUpdate{"agent_message_chunk", v.next(), text("[codeagent] " + e.Text + "\n\n")}}
		}
	case event.ToolStarted:
		return v.started(e)
	case event.ToolOutput:
		return v.output(e)
	case event.ToolFinished:
		return v.ended(e)
	}
	return nil
}

// next names the next text.
func (v *view) next() string {
	v.texts++
	return "m" + strconv.Itoa(v.texts)
}

// chunk is the next piece of a text.
func (v *view) chunk(of *string, kind, piece string) []any {
	if *of == "" {
		*of = v.next()
	}
	return []any{chunkUpdate{kind, *of, text(piece)}}
}

// finished ends a text. One without pieces, as in a replay, is shown whole.
func (v *view) finished(of *string, kind, whole string) []any {
	var out []any
	if *of == "" && whole != "" {
		out = v.chunk(of, kind, whole)
	}
	*of = ""
	return out
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

func (v *view) started(e event.ToolStarted) []any {
	if v.calls == nil {
		v.calls = map[string]*shownCall{}
	}
	title := short.Bound(visible.Line(e.Title), titleMost)
	v.calls[e.CallID] = &shownCall{title: title}
	return []any{callUpdate{SessionUpdate: "tool_call", ToolCallID: e.CallID, Title: title, Name: e.Tool, Kind: kindOf(e.Kind), Status: sdk.ToolCallStatusInProgress}}
}

func (v *view) output(e event.ToolOutput) []any {
	c := v.calls[e.CallID]
	if c == nil {
		return nil
	}
	c.output = append(c.output, e.Data...)
	c.output = c.output[max(0, len(c.output)-tailMost):]
	return []any{callUpdate{SessionUpdate: "tool_call_update", ToolCallID: e.CallID, Content: []any{contentItem{"content", text(string(c.output))}}}}
}

func (v *view) ended(e event.ToolFinished) []any {
	delete(v.calls, e.CallID)
	u := callUpdate{SessionUpdate: "tool_call_update", ToolCallID: e.CallID, Status: sdk.ToolCallStatusFailed}
	if e.Outcome == word.OK {
		u.Status = sdk.ToolCallStatusCompleted
	}
	for _, c := range e.Changes {
		if path.IsAbs(c.Path) {
			u.Locations = append(u.Locations, sdk.ToolCallLocation{Path: c.Path})
		}
	}
	if e.Output != "" {
		u.Content = append(u.Content, contentItem{"content", text(short.Bound(e.Output, outputMost))})
	}
	if e.Message != "" {
		u.Content = append(u.Content, contentItem{"content", text(e.Message)})
	}
	return []any{u}
}
