package acpcmd

import (
	"context"
	"errors"
	"strings"
	"sync"

	"codeagent/acp"
	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/mcp/inquiry"
	"codeagent/prompts"
)

// hint is what the editor's user can do about a refusal: flags of codeagent exec help nobody here.
const hint = "choose another approval policy for this session in the editor, or send /permissions on-request, to be asked"

// open is an open session. It is the face of its conversation, too: what it is shown goes on to the
// editor.
type open struct {
	ses     *conversation.Session
	face    acp.Face
	end     context.CancelFunc  // ends what was started beside the session's start
	undoing *commands.UndoStack // nil: nothing is recorded
	listed  *commands.Models
	looks   sync.WaitGroup

	mu     sync.Mutex
	own    []prompts.Own      // guarded by mu
	used   event.UsageUpdated // guarded by mu
	title  string             // guarded by mu
	effort string             // guarded by mu
}

var (
	_ acp.Session       = (*open)(nil)
	_ conversation.Face = (*open)(nil)
)

// look reads the user's own prompts and asks the providers for their models. Neither holds up the
// session. It ends with ctx.
func (o *open) look(ctx context.Context) {
	own, err := commands.Own(ctx, o.ses)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		o.Emit(event.Notice{Level: word.LevelWarning, Text: err.Error()})
	}
	o.mu.Lock()
	o.own = own
	o.mu.Unlock()
	o.face.Refresh()
	if _, err := o.listed.List(ctx); err != nil {
		return // the one in use is a choice all the same
	}
	o.face.Refresh()
}

// Emit shows an event to the editor.
func (o *open) Emit(e event.Event) {
	if used, ok := e.(event.UsageUpdated); ok {
		o.mu.Lock()
		o.used = used
		o.mu.Unlock()
	}
	o.face.Emit(e)
}

// Ask asks the editor's user.
func (o *open) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	return o.face.Ask(ctx, r)
}

// Steer returns nothing: a prompt that comes while another runs waits for its end.
func (*open) Steer() (agent.Input, bool) { return agent.Input{}, false }

// Inquire puts a question of an MCP server to the editor's user.
func (o *open) Inquire(ctx context.Context, q inquiry.Question) (inquiry.Reply, error) {
	return o.face.Inquire(ctx, q)
}

func (o *open) ID() string { return o.ses.Record.Log.ID() }

// Title is what the session is called in lists.
func (o *open) Title() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.title == "" && o.ses.Record.Log.Kept() {
		if store, err := sessionscmd.Store(o.ses.Workspace.Stdio); err == nil {
			if sum, err := store.Find(o.ID()); err == nil {
				o.title = sum.Name()
			}
		}
	}
	return o.title
}

func (o *open) Close() {
	o.end()
	o.looks.Wait()
	o.ses.Close()
}

// Turn sends a message, or runs the command that it names.
func (o *open) Turn(ctx context.Context, in acp.Message) (acp.Stop, error) {
	r, ok, err := o.called(ctx, in)
	switch {
	case err != nil:
		o.Emit(event.MessageFinished{Text: "[codeagent] " + cli.InWords(err).Error()})
		return acp.StopDone, nil
	case r.message != nil:
		if !r.message.Foreign {
			r.message.Typed, r.message.Images = strings.TrimSpace(in.Typed), in.Images
		}
		return stopped(o.ses.Turn(ctx, *r.message))
	case ok:
		o.Emit(event.MessageFinished{Text: r.page})
		return acp.StopDone, nil
	}
	return stopped(o.ses.Turn(ctx, agent.Input{Text: in.Text, Images: in.Images}))
}

// stopped says how a turn ended.
func stopped(err error) (acp.Stop, error) {
	switch {
	case err == nil:
		return acp.StopDone, nil
	case errors.Is(err, agent.ErrStopped):
		return acp.StopCancelled, nil
	case errors.Is(err, agent.ErrFiltered):
		return acp.StopRefusal, nil
	case errors.Is(err, agent.ErrOutOfRequests):
		return acp.StopRequests, nil
	case errors.Is(err, agent.ErrCutOff), errors.Is(err, agent.ErrOutOfTokens):
		return acp.StopTokens, nil
	}
	return "", inWords(err)
}
