package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/model"
	"codeagent/prompts"
	"codeagent/sandbox"
)

// carried holds facts about the conversation that every summary must keep. They are collected
// from events. Lists are bounded: the oldest entries are dropped.
type carried struct {
	// Messages are the user's messages that are no longer in the conversation itself.
	Messages []string         `json:"messages,omitempty"`
	Omitted  int              `json:"omitted,omitempty"`
	Plan     []event.PlanStep `json:"plan,omitempty"`
	// Changes are the kinds of change by path; Paths has their order.
	Changes map[string]sandbox.ChangeKind `json:"changes,omitempty"`
	Paths   []string                      `json:"paths,omitempty"`
	// ByCommand marks the paths that only commands changed.
	ByCommand map[string]bool `json:"by_command,omitempty"`
	// Unnamed counts changes by commands that are not in the list.
	Unnamed int `json:"unnamed,omitempty"`
	// Partial: commands changed more than could be recorded.
	Partial bool     `json:"partial,omitempty"`
	Refused []string `json:"refused,omitempty"`
	Denied  []string `json:"denied,omitempty"`

	// granted is not stored: a later process of the session asks again.
	granted []string
	// open holds the unanswered questions.
	open map[string]event.PermissionRequested
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
func (c *carried) note(e event.Event) {
	switch e := e.(type) {
	case event.PlanUpdated:
		c.Plan = e.Steps
	case event.ToolFinished:
		for _, ch := range e.Changes {
			if ch.From != "" {
				c.changed(sandbox.Deleted, ch.From, false)
				c.changed(sandbox.Added, ch.Path, false)
				continue
			}
			c.changed(ch.Kind, ch.Path, false)
		}
		c.command(e.Changed)
		for _, d := range e.Verdict.Denials {
			if !d.Moot {
				c.Denied = listed(c.Denied, string(d.Kind)+" "+d.Target)
			}
		}
	case event.BackgroundEnded:
		c.command(e.Changed)
	case event.PermissionRequested:
		if c.open == nil {
			c.open = map[string]event.PermissionRequested{}
		}
		c.open[e.ID] = e
	case event.PermissionAnswered:
		c.answered(c.open[e.ID], e)
		delete(c.open, e.ID)
	}
}

// answered records the answer to a question.
func (c *carried) answered(q event.PermissionRequested, e event.PermissionAnswered) {
	what := q.Title
	if !q.Wanted.Empty() {
		what += " (" + things(q.Wanted) + ")"
	}
	switch e.Answer {
	case word.AnswerOnce:
		c.granted = listed(c.granted, what+": once")
	case word.AnswerSession:
		c.granted = listed(c.granted, what+": for the session")
	case word.AnswerDenied, word.AnswerRefused:
		if e.Reason != "" {
			what += ": " + e.Reason
		}
		c.Refused = listed(c.Refused, what)
	}
}

// listed returns list with fact at its end, once, and without the oldest entries if it is
// too long.
func listed(list []string, fact string) []string {
	if i := slices.Index(list, fact); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	list = append(list, fact)
	return list[max(0, len(list)-mostFacts):]
}

// changed records a change of a file, combined with earlier ones.
func (c *carried) changed(kind sandbox.ChangeKind, path string, byCommand bool) {
	if c.Changes == nil {
		c.Changes = map[string]sandbox.ChangeKind{}
	}
	if c.ByCommand == nil {
		c.ByCommand = map[string]bool{}
	}
	c.drop(sandbox.Change{Path: path, Kind: kind}.Took)
	before, known := c.Changes[path]
	if kind = before.Then(kind); kind == "" {
		c.drop(func(p string) bool { return p == path })
		return
	}
	c.Changes[path] = kind
	switch {
	case !byCommand:
		delete(c.ByCommand, path)
	case !known:
		c.ByCommand[path] = true
	}
	if !known {
		c.Paths = append(c.Paths, path)
	}
	if len(c.Paths) > mostPaths {
		c.dropOldest()
	}
}

func (c *carried) drop(which func(path string) bool) {
	c.Paths = slices.DeleteFunc(c.Paths, func(p string) bool {
		gone := which(p)
		if gone {
			delete(c.Changes, p)
			delete(c.ByCommand, p)
		}
		return gone
	})
}

// dropOldest makes room: changes by commands go first, and are counted.
func (c *carried) dropOldest() {
	oldest := c.Paths[0]
	if i := slices.IndexFunc(c.Paths, func(p string) bool { return c.ByCommand[p] }); i >= 0 {
		oldest = c.Paths[i]
		c.Unnamed++
	}
	c.drop(func(p string) bool { return p == oldest })
}

// command records what a command changed.
func (c *carried) command(ch sandbox.Changes) {
	named := min(len(ch.List), mostOfCommand)
	for _, one := range ch.List[:named] {
		c.changed(one.Kind, one.Path, true)
	}
	c.Unnamed += len(ch.List) - named + ch.More
	c.Partial = c.Partial || ch.Partial
}

// changedBy returns what an item stores about the changes by a command, for a process that
// resumes the session; nil without changes.
func changedBy(ch sandbox.Changes) json.RawMessage {
	if ch.None() {
		return nil
	}
	var c carried
	c.command(ch)
	data, err := json.Marshal(c)
	if err != nil {
		return nil // never fails: strings and numbers
	}
	return data
}

// resume collects the facts from the conversation of an earlier process: from its last
// summary, and from the calls since.
func (c *carried) resume(items []model.Item, plan func(model.ToolCall) (approvals.Action, error)) {
	failed := map[string]bool{}
	for _, i := range items {
		if i.Kind == model.Result && i.Failed {
			failed[i.CallID] = true
		}
	}
	c.Messages, c.Omitted, c.Unnamed, c.Partial = nil, 0, 0, false
	for _, i := range items {
		var by carried
		if len(i.Carried) > 0 && json.Unmarshal(i.Carried, &by) == nil { // otherwise it has only text
			c.join(by, i.Kind == model.Summary)
		}
		if i.Kind != model.Call || failed[i.Call.ID] {
			continue
		}
		action, err := plan(*i.Call)
		switch {
		case err != nil:
		case action.Kind == word.KindEdit:
			for _, p := range action.Paths {
				if c.Changes[p] == "" || c.ByCommand[p] {
					c.changed(sandbox.Updated, p, false)
				}
			}
		case action.Kind == word.KindPlan:
			c.planned(i.Call.Arguments)
		}
	}
}

// join adds what an item of an earlier process carried: a summary, or the result of a
// command. Facts that are known already take precedence over a summary.
func (c *carried) join(by carried, summary bool) {
	if summary {
		c.Messages, c.Omitted = by.Messages, by.Omitted
		if c.Plan == nil {
			c.Plan = by.Plan
		}
	}
	for _, p := range by.Paths {
		if !summary || c.Changes[p] == "" {
			c.changed(by.Changes[p], p, by.ByCommand[p])
		}
	}
	c.Unnamed, c.Partial = c.Unnamed+by.Unnamed, c.Partial || by.Partial
	for _, f := range by.Refused {
		c.Refused = listed(c.Refused, f)
	}
	for _, f := range by.Denied {
		c.Denied = listed(c.Denied, f)
	}
}

// planned reads the plan in a call's arguments.
func (c *carried) planned(arguments string) {
	var a struct {
		Plan []event.PlanStep `json:"plan"`
	}
	if json.Unmarshal([]byte(arguments), &a) != nil {
		return
	}
	c.Plan = a.Plan
}

// with returns c with the user's messages in items, which leave the conversation; all
// messages together have at most most bytes. The first, usually the task, and the last
// messages are kept longest.
func (c carried) with(items []model.Item, most int) carried {
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
		c.Messages[i] = middle(m, most/3)
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
func (c carried) words(most int) prompts.Carried {
	out := prompts.Carried{Messages: c.Messages, Omitted: c.Omitted, Granted: c.granted, Refused: c.Refused, Denied: c.Denied}
	if slices.ContainsFunc(c.Plan, func(s event.PlanStep) bool { return s.Status != word.StepCompleted }) {
		out.Plan = c.Plan // a finished plan is not needed
	}
	from := len(c.Paths)
	for from > 0 && most >= len(c.Paths[from-1]) {
		from--
		most -= len(c.Paths[from])
	}
	if from > 0 {
		out.Changes = append(out.Changes, fmt.Sprintf("(and %d before these)", from))
	}
	for _, p := range c.Paths[from:] {
		out.Changes = append(out.Changes, string(c.Changes[p])+" "+p)
	}
	if c.Unnamed > 0 {
		out.Changes = append(out.Changes, fmt.Sprintf("(and %d more changes, by commands)", c.Unnamed))
	}
	if c.Partial {
		out.Changes = append(out.Changes, "(and what commands changed beyond what can be noted)")
	}
	return out
}

// middle removes the middle of a text longer than most bytes and says so.
func middle(text string, most int) string {
	if len(text) <= most || most <= 0 {
		return text
	}
	head, tail := short.Head(text, most/2), short.Tail(text, most/2)
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, len(text)-len(head)-len(tail), tail)
}
