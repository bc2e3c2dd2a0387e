package conversation

import (
	"errors"

	"codeagent/agent"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	sessions "codeagent/session"
)

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
