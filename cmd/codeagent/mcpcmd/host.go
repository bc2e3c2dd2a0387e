package mcpcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/mcp/serve"
	"codeagent/model"
)

const (
	// mostAtOnce is how many calls run at the same time; the others wait.
	mostAtOnce = 8
	// mostTalks is how many sessions of the tool agent stay open. Another one is closed for a new
	// one, and opened again when it is continued. More stay open than calls run, so one that a
	// call was just given is not the oldest.
	mostTalks = 2 * mostAtOnce
)

var (
	errTerminal = errors.New("codeagent mcp is started by an MCP client, which writes to its stdin; this is a terminal")
	errBusy     = errors.New("a turn of this session is running; wait for its result, or begin a new session")
)

// host runs the calls of one client: shell and apply_patch in a session without a model, each
// session of the tool agent in one of its own.
type host struct {
	ctx    context.Context // ends with the client
	stdio  cli.Stdio
	inputs inputs
	slots  chan struct{}

	// opening is held while a session is opened; it is taken before mu.
	opening sync.Mutex
	flags   cli.Flags

	mu     sync.Mutex
	direct *talk            // nil before the first call
	talks  map[string]*talk // by session ID
	calls  int
	undo   []change // what can be undone, oldest first
}

// talk is an open session.
type talk struct {
	ses  *conversation.Session
	face *face
	// turning is held while a turn runs.
	turning sync.Mutex
	used    int // host.calls when it was last used; guarded by host.mu
}

// Call runs a call of one of the offered tools.
func (h *host) Call(ctx context.Context, c serve.Call) serve.Result {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return failed(c, context.Cause(ctx))
	}
	if err := h.inputs.check(c); err != nil {
		return failed(c, err)
	}
	switch c.Tool {
	case "agent":
		return h.agent(ctx, c)
	case "undo":
		return h.undoCall(ctx, c)
	}
	return h.tool(ctx, c)
}

// failed returns the result of a call that was not done. It has a report too: the client was
// promised one for each result.
func failed(c serve.Call, err error) serve.Result {
	text := visible.Text(cli.InWords(err).Error())
	out := serve.Result{Failed: true, Text: text}
	switch c.Tool {
	case "agent":
		out.Structured = agentReport{Outcome: word.TurnFailed, Error: text, Refused: []refusal{}}
	case "undo":
		out.Structured = undoReport{Restored: []aPath{}, Left: []aPath{}}
	default:
		out.Structured = reportOf(event.ToolFinished{Outcome: word.NotStarted}, nil)
	}
	return out
}

// tool runs shell or apply_patch.
func (h *host) tool(ctx context.Context, c serve.Call) serve.Result {
	t, err := h.directTalk(c)
	if err != nil {
		return failed(c, err)
	}
	h.mu.Lock()
	h.calls++
	id := fmt.Sprintf("mcp-%d", h.calls)
	h.mu.Unlock()
	arguments := string(c.Arguments)
	if arguments == "" {
		arguments = "{}"
	}
	s := &shown{call: c}
	defer t.face.begin(id, s)()
	called, err := t.ses.Call(ctx, model.ToolCall{ID: id, Name: c.Tool, Arguments: arguments}, titleOf(c))
	if err != nil {
		return failed(c, err)
	}
	text := called.Result.Text
	t.face.mu.Lock()
	r := reportOf(s.finished, s.refused)
	t.face.mu.Unlock()
	for _, refused := range called.Refused {
		r.Refused = append(r.Refused, list([]refusal{{Title: refused.Title, Hint: refused.Hint}})...)
		if refused.Hint != "" {
			text += "\n[approval] Nobody could be asked. What would allow it, for the user to decide: " + refused.Hint
		}
	}
	r.UndoID = h.changed(t, called.Turn)
	return serve.Result{Text: text, Images: called.Result.Images, Failed: called.Result.Failed, Structured: r}
}

// titleOf names a call in the lists of sessions and of what can be undone.
func titleOf(c serve.Call) string {
	title := c.Tool
	if c.Tool == "shell" {
		_ = texts(c, map[string]*string{"command": &title}) // what is no text is refused by the tool
	}
	return "mcp: " + title
}

// directTalk returns the session of shell and apply_patch.
func (h *host) directTalk(c serve.Call) (*talk, error) {
	h.opening.Lock()
	defer h.opening.Unlock()
	if h.direct != nil {
		return h.direct, nil
	}
	t, err := h.open(c, conversation.Options{Audience: conversation.Audience{ToolsOnly: true}})
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.direct = t
	return t, nil
}

// open opens a session in the working folder. opening is held.
func (h *host) open(c serve.Call, o conversation.Options) (*talk, error) {
	o.Attended, o.Command = c.Asks, "mcp"
	base, err := conversation.Open(h.ctx, h.stdio, h.flags, o)
	if err != nil {
		return nil, err
	}
	t := &talk{face: &face{warn: h.stdio.Err, calls: map[string]*shown{}}}
	t.ses = conversation.Join(base, t.face)
	t.ses.Begin()
	return t, nil
}

// agent runs a turn of a session.
func (h *host) agent(ctx context.Context, c serve.Call) serve.Result {
	var prompt, session string
	err := texts(c, map[string]*string{"prompt": &prompt, "session": &session})
	if err == nil && strings.TrimSpace(prompt) == "" {
		err = errors.New("the argument \"prompt\" is missing: say what to do")
	}
	if err != nil {
		return failed(c, err)
	}
	t, err := h.agentTalk(c, session)
	if err != nil {
		return failed(c, err)
	}
	if !t.turning.TryLock() {
		return failed(c, errBusy)
	}
	defer t.turning.Unlock()
	s := &shown{call: c}
	end := t.face.begin("", s)
	err = t.ses.Turn(ctx, agent.Input{Text: prompt})
	end()
	r := agentReport{Session: t.ses.Record.Log.ID(), Outcome: s.turn.Outcome, Answer: s.turn.Answer, Refused: []refusal{}}
	if t.ses.Undo != nil {
		r.UndoID = h.changed(t, t.ses.Undo.Recorded())
	}
	for _, refused := range s.turn.Refused {
		r.Refused = append(r.Refused, list([]refusal{{Title: refused.Title, Hint: refused.Hint}})...)
	}
	for _, refused := range list(s.refused) {
		if refused.Hint == "" { // the others are the turn's
			r.Refused = append(r.Refused, refused)
		}
	}
	if r.Outcome == "" {
		r.Outcome = word.TurnFailed
	}
	text := r.Answer
	if err != nil {
		r.Error = visible.Text(cli.InWords(err).Error())
		text = strings.TrimSpace(text + "\n[The turn ended early: " + r.Error + "]")
	}
	for _, refused := range r.Refused {
		text += "\n[not permitted] " + refused.Title
		if refused.Hint != "" {
			text += "\n  what would allow it, for the user to decide: " + refused.Hint
		}
	}
	text += "\n[session " + r.Session + "]"
	return serve.Result{Text: strings.TrimSpace(text), Failed: err != nil, Structured: r}
}

// agentTalk returns the session with this ID, or a new one.
func (h *host) agentTalk(c serve.Call, id string) (*talk, error) {
	h.opening.Lock()
	defer h.opening.Unlock()
	h.mu.Lock()
	t := h.talks[id]
	h.mu.Unlock()
	if t == nil {
		o := conversation.Options{Audience: conversation.Audience{Past: conversation.PastNone}, Beginning: conversation.Beginning{HasPrompt: true}}
		var err error
		if id != "" {
			o.From, err = h.earlier(id)
		}
		if err == nil {
			h.makeRoom()
			t, err = h.open(c, o)
		}
		if err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	t.used = h.calls
	h.talks[t.ses.Record.Log.ID()] = t
	return t, nil
}

// earlier finds a session that an earlier process, or this one, has closed. It must be one of the
// working folder: a client gets no other folder by naming a session.
func (h *host) earlier(id string) (*sessionscmd.ResumeTarget, error) {
	sum, err := sessionscmd.Exact(h.stdio, id)
	if err != nil {
		return nil, sessionscmd.Error(err)
	}
	here, err := workspace.Enter(h.stdio, h.flags)
	if err != nil {
		return nil, err
	}
	if sum.Folder != here {
		return nil, fmt.Errorf("session %s belongs to %s, and this server works in %s", sum.ID, sum.Folder, here)
	}
	return &sessionscmd.ResumeTarget{ID: sum.ID, Folder: sum.Folder}, nil
}

// makeRoom closes the session that was not used for the longest time, if there are many. It keeps
// one that a turn runs in, so there may be more for a while.
func (h *host) makeRoom() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.talks) < mostTalks {
		return
	}
	oldest := ""
	for id, t := range h.talks {
		if oldest != "" && t.used >= h.talks[oldest].used || !t.turning.TryLock() {
			continue
		}
		t.turning.Unlock()
		oldest = id
	}
	if oldest == "" {
		return
	}
	t := h.talks[oldest]
	delete(h.talks, oldest)
	h.undo = slices.DeleteFunc(h.undo, func(c change) bool { return c.talk == t })
	t.ses.Close()
}

// close ends all sessions. No call runs any more.
func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.direct != nil {
		h.direct.ses.Close()
	}
	for _, t := range h.talks {
		t.ses.Close()
	}
}
