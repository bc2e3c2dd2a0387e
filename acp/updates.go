package acp

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"

	sdk "github.com/coder/acp-go-sdk"
)

// view turns events into updates. It keeps what later updates need. calls.go has the updates of
// tool calls.
type view struct {
	client client
	// folder is the session's folder, cwd the editor's name for it, which may be a link.
	folder, cwd string
	// stem begins the IDs of texts: they are unique in the session, which other openings
	// have continued or will, and an editor may still show what those wrote.
	stem string
	// message and thought are the texts that are being written.
	texts            int
	message, thought written
	// spoke: the last thing that was shown is a text.
	spoke bool
	calls map[string]*shownCall
	// questions are the calls of open questions, by the question's ID.
	questions map[string]string
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

// written is a text that is being written; the zero value is no text.
type written struct {
	id   string
	last rune // the last one that was written
}

// piece returns the next piece as it is shown. All line breaks stay, also at the end of a piece, and a
// character that joins others is judged by the one before it, though that came with another piece.
func (w *written) piece(s string) textBlock {
	before := ""
	if w.last >= utf8.RuneSelf && visible.Name(w.last) == "" {
		before = string(w.last)
	}
	if s != "" {
		w.last, _ = utf8.DecodeLastRuneInString(s)
	}
	const end = "." // visible.Text removes line breaks at the end
	shown := visible.Text(before + strings.TrimSuffix(s, "\r") + end)
	return textBlock{"text", strings.TrimSuffix(strings.TrimPrefix(shown, before), end)}
}

// Emit shows one event to the editor.
func (ses *session) Emit(e event.Event) {
	if _, output := e.(event.ToolOutput); output && ses.server.out.busy() {
		return // the end of the call shows it
	}
	ses.mu.Lock()
	for _, u := range ses.view.updates(e, ses.replaying) {
		ses.update(u)
	}
	ses.mu.Unlock()
	if _, ok := e.(event.SessionStarted); ok {
		ses.Refresh() // the model has changed
	}
}

func (v *view) updates(e event.Event, replaying bool) []any {
	switch e := e.(type) {
	case event.SessionStarted:
		v.folder = e.Folder
	case event.TurnStarted:
		v.spoke = false
		if replaying { // otherwise the editor shows what it has sent
			lines := []string{e.Text}
			for _, name := range e.Images {
				lines = append(lines, "["+name+"]")
			}
			return []any{chunkUpdate{"user_message_chunk", v.next(), text(strings.Join(lines, "\n"))}}
		}
	case event.TextDelta:
		return v.chunk(&v.message, "agent_message_chunk", e.Text)
	case event.ReasoningDelta:
		return v.chunk(&v.thought, "agent_thought_chunk", e.Text)
	case event.MessageFinished:
		return v.finished(&v.message, "agent_message_chunk", e.Text)
	case event.ReasoningFinished:
		return v.finished(&v.thought, "agent_thought_chunk", e.Text)
	case event.PlanUpdated:
		return planned(e)
	case event.UsageUpdated:
		return v.used(e)
	case event.HelperEvent:
		return v.helper(e, replaying)
	}
	if out, ok := v.tool(e, replaying); ok {
		return out
	}
	return v.aside(e)
}

// helperKey names the helper that makes a call, as data in _meta.
const helperKey = "codeagent/helper"

// helper shows the calls, questions and notices of a helper. Its texts are part of what delegate returns.
func (v *view) helper(e event.HelperEvent, replaying bool) (out []any) {
	switch in := e.Event.(type) {
	case event.Notice:
		in.Text = e.Name() + ": " + in.Text
		return v.aside(in)
	case event.ToolStarted:
		in.Title = e.Name() + ": " + in.Title
		for _, u := range v.started(in) {
			u := u.(callUpdate)
			u.Meta = map[string]any{helperKey: map[string]any{"call": e.CallID, "number": e.Number, "kind": e.Kind}}
			out = append(out, u)
		}
	case event.ToolOutput, event.ToolFinished, event.PermissionRequested, event.PermissionAnswered:
		out, _ = v.tool(in, replaying)
	}
	return out
}

// aside are the updates about what is neither a text nor a call.
func (v *view) aside(e event.Event) []any {
	switch e := e.(type) {
	case event.EarlierAnswer:
		return v.notice(e.Line())
	case event.Searched:
		return v.notice(strings.Join(e.Lines(), "\n"))
	case event.Notice:
		if e.Level != word.LevelInfo {
			return v.notice(e.Text)
		}
	case event.Retrying:
		v.message, v.thought = written{}, written{} // what was written of the answer is void
		return v.notice("retry " + e.Number() + " in " + short.Duration(e.Delay) + ": " + e.Message)
	case event.BackgroundEnded:
		if e.Exit != 0 || e.Signal != "" {
			return v.notice(e.Message + "\n" + short.Bound(visible.Line(e.Command), titleMost))
		}
	case event.Compacted:
		switch {
		case e.Err != "":
			return v.notice("the conversation was not summarized: " + e.Err)
		case e.Before > 0: // otherwise it is that of a replay
			return v.notice("the conversation was summarized for the model: " + short.Count(e.Before, "token") + " became " + strconv.Itoa(e.After))
		}
	}
	return nil
}

// next names the next text.
func (v *view) next() string {
	v.texts++
	return "m" + v.stem + strconv.Itoa(v.texts)
}

// chunk is the next piece of a text.
func (v *view) chunk(of *written, kind, piece string) []any {
	if of.id == "" {
		of.id = v.next()
	}
	v.spoke = true
	return []any{chunkUpdate{kind, of.id, of.piece(piece)}}
}

// finished ends a text. One without pieces, as in a replay, is shown whole.
func (v *view) finished(of *written, kind, whole string) []any {
	var out []any
	if of.id == "" && whole != "" {
		out = v.chunk(of, kind, whole)
	}
	*of = written{}
	return out
}

// notice is a line for the user, as a message of its own. Many editors join the chunks of all messages, so
// the line is a paragraph.
func (v *view) notice(words string) []any {
	line := visible.Text("[codeagent] "+words) + "\n\n"
	if v.spoke {
		line = "\n\n" + line
	}
	v.spoke = false
	return []any{chunkUpdate{"agent_message_chunk", v.next(), textBlock{"text", line}}}
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// planned shows the plan. Steps of codeagent have no priority, and the protocol requires one.
func planned(e event.PlanUpdated) []any {
	u := struct {
		SessionUpdate string      `json:"sessionUpdate"`
		Entries       []planEntry `json:"entries"`
	}{"plan", []planEntry{}}
	for _, s := range e.Steps {
		u.Entries = append(u.Entries, planEntry{visible.Line(s.Step), string(sdk.PlanEntryPriorityMedium), string(s.Status)})
	}
	return []any{u}
}

// used shows how full the model's context is. Without a known size there is nothing to compare.
func (v *view) used(e event.UsageUpdated) []any {
	if e.Limit <= 0 {
		return nil
	}
	u := struct {
		SessionUpdate string    `json:"sessionUpdate"`
		Used          int       `json:"used"`
		Size          int       `json:"size"`
		Cost          *sdk.Cost `json:"cost,omitempty"`
	}{"usage_update", max(e.Context, 0), e.Limit, nil}
	if cost := e.Total.Cost; cost.Settings == 0 && cost.USD > 0 {
		u.Cost = &sdk.Cost{Amount: cost.USD, Currency: "USD"}
	}
	return []any{u}
}
