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

// aheadDelay is how long the model must take to answer before a call runs ahead. An unused run delays the model's own
// call by about as long. So a model that answers at once loses nothing, and another one waits at most twice as long.
const aheadDelay = 50 * time.Millisecond

// ahead returns how the agent runs calls ahead of the model; nil: it runs none.
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
		if !ses.foldDue {
			return nil
		}
		return ws.FoldPatterns(context.Background(), "")
	})
	return &agent.Ahead{Memory: ses.memory, After: aheadDelay, Writes: mode == "drafts", Skill: skill}
}

// keepLearned writes what the session has learned since the last call to the journal. It writes nothing if the session
// itself is not recorded.
func (ses *Session) keepLearned() {
	if ses.memory == nil {
		return
	}
	fresh := ses.memory.Fresh()
	if len(fresh) == 0 || ses.Record == nil || ses.Workspace.PatternsKept() != nil {
		return
	}
	fold, err := workspace.NotePatterns(ses.Workspace.Paths, fresh)
	if ses.foldDue = ses.foldDue || fold; err != nil {
		ses.memory = nil // so that the warning comes only once
		ses.face.Emit(event.Notice{Level: word.LevelWarning, Text: "cannot keep what was learned: " + err.Error()})
	}
}
