package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
	"codeagent/sandbox"
)

const askUserExample = `{"question": "Which database should the service use?", "choices": [{"label": "SQLite", "about": "one file, no server"}, {"label": "PostgreSQL", "about": "the other services use it"}]}`

type askUserArguments struct {
	Question string          `json:"question" jsonschema:"The whole question, in one to three sentences."`
	Choices  []askUserChoice `json:"choices" jsonschema:"One to four choices. The user may also write an answer of their own: that needs no choice."`
	Several  bool            `json:"several,omitempty" jsonschema:"More than one choice may be taken."`
}

type askUserChoice struct {
	Label string `json:"label" jsonschema:"The choice in one to five words."`
	About string `json:"about,omitempty" jsonschema:"One line: what it means, or what it costs."`
}

// Bounds of a question: more is not read but skipped.
const (
	maxAskChoices = 4
	maxAsk        = 1000
	maxAskLabel   = 80
	maxAskAbout   = 200
	maxOwnAnswer  = 4000
)

// The fields of the question.
const (
	chosenField = "choice"
	ownField    = "answer"
)

func planAskUser(a askUserArguments) (*call, error) {
	q, err := a.asked()
	if err != nil {
		return nil, fmt.Errorf("%w. Example: %s", err, askUserExample)
	}
	c := &call{action: approvals.Action{Tool: "ask_user", Kind: word.KindAsk, Title: oneLine("ask: " + q.Message)}}
	c.run = func(ctx context.Context, _ sandbox.Policy, s Stage) (Result, error) {
		q.CallID = c.action.CallID
		return putQuestion(ctx, s, q)
	}
	return c, nil
}

// asked is the question, clean and within its bounds.
func (a *askUserArguments) asked() (q inquiry.Question, err error) {
	q.Message = visible.Text(strings.TrimSpace(a.Question))
	f := inquiry.Field{Name: chosenField, Title: "Choices", Kind: inquiry.Choice}
	if a.Several {
		f.Kind = inquiry.Choices
	}
	switch {
	case q.Message == "" || len(q.Message) > maxAsk:
		return q, fmt.Errorf("question must have 1 to %d characters", maxAsk)
	case len(a.Choices) == 0 || len(a.Choices) > maxAskChoices:
		return q, fmt.Errorf("there are %d choices; there must be 1 to %d", len(a.Choices), maxAskChoices)
	}
	line := func(s string) string { return visible.Line(strings.Join(strings.Fields(s), " ")) }
	for i, c := range a.Choices {
		label, about := line(c.Label), line(c.About)
		switch {
		case label == "" || len(label) > maxAskLabel:
			return q, fmt.Errorf("choices[%d].label must have 1 to %d characters", i, maxAskLabel)
		case len(about) > maxAskAbout:
			return q, fmt.Errorf("choices[%d].about must have at most %d characters", i, maxAskAbout)
		case slices.Contains(f.Choices, label):
			return q, fmt.Errorf("choices[%d].label is the label of another choice", i)
		}
		f.Choices, f.About = append(f.Choices, label), append(f.About, about)
	}
	most := float64(maxOwnAnswer)
	q.Fields = []inquiry.Field{f, {Name: ownField, Title: "Own answer", Kind: inquiry.String, Most: &most}}
	return q, nil
}

// putQuestion asks, and returns the answer in words.
func putQuestion(ctx context.Context, s Stage, q inquiry.Question) (Result, error) {
	reply, err := inquiry.Reply{}, inquiry.ErrNobody
	if s.Inquire != nil {
		reply, err = s.Inquire(ctx, q)
	}
	chosen, _ := reply.Values[chosenField].([]string)
	if one, ok := reply.Values[chosenField].(string); ok {
		chosen = []string{one}
	}
	own, _ := reply.Values[ownField].(string)
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case errors.Is(err, inquiry.ErrNobody):
		r := failed("Not asked: nobody can answer a question in this run. Decide by yourself: take what fits the task best, and say in your last message what you decided and why. Do not ask again.")
		r.Outcome, r.Message = word.Refused, "Not asked: nobody can answer here. The model decides by itself."
		return r, nil
	case err != nil:
		return failed("The question could not be asked: %v. Decide by yourself, and say what you decided.", err), nil
	case reply.Action != inquiry.Accepted || len(chosen) == 0 && strings.TrimSpace(own) == "":
		return done("The user gave no answer. Do not ask the same again: decide by yourself, or do what does not depend on it.", "no answer"), nil
	}
	var words, short []string
	if len(chosen) > 0 {
		short = append(short, strings.Join(chosen, ", "))
		words = append(words, "The user chose: "+short[0])
	}
	if own = strings.TrimSpace(own); own != "" {
		short = append(short, "“"+oneLine(own)+"”")
		words = append(words, "The user answered in their own words: "+own)
	}
	return done(strings.Join(words, "\n"), strings.Join(short, ", ")), nil
}
