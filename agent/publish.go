package agent

// A job that listens on a port of the session's network is reached by the person's browser after a yes:
//
//	the job listens -> DecidePublish   a setting or an earlier yes ------> published, unasked
//	  v question        nobody is asked, or an earlier no --> the model reads why not
//	ask, settle -> Job.Publish -> a note with both addresses goes with the next request

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// publish decides whether the person's browser reaches the port of l, on which a job of c listens. It returns
// when that is decided, at the latest when ctx ends.
func (c *toolCall) publish(ctx context.Context, job tools.Publisher, l sandbox.Listener) {
	a := c.turn.agent
	if !a.cfg.PublishAt.IsValid() {
		return
	}
	err := c.mayPublish(ctx, job, l)
	if errors.Is(err, approvals.ErrOwnPort) || ctx.Err() != nil {
		return
	}
	var at netip.AddrPort
	if err == nil {
		at, err = job.Publish(l, a.cfg.PublishAt)
	}
	said := fmt.Sprintf("[port] Job %d listens on port %d. You reach it at http://127.0.0.1:%d. ", job.ID(), l.Port, l.Port)
	if err != nil {
		a.later(said + fmt.Sprintf("The user's browser does not: %v.", err))
		return
	}
	a.later(said + fmt.Sprintf("The user's browser reaches it at http://%s, and at no other address.", at))
	a.emit(event.Notice{Level: word.LevelInfo, Text: fmt.Sprintf("your browser reaches port %d of job %d at http://%s", l.Port, job.ID(), at)})
}

// mayPublish asks, unless an answer or a setting decides.
func (c *toolCall) mayPublish(ctx context.Context, job tools.Publisher, l sandbox.Listener) error {
	cfg := c.turn.agent.cfg
	q, err := cfg.Gate.DecidePublish(c.action, job.ID(), l, "http://"+netip.AddrPortFrom(cfg.PublishAt, l.Port).String())
	switch {
	case q == nil:
		return err
	case !cfg.Attended:
		return cfg.Gate.SettlePublish(q, approvals.Answer{Decision: approvals.Unattended})
	}
	asking, stop := context.WithTimeoutCause(ctx, heldPatience, errNoAnswer)
	defer stop()
	q.Patience = heldPatience
	ans := c.put(asking, q)
	err = cfg.Gate.SettlePublish(q, ans)
	c.answered(q, ans, err)
	return err
}

// later keeps words of codeagent's for the model, which go with its next request.
func (a *Agent) later(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, text)
}

// noted puts the words that were kept for the model into the conversation.
func (a *Agent) noted() {
	a.mu.Lock()
	notes := a.notes
	a.notes = nil
	a.mu.Unlock()
	for _, text := range notes {
		a.append(model.Item{Kind: model.Note, Text: text})
	}
}
