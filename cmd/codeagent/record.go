package main

import (
	"fmt"
	"slices"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/event"
	"codeagent/model"
	sessions "codeagent/session"
	"codeagent/tools"
)

// record is what is kept of a run: nil for one that keeps nothing.
type record struct {
	log *sessions.Session
	// before is what had been said when the run began, none of it in a new session.
	before sessions.History
}

// openRecord begins a session, or goes on with the one that the run is resumed
// from. The tour and an ephemeral run keep none.
func (ses *session) openRecord() (*record, error) {
	o := ses.options
	if o.ephemeral || ses.tour != nil {
		return nil, nil
	}
	store := sessions.New(ses.Paths.Sessions)
	info := sessions.Info{Folder: ses.Folder, Program: ses.Stdio.Version, Model: ses.chosen.Kept()}
	if o.from == nil {
		info.ID = sessions.NewID()
		return &record{log: store.Create(info)}, nil
	}
	var err error
	if info.ID = o.from.ID; o.from.Fork {
		if info.ID, err = store.Fork(o.from.ID, o.from.Before); err != nil {
			return nil, sessionscmd.Error(err)
		}
	}
	r := &record{}
	if r.log, err = store.Open(info); err != nil {
		return nil, sessionscmd.Error(err)
	}
	if o.from.Before > 0 && !o.from.Fork {
		err = r.log.Back(o.from.Before)
	}
	if err == nil {
		r.before, err = r.log.History(sessions.HistoryLimit)
	}
	if err != nil {
		_ = r.log.Close() // the other error is the one to tell
		return nil, &cli.UsageError{Err: fmt.Errorf("session %s: %w", info.ID, err)}
	}
	return r, nil
}

// join has cfg write to the record and go on from it. It returns the name of the
// conversation, which has one without a record too.
func (r *record) join(cfg *agent.Config) string {
	if r == nil {
		cfg.CacheKey = sessions.NewID()
		return cfg.CacheKey
	}
	cfg.Log, cfg.History, cfg.CacheKey = r.log, r.before.Items, r.log.ID()
	return cfg.CacheKey
}

// tellPast shows a face what was said before, as far back as a screen is likely
// to be scrolled, and how much of it there is.
func (r *record) tellPast(emit func(event.Event), set *tools.Set, attended bool) {
	if r == nil || len(r.before.Items) == 0 {
		return
	}
	if attended { // the others print what happens now
		replay(emit, set, r.before.Items)
	}
	text := fmt.Sprintf("going on with session %s", r.log.ID())
	if r.before.Omitted {
		text += "; its beginning is too long to be given to the model"
	}
	emit(event.Notice{Level: event.LevelInfo, Text: text})
	if n := r.before.Damaged; n > 0 {
		emit(event.Notice{Level: event.LevelWarning, Text: fmt.Sprintf("%d damaged records of the session were passed over", n)})
	}
}

// replayed is how many items of the past are shown.
const replayed = 400

// replay tells items as if they happened now. Of a call no more is known than
// what the model was told; one without a result ended with the codeagent that
// made it.
func replay(emit func(event.Event), set *tools.Set, items []model.Item) {
	items = items[max(0, len(items)-replayed):]
	calls := map[string]event.ToolStarted{}
	var open []string
	for _, i := range items {
		switch i.Kind {
		case model.User:
			emit(event.TurnStarted{Text: i.Text, Images: agent.Input{Images: i.Images}.Shown()})
		case model.Summary:
			emit(event.Compacted{Summary: i.Text})
		case model.Assistant:
			emit(event.MessageFinished{Text: i.Text})
		case model.Reasoning:
			emit(event.ReasoningFinished{Text: i.Text})
		case model.Call:
			e := event.ToolStarted{CallID: i.Call.ID, Tool: i.Call.Name, Kind: event.KindRead, Title: i.Call.Name}
			if planned, err := set.Plan(*i.Call); err == nil {
				a := planned.Action()
				e.Kind, e.Title, e.Folder = a.Kind.Shown(), a.Title, a.Folder
				if a.Kind == event.KindCommand {
					e.Command = a.Command
				}
			}
			calls[e.CallID] = e
			open = append(open, e.CallID)
			emit(e)
		case model.Result:
			e := calls[i.CallID]
			open = slices.DeleteFunc(open, func(id string) bool { return id == i.CallID })
			outcome := event.OK
			if i.Failed {
				outcome = event.Failed
			}
			emit(event.ToolFinished{CallID: i.CallID, Tool: e.Tool, Kind: e.Kind, Title: e.Title, Outcome: outcome, Output: i.Text})
		}
	}
	for _, id := range open {
		e := calls[id]
		emit(event.ToolFinished{CallID: id, Tool: e.Tool, Kind: e.Kind, Title: e.Title, Outcome: event.Interrupted})
	}
}

// recorded is a face whose finished turns are on the disk before they are told.
type recorded struct {
	face
	log *sessions.Session
}

func (f recorded) Emit(e event.Event) {
	if done, ok := e.(event.TurnFinished); ok {
		if err := f.log.EndTurn(string(done.Outcome), done.Usage); err != nil {
			f.face.Emit(event.Notice{Level: event.LevelError, Text: "the conversation cannot be saved: " + err.Error()})
		}
	}
	f.face.Emit(e)
}

// keep puts the record between the agent and its face.
func (r *record) keep(screen face) face {
	if r == nil {
		return screen
	}
	return recorded{screen, r.log}
}
