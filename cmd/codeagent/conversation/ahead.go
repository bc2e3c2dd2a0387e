package conversation

import (
	"context"
	"slices"
	"strings"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/mask"
	"codeagent/patterns"
	"codeagent/sandbox"
)

// runsAfter is how long a model takes before a call runs ahead of it: about as long as a run that nothing uses delays the
// call. So that costs nothing with a model that answers at once, and at most doubles the time of any other.
const runsAfter = 50 * time.Millisecond

// ahead is what the agent runs ahead of the model; nil: nothing.
func (ses *Session) ahead() *agent.Ahead {
	ws := ses.Workspace
	mode := ws.Config.Patterns
	if mode == "off" || ses.Tour != nil || ses.Options.ToolsOnly || ses.Gate.Ungranted().Unconfined || ws.Draft != nil {
		return nil
	}
	secrets := mask.New(ws.Stdio.Environ, sandbox.SecretName)
	skill := func(a approvals.Action) string {
		for _, s := range ses.Extensions.Skills {
			if slices.Contains(a.Paths, s.File) || strings.Contains(a.Command, s.File) {
				return s.Name
			}
		}
		return ""
	}
	ses.memory = patterns.New(ws.Folder, secrets.Text, func() patterns.Book {
		book, notice := workspace.ReadPatterns(context.Background(), ws.Paths)
		if notice != "" {
			ses.face.Emit(event.Notice{Level: word.LevelWarning, Text: notice})
		}
		return book
	})
	ws.AtClose(func() error {
		if !ses.folds {
			return nil
		}
		return ws.FoldPatterns(context.Background(), "")
	})
	return &agent.Ahead{Memory: ses.memory, After: runsAfter, Writes: mode == "drafts", Skill: skill}
}

// keepLearned adds what was learned to the journal, in a session that is kept.
func (ses *Session) keepLearned() {
	if ses.memory == nil {
		return
	}
	fresh := ses.memory.Fresh()
	if len(fresh) == 0 || ses.Record == nil || ses.Workspace.PatternsKept() != nil {
		return
	}
	fold, err := workspace.NotePatterns(ses.Workspace.Paths, fresh)
	if ses.folds = ses.folds || fold; err != nil {
		ses.memory = nil // said once
		ses.face.Emit(event.Notice{Level: word.LevelWarning, Text: "cannot keep what was learned: " + err.Error()})
	}
}
