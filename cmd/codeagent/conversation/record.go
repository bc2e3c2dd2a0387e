package conversation

import (
	"fmt"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
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
func (ses *Base) openRecord() error {
	o := ses.Options
	if o.Ephemeral || ses.Tour != nil {
		return nil
	}
	store := sessions.New(ses.Workspace.Paths.Sessions)
	info := sessions.Info{Folder: ses.Workspace.Folder, Program: ses.Workspace.Process.Version, Model: ses.chosen.Kept()}
	if o.From == nil {
		info.ID = sessions.NewID()
		ses.Record = &record{Log: store.Create(info)}
		ses.Workspace.InUse = ses.Record.Log.InUse
		return nil
	}
	var err error
	if info.ID = o.From.ID; o.From.Fork {
		if info.ID, err = store.Fork(o.From.ID, o.From.Before); err != nil {
			return sessionscmd.Error(err)
		}
	}
	r := &record{}
	if r.Log, err = store.Open(info); err != nil {
		return sessionscmd.Error(err)
	}
	ses.Record = r
	ses.Workspace.InUse = r.Log.InUse
	if o.From.Before > 0 && !o.From.Fork {
		err = r.Log.Back(o.From.Before)
	}
	if err == nil {
		r.before, err = r.Log.History(sessions.HistoryLimit)
	}
	if err != nil {
		return cli.Usage(fmt.Errorf("session %s: %w", info.ID, err))
	}
	return nil
}

// join makes cfg write to the record and continue from it. It returns the name of the
// conversation, which exists without a record too.
func (r *record) join(cfg *agent.Config) string {
	if r == nil {
		cfg.CacheKey = sessions.NewID()
		return cfg.CacheKey
	}
	cfg.Log, cfg.History, cfg.CacheKey, cfg.Before = r.Log, r.before.Items, r.Log.ID(), r.used()
	return cfg.CacheKey
}

// used returns what earlier runs used, as far as the record says.
func (r *record) used() (total model.Usage) {
	if r != nil && r.Log.Total() != nil {
		total = *r.Log.Total()
	}
	return total
}

// OnBranch keeps what is checked out in the folder, for the list of sessions.
func (ses *Session) OnBranch(name string) {
	if ses.Record != nil {
		ses.Record.Log.SetBranch(name)
	}
}
