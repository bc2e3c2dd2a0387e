package agent

// A second model can read a request of the model before the user does:
//
//	question -> Reviewer   refuses, with a reason ------> no: told to the model, shown
//	  |                    passes it on, fails, is late
//	  v
//	Frontend.Ask           the user decides
//
// It has no way to say yes. What it reads is bounded, and quoted in JSON.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"codeagent/approvals"
	"codeagent/internal/short"
	"codeagent/model"
	"codeagent/prompts"
)

// Reviewer is the model that reviews questions.
type Reviewer struct {
	Model Model
	Name  string
}

// Bounds of one review.
const (
	reviewTime   = 20 * time.Second
	reviewTokens = 2000
	maxReview    = 16 << 10 // bytes of its answer
)

// reviewed lets the reviewer judge q. It returns the reason of a refusal, or "" to pass q on to the
// user. q then mentions the result of the review.
func (c *toolCall) reviewed(ctx context.Context, q *approvals.Request) string {
	a := c.turn.agent
	r := a.cfg.Reviewer
	if r == nil || !a.cfg.Attended || q.Held {
		// Without a person the question is refused anyway. For a held call a program waits, and there is
		// no reason of a model to judge.
		return ""
	}
	var reason string
	err := contain(func() (err error) {
		reason, err = r.judge(ctx, a.lastSaid(), q, a.spent)
		return err
	})
	switch {
	case err != nil:
		q.Facts = append(q.Facts, fmt.Sprintf("the reviewer %s gave no answer: %s", r.Name, short.Cut(err.Error(), 200)))
	case reason == "":
		q.Facts = append(q.Facts, fmt.Sprintf("the reviewer %s passed this on to you", r.Name))
	}
	return reason
}

// lastSaid returns the user's last message.
func (a *Agent) lastSaid() string {
	if p := a.above(); p != nil {
		return p.lastSaid() // a helper's task is the words of a model
	}
	items, _ := a.now()
	for _, item := range slices.Backward(items) {
		if item.Kind == model.User {
			return item.Text
		}
	}
	return ""
}

// judge asks the reviewer about q. spent receives the tokens that this used.
func (r *Reviewer) judge(ctx context.Context, user string, q *approvals.Request, spent func(model.Usage)) (reason string, err error) {
	late := fmt.Errorf("it took more than %s", reviewTime)
	ctx, end := context.WithTimeoutCause(ctx, reviewTime, late)
	defer end()
	instructions, message := prompts.ForReview(prompts.Review{
		Title: q.Title, Opens: q.Grant.Lines(nil), Warnings: slices.Clone(q.Warnings), Known: slices.Clone(q.Facts),
		User: user, Command: q.Action.Command, Folder: q.Action.Folder, Agent: q.Justification,
	}, q.Denials)
	text, usage, err := textOf(ctx, r.Model.Stream(ctx, model.Request{
		Model: r.Name, Instructions: instructions, Items: []model.Item{{Kind: model.User, Text: message}}, MaxOutputTokens: reviewTokens,
	}), maxReview, func(model.Retrying) {})
	if err != nil {
		return "", err
	}
	spent(usage)
	reason, ok := prompts.Reviewed(text)
	if !ok {
		return "", errors.New("its answer is not in the requested form")
	}
	return reason, nil
}
