package conversation

import (
	"fmt"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/model"
	sessions "codeagent/session"
)

// record is the record of a run; nil for a run that has none.
type record struct {
	Log *sessions.Session
	// before is the conversation at the start of the run, empty in a new session.
	before sessions.History
}

// openRecord begins a session, or opens the resumed one.
func openRecord(ws *workspace.Workspace, from *sessionscmd.ResumeTarget, asks sessions.Model) (*record, error) {
	store := sessions.New(ws.Paths.Sessions)
	info := sessions.Info{Folder: ws.Folder, Program: ws.Process.Version, Model: asks}
	if from == nil {
		info.ID = sessions.NewID()
		r := &record{Log: store.Create(info)}
		ws.InUse = r.Log.InUse
		return r, nil
	}
	var err error
	if info.ID = from.ID; from.Fork {
		if info.ID, err = store.Fork(from.ID, from.Before); err != nil {
			return nil, sessionscmd.Error(err)
		}
	}
	r := &record{}
	if r.Log, err = store.Open(info); err != nil {
		return nil, sessionscmd.Error(err)
	}
	ws.InUse = r.Log.InUse
	if from.Before > 0 && !from.Fork {
		err = r.Log.Back(from.Before)
	}
	if err == nil {
		r.before, err = r.Log.History(sessions.HistoryLimit)
	}
	if err != nil {
		_ = r.Log.Close()
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
