package conversation

import (
	"errors"

	"codeagent/agent"
	"codeagent/event"
	"codeagent/model"
	sessions "codeagent/session"
)

// Back takes the person's last message back, in the conversation and in its
// record. Files stay as they are. Where a summary stands for the conversation the
// record says what it is now: the message may be one that the summary stands for,
// and then the summary is taken back too.
func (ses *Session) Back(screen Face) (agent.Input, bool) {
	var in agent.Input
	var ok bool
	var err error
	compacted := ses.Agent.Compacted()
	if ses.Record != nil && compacted {
		if in, ok, err = ses.backInRecord(); ok && !ses.Agent.Compacted() {
			screen.Emit(event.Notice{Level: event.LevelInfo, Text: "this was before the summary: the model gets the original messages again"})
		}
	} else if in, ok = ses.Agent.Back(); ok && ses.Record != nil {
		err = ses.Record.Log.Back(sessions.Last)
	}
	switch {
	case err != nil:
		screen.Emit(event.Notice{Level: event.LevelError, Text: "cannot save the rewind: " + err.Error()})
	case !ok && compacted && ses.Record == nil:
		screen.Emit(event.Notice{Level: event.LevelWarning, Text: "a summary has replaced that message, and this run keeps no session to go back in"})
	}
	return in, ok
}

// backInRecord takes the last message back in the record and has the agent go on
// from there.
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
		err = nil // there is nothing to take back yet
	}
	return in, ok, err
}
