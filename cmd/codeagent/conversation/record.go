package conversation

import (
	"errors"
	"fmt"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	sessions "codeagent/session"
)

// record is the record of a run; nil for a run that has none.
type record struct {
	Log *sessions.Session
	// before is the conversation at the start of the run, empty in a new session.
	before sessions.History
}

// openRecord begins a session, or opens the resumed one. The tour and an ephemeral run
// keep no record.
func (ses *Session) openRecord() (*record, error) {
	o := ses.Options
	if o.Ephemeral || ses.Tour != nil {
		return nil, nil
	}
	store := sessions.New(ses.Workspace.Paths.Sessions)
	info := sessions.Info{Folder: ses.Workspace.Folder, Program: ses.Workspace.Stdio.Version, Model: ses.chosen.Kept()}
	if o.From == nil {
		info.ID = sessions.NewID()
		return &record{Log: store.Create(info)}, nil
	}
	var err error
	if info.ID = o.From.ID; o.From.Fork {
		if info.ID, err = store.Fork(o.From.ID, o.From.Before); err != nil {
			return nil, sessionscmd.Error(err)
		}
	}
	r := &record{}
	if r.Log, err = store.Open(info); err != nil {
		return nil, sessionscmd.Error(err)
	}
	if o.From.Before > 0 && !o.From.Fork {
		err = r.Log.Back(o.From.Before)
	}
	if err == nil {
		r.before, err = r.Log.History(sessions.HistoryLimit)
	}
	if err != nil {
		_ = r.Log.Close() // the other error is reported
		return nil, cli.Usage(fmt.Errorf("session %s: %w", info.ID, err))
	}
	return r, nil
}

// join makes cfg write to the record and continue from it. It returns the name of the
// conversation, which exists without a record too.
func (r *record) join(cfg *agent.Config) string {
	if r == nil {
		cfg.CacheKey = sessions.NewID()
		return cfg.CacheKey
	}
	cfg.Log, cfg.History, cfg.CacheKey = r.Log, r.before.Items, r.Log.ID()
	return cfg.CacheKey
}

// recorded is a face that shows a finished turn only when it is on disk.
type recorded struct {
	Face
	log *sessions.Session
}

func (f recorded) Emit(e event.Event) {
	if done, ok := e.(event.TurnFinished); ok {
		if err := f.log.EndTurn(string(done.Outcome), done.Usage); err != nil {
			f.Face.Emit(event.Notice{Level: word.LevelError, Text: "cannot save the conversation: " + err.Error()})
		}
	}
	f.Face.Emit(e)
}

// keep puts the record between the agent and its face.
func (r *record) keep(screen Face) Face {
	if r == nil {
		return screen
	}
	return recorded{screen, r.Log}
}

// Back removes the person's last message from the conversation and from its record. Files
// stay as they are. If a summary has replaced the message, the summary is removed too, and
// the record gets the new state of the conversation.
func (ses *Session) Back(screen Face) (agent.Input, bool) {
	var in agent.Input
	var ok bool
	var err error
	compacted := ses.Agent.Compacted()
	if ses.Record != nil && compacted {
		if in, ok, err = ses.backInRecord(); ok && !ses.Agent.Compacted() {
			screen.Emit(event.Notice{Level: word.LevelInfo, Text: "this was before the summary: the model gets the original messages again"})
		}
	} else if in, ok = ses.Agent.Back(); ok && ses.Record != nil {
		err = ses.Record.Log.Back(sessions.Last)
	}
	switch {
	case err != nil:
		screen.Emit(event.Notice{Level: word.LevelError, Text: "cannot save the rewind: " + err.Error()})
	case !ok && compacted && ses.Record == nil:
		screen.Emit(event.Notice{Level: word.LevelWarning, Text: "a summary has replaced that message, and this run keeps no session to go back in"})
	}
	return in, ok
}

// backInRecord removes the last message in the record and makes the agent continue from
// there.
func (ses *Session) backInRecord() (in agent.Input, ok bool, err error) {
	log := ses.Record.Log
	err = ses.Agent.Restart(func() ([]model.Item, error) {
		last, err := log.Message(sessions.Last)
		if err != nil {
			return nil, err
		}
		if err = log.Back(sessions.Last); err != nil {
			return nil, err
		}
		h, err := log.History(sessions.HistoryLimit)
		in, ok = agent.Input{Text: last.Text, Images: last.Images}, err == nil
		return h.Items, err
	})
	if errors.Is(err, agent.ErrBusy) {
		err = nil // there is nothing to remove yet
	}
	return in, ok, err
}
