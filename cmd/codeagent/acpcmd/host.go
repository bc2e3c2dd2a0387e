package acpcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"codeagent/acp"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	sessions "codeagent/session"
)

// host opens sessions for an editor.
type host struct {
	stdio cli.Stdio
	flags cli.Flags
}

var _ acp.Host = (*host)(nil)

// Open opens a session under the settings of its folder. What the command line says counts for
// all sessions.
func (h *host) Open(ctx context.Context, o acp.OpenRequest, face acp.Face) (acp.Session, error) {
	f := h.flags
	f.Folder = o.Folder
	f.AddDirs = append(append([]string(nil), f.AddDirs...), o.More...)
	if info, err := hostfile.Seen(o.Folder); err != nil || !info.IsDir() {
		return nil, acp.Invalid(fmt.Errorf("cwd is not a folder: %s", o.Folder))
	}
	for _, dir := range o.More {
		if info, err := hostfile.Seen(dir); err != nil || !info.IsDir() {
			return nil, acp.Invalid(fmt.Errorf("additionalDirectories: not a folder: %s", dir))
		}
	}
	options := conversation.Options{Audience: conversation.Audience{Attended: true, Mentions: true, Hint: hint, Command: "acp", Unsaved: face.Buffer}, Beginning: conversation.Beginning{HasPrompt: true}}
	var err error
	if options.Servers, err = handedIn(o.Servers); err != nil {
		return nil, acp.Invalid(err)
	}
	if o.Session != "" {
		sum, err := sessionscmd.Exact(h.stdio, o.Session)
		if errors.Is(err, sessions.ErrNotFound) {
			return nil, acp.NotFound(fmt.Errorf("there is no session %q", o.Session))
		}
		if err != nil {
			return nil, inWords(sessionscmd.Error(err))
		}
		options.From = &sessionscmd.ResumeTarget{ID: sum.ID, Folder: o.Folder}
		options.Past = conversation.PastNone
		if o.Replay {
			options.Past = conversation.PastAll
		}
	}
	// What git trusts is looked up beside the session's start and outlives the request: it ends
	// with the session.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	opening := context.AfterFunc(ctx, end)
	base, err := conversation.Open(life, h.stdio, f, options)
	if opening(); err != nil {
		end()
		return nil, inWords(err)
	}
	out := &open{face: face, end: end, effort: base.Workspace.Config.ReasoningEffort}
	out.ses = conversation.Join(base, out)
	out.undoing, out.listed = commands.NewUndoing(out.ses), &commands.Models{Ses: out.ses, Show: out.Emit}
	out.ses.Begin()
	out.replaced(options.Servers)
	out.looks.Go(func() { out.look(life) })
	return out, nil
}

// inWords returns an error with its hints, and with the code of the protocol where it has one.
func inWords(err error) error {
	code, _, _ := cli.ExitOf(err)
	err = cli.InWords(err)
	if code == cli.ExitSignIn {
		return acp.SignIn(err)
	}
	return err
}

// listed bounds the list of sessions.
const listed = 1000

func (h *host) List(ctx context.Context, folder string) ([]acp.SavedSession, error) {
	store, err := sessionscmd.Store(h.stdio)
	if err != nil {
		return nil, inWords(err)
	}
	here := folder
	if folder != "" {
		f := h.flags
		f.Folder = folder
		if canonical, err := workspace.Enter(h.stdio, f); err == nil { // the editor's name may be a link
			here = canonical
		}
	}
	var out []acp.SavedSession
	for sum, err := range store.List() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, inWords(cli.StorageError(err))
		}
		if sum.Folder == "" || here != "" && sum.Folder != here {
			continue
		}
		if len(out) == listed {
			break
		}
		out = append(out, acp.SavedSession{ID: sum.ID, Folder: cmp.Or(folder, sum.Folder), Title: sum.Name(), Updated: sum.Used.UTC().Format(time.RFC3339)})
	}
	return out, nil
}

func (h *host) Delete(_ context.Context, id string) error {
	store, err := sessionscmd.Store(h.stdio)
	if err != nil {
		return inWords(err)
	}
	switch err := store.Delete(id); {
	case errors.Is(err, sessions.ErrNotFound):
		return nil // the specification asks for this: it is gone
	case err != nil:
		return inWords(sessionscmd.Error(err))
	}
	return sessionscmd.ForgetUndo(h.stdio, id)
}
