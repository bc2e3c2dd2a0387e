package conversation

import (
	"fmt"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/event"
	"codeagent/event/word"
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
	store := sessions.New(ses.Paths.Sessions)
	info := sessions.Info{Folder: ses.Folder, Program: ses.Stdio.Version, Model: ses.chosen.Kept()}
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
