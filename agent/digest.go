package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/prompts"
	"codeagent/sandbox"
)

// digest holds facts about the conversation that every summary must keep. They are collected
// from events and stored with the items of the log. Lists are bounded: the oldest entries are
// dropped.
type digest struct {
	// Messages are the user's messages that are no longer in the conversation itself. Omitted
	// counts those that were dropped.
	Messages []string         `json:"messages,omitempty"`
	Omitted  int              `json:"omitted,omitempty"`
	Plan     []event.PlanStep `json:"plan,omitempty"`
	Files    []changedFile    `json:"files,omitempty"`
	// Unnamed counts changes by commands that are not in Files.
	Unnamed int `json:"unnamed,omitempty"`
	// Partial: commands changed more than could be recorded.
	Partial bool     `json:"partial,omitempty"`
	Refused []string `json:"refused,omitempty"`
	Denied  []string `json:"denied,omitempty"`
	// Done is how the call ended, for a face that shows it again: a callEnd.
	Done json.RawMessage `json:"done,omitempty"`

	// granted is not stored: a later process of the session asks again.
	granted []string
}

// changedFile is a file or folder that was changed, by commands alone or also by a file tool.
type changedFile struct {
	Path      string             `json:"path"`
	Kind      sandbox.ChangeKind `json:"kind"`
	ByCommand bool               `json:"by_command,omitempty"`
}

// Bounds of the facts.
const (
	mostPaths = 300
	mostFacts = 40
	// mostOfCommand is how many paths one command may add: it can change thousands, and they
	// matter less than files that were edited on purpose.
	mostOfCommand = 100
)

// note processes an event.
func (c *digest) note(e event.Event) {
	switch e := e.(type) {
	case event.PlanUpdated:
		c.Plan = e.Steps
	case event.ToolFinished:
		for _, ch := range e.Changes {
			if ch.From != "" {
				c.changed(changedFile{Path: ch.From, Kind: sandbox.Deleted})
				ch.Kind = sandbox.Added
			}
			c.changed(changedFile{Path: ch.Path, Kind: ch.Kind})
		}
		c.command(e.Changed)
		for _, d := range e.Verdict.Denials {
			if !d.Moot {
				c.Denied = listed(c.Denied, string(d.Kind)+" "+d.Target)
			}
		}
	case event.BackgroundEnded:
		c.command(e.Changed)
	}
}

// answered records the answer to a question.
func (c *digest) answered(q *approvals.Request, e event.PermissionAnswered) {
	what := q.Title
	if !q.Grant.Empty() {
		what += " (" + things(q.Grant) + ")"
	}
	how := map[word.Answer]string{word.AnswerOnce: ": once", word.AnswerSession: ": for the session", word.AnswerAlways: ": always"}
	switch e.Answer {
	case word.AnswerOnce, word.AnswerSession, word.AnswerAlways:
		c.granted = listed(c.granted, what+how[e.Answer])
	case word.AnswerDenied, word.AnswerRefused:
		if e.Reason != "" {
			what += ": " + e.Reason
		}
		c.Refused = listed(c.Refused, what)
	}
}

// listed returns list with facts at its end, each once, and without the oldest entries if it
// is too long.
func listed(list []string, facts ...string) []string {
	for _, fact := range facts {
		list = append(slices.DeleteFunc(list, func(f string) bool { return f == fact }), fact)
	}
	return list[max(0, len(list)-mostFacts):]
}

// changed records a change of a file, combined with earlier ones.
func (c *digest) changed(f changedFile) {
	change := sandbox.Change{Path: f.Path, Kind: f.Kind}
	c.Files = slices.DeleteFunc(c.Files, func(was changedFile) bool { return change.Took(was.Path) })
	i := slices.IndexFunc(c.Files, func(was changedFile) bool { return was.Path == f.Path })
	if i < 0 {
		i, c.Files = len(c.Files), append(c.Files, f)
	} else {
		was := &c.Files[i]
		was.Kind, was.ByCommand = was.Kind.Then(f.Kind), was.ByCommand && f.ByCommand
	}
	switch {
	case c.Files[i].Kind == "":
		c.Files = slices.Delete(c.Files, i, i+1)
	case len(c.Files) > mostPaths:
		// Changes by commands are dropped first, and counted.
		oldest := slices.IndexFunc(c.Files, func(f changedFile) bool { return f.ByCommand })
		if oldest >= 0 {
			c.Unnamed++
		}
		c.Files = slices.Delete(c.Files, max(oldest, 0), max(oldest, 0)+1)
	}
}

// command records what a command changed.
func (c *digest) command(ch sandbox.Changes) {
	named := min(len(ch.List), mostOfCommand)
	for _, one := range ch.List[:named] {
		c.changed(changedFile{one.Path, one.Kind, true})
	}
	c.Unnamed += len(ch.List) - named + ch.More
	c.Partial = c.Partial || ch.Partial
}

// kept returns what an item stores of the facts in events, for a process that resumes the
// session; nil without facts.
func kept(events ...event.Event) json.RawMessage { return digest{}.keep(events) }

// onlyDone returns what an item stores when a summary has taken over its facts.
func onlyDone(stored json.RawMessage) json.RawMessage {
	var c digest
	if len(stored) == 0 || json.Unmarshal(stored, &c) != nil {
		return nil
	}
	return digest{Done: c.Done}.stored()
}

func (c digest) keep(events []event.Event) json.RawMessage {
	for _, e := range events {
		c.note(e)
	}
	return c.stored()
}

// stored returns c for an item; nil without facts.
func (c digest) stored() json.RawMessage {
	data, err := json.Marshal(c) // never fails: strings and numbers
	if err != nil || string(data) == "{}" {
		return nil
	}
	return data
}

// resume replaces the facts by those that items carry: a summary has all before it.
func (c *digest) resume(items []model.Item) {
	*c = digest{granted: c.granted}
	for _, i := range items {
		var by digest
		if len(i.Carried) == 0 || json.Unmarshal(i.Carried, &by) != nil {
			continue
		}
		c.Messages, c.Omitted = append(c.Messages, by.Messages...), c.Omitted+by.Omitted
		if by.Plan != nil {
			c.Plan = by.Plan
		}
		for _, f := range by.Files {
			c.changed(f)
		}
		c.Unnamed, c.Partial = c.Unnamed+by.Unnamed, c.Partial || by.Partial
		c.Refused, c.Denied = listed(c.Refused, by.Refused...), listed(c.Denied, by.Denied...)
	}
}

// with returns c with the user's messages in items, which leave the conversation; all
// messages together have at most most bytes. The first, usually the task, and the last
// messages are kept longest.
func (c digest) with(items []model.Item, most int) digest {
	c.Messages = slices.Clone(c.Messages)
	for _, i := range items {
		if i.Kind != model.User {
			continue
		}
		text := strings.TrimSpace(i.Text)
		for _, p := range i.Images {
			text += "\n[image: " + p.String() + "]"
		}
		if text != "" {
			c.Messages = append(c.Messages, text)
		}
	}
	size := 0
	for i, m := range c.Messages {
		c.Messages[i] = cutMiddle(m, most/3)
		size += len(c.Messages[i])
	}
	for size > most && len(c.Messages) > 2 {
		size -= len(c.Messages[1])
		c.Messages = slices.Delete(c.Messages, 1, 2)
		c.Omitted++
	}
	return c
}

// words returns c for the model, with the newest changed files in most bytes.
func (c digest) words(most int) prompts.Digest {
	out := prompts.Digest{Messages: c.Messages, Omitted: c.Omitted, Granted: c.granted, Refused: c.Refused, Denied: c.Denied}
	if slices.ContainsFunc(c.Plan, func(s event.PlanStep) bool { return s.Status != word.StepCompleted }) {
		out.Plan = c.Plan // a finished plan is not needed
	}
	from := len(c.Files)
	for from > 0 && most >= len(c.Files[from-1].Path) {
		from--
		most -= len(c.Files[from].Path)
	}
	if from > 0 {
		out.Changes = append(out.Changes, fmt.Sprintf("(and %d before these)", from))
	}
	for _, f := range c.Files[from:] {
		out.Changes = append(out.Changes, string(f.Kind)+" "+f.Path)
	}
	if c.Unnamed > 0 {
		out.Changes = append(out.Changes, fmt.Sprintf("(and %d more changes, by commands)", c.Unnamed))
	}
	if c.Partial {
		out.Changes = append(out.Changes, "(and what commands changed beyond what can be noted)")
	}
	return out
}
