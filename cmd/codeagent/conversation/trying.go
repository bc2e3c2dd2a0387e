package conversation

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"codeagent/draft"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/tools"
)

// onDraft is for the model, behind the report of a command on a draft.
const onDraft = "\n(It ran on a draft, without a network. What it changed is in no file; a note follows if the user keeps some of it.)"

// Try runs a command of the user's on a draft, and reports it as Command does. Its sandbox shares nothing with that
// of the session's commands: no network, and nothing that is remembered of files. Without a draft the command did not
// run, and the report says why.
func (ses *Session) Try(ctx context.Context, command string) (d *draft.Draft, err error) {
	ws, policy := ses.Workspace, ses.Gate.Ungranted()
	if policy.Unconfined {
		return nil, errors.New("a draft needs the sandbox, and commands run without one: the command did not run")
	}
	ses.sends()
	draft.Sweep(ws.Paths.Drafts)
	runner, over, err := ws.OnDrafts()
	if err != nil {
		return nil, err
	}
	defer over()
	argv := []string{ws.Shell(), "-c", command}
	if d, err = draft.New(ws.Paths.Drafts, ws.Folder, argv, policy); err != nil {
		return nil, err
	}
	ran := false
	err = ses.Agent.Try(ctx, command, func(ctx context.Context, output func(int64, []byte)) (tools.Result, error) {
		o, err := runner.Run(ctx, policy, exec.Command{Argv: argv, Dir: ws.Folder, Timeout: exec.MaxTimeout, Draft: d}, output)
		if err != nil {
			return tools.Result{}, err
		}
		ran = true
		res := tools.Ran(o)
		res.Text += onDraft
		return res, d.Save() // a kill while the person reads loses nothing
	})
	if err != nil || !ran {
		return nil, errors.Join(err, d.Drop())
	}
	return d, nil
}

// KeepDraft makes changes of a draft in the files, under the session's policy and as a turn, so that /undo takes them
// back. Without a change in list it drops them all. What could not be kept stays in the draft.
func (ses *Session) KeepDraft(ctx context.Context, d *draft.Draft, list []draft.Change) (kept []draft.Change, left []draft.Left, err error) {
	typed, runner := "!! "+d.Command()[len(d.Command())-1], ses.Workspace.Runner
	if d == ses.Workspace.Draft {
		typed, runner = "/draft keep", ses.Workspace.Real
	}
	if len(list) > 0 {
		ses.sends()
		var before sandbox.ChangeObserver
		if ses.kept != nil {
			ses.kept.Begin(typed)
			defer ses.kept.End()
			call := ses.kept.Call()
			defer call.Settle()
			before = call
		}
		files, err := runner.Files(ctx, ses.Gate.Ungranted(), before)
		if err != nil {
			return nil, nil, err
		}
		defer files.Close()
		if kept, left, err = d.Keep(ctx, files, list); err != nil {
			return kept, left, err
		}
	}
	var paths []string
	for _, c := range kept {
		name, err := filepath.Rel(ses.Workspace.Folder, c.Path)
		if err != nil {
			name = c.Path
		}
		paths = append(paths, short.Quote(name, 200))
	}
	words := "The user kept nothing of what it changed"
	if len(paths) > 0 {
		words = "The user kept what it changed in: " + short.List(paths, 40)
	}
	about := "[About the command on a draft: " + short.Cut(strings.Join(strings.Fields(typed), " "), 200) + ". "
	if d == ses.Workspace.Draft {
		about = "[About this session's draft, a copy of the files on which it worked until now. "
	}
	ses.Note(about + words + ".]")
	if len(left) > 0 {
		return kept, left, nil
	}
	return kept, nil, d.Drop()
}

// saveDraft notes what the draft knows, for the case that codeagent is killed.
func (ses *Session) saveDraft() {
	if ws := ses.Workspace; ws != nil && ws.Draft != nil {
		d := ws.Draft
		if err := d.Save(); err != nil && !errors.Is(err, fs.ErrNotExist) { // it was dropped
			ses.face.Emit(event.Notice{Level: word.LevelError, Text: "the draft: " + err.Error()})
		}
	}
}

// drafts is where commands run that a question is about; nil where there is no sandbox, or all runs on a draft.
func (ses *Session) drafts() *tools.Drafts {
	ws := ses.Workspace
	if ses.Gate.Ungranted().Unconfined || ws.Draft != nil {
		return nil
	}
	can := sync.OnceValue(func() bool { return ws.TryDraft(context.Background()) == nil })
	return &tools.Drafts{Folder: ws.Paths.Drafts, Runner: ws.OnDrafts, Can: can}
}
