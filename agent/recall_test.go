package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"codeagent/answers"
	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/tools"
)

// session is one with the answers in file, whose model plays list. Its only tool runs a command.
func session(t *testing.T, file string, list ...[]any) rig {
	box := toolbox{"run": {}}
	r := newRig(approvals.OnRequest, box, list...)
	r.cfg.Answers = &Answers{
		Memory: answers.New(answers.Options{File: file, Mask: func(s string) string { return s }, Notice: func(s string) { t.Error(s) }}),
		Scope:  func(instructions string) answers.Scope { return answers.Scope{Model: "m", Instructions: instructions} },
	}
	return r
}

// TestEarlierAnswer: the answer to a first message is that of an earlier session, and the conversation goes on from it. With
// Again the model answers.
func TestEarlierAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store")
	ask := func(r rig, in Input, want string, earlier bool) {
		t.Helper()
		if err := r.Turn(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		r.check(t)
		ends := told[event.TurnFinished](r.face)
		if end := ends[len(ends)-1]; end.Answer != want || end.Outcome != word.TurnDone {
			t.Errorf("%+v, want %q", end, want)
		}
		if hits := told[event.EarlierAnswer](r.face); (len(hits) == 1) != earlier {
			t.Errorf("%q: %+v", want, hits)
		}
	}
	in := Input{Text: "What is it?"}
	ask(session(t, file, play("one")), in, "one", false)
	r := session(t, file, play("two"))
	ask(r, in, "one", true)
	if len(told[event.RequestStarted](r.face)) != 0 {
		t.Error("the model was asked")
	}
	ask(r, in, "two", true) // the second message of a session
	if items := r.model.requests[0].Items; len(items) != 4 || items[1].Text != "one" || !strings.Contains(items[2].Text, "earlier session") {
		t.Errorf("the model got %s", dump(items))
	}
	again := in
	again.Again = true
	ask(session(t, file, play("three")), again, "three", false)
	ask(session(t, file), in, "three", true)
}

// TestAnswersThatAreNotKept: of a turn that does more than read, or does not end well, and of a message that is not all that the
// model gets.
func TestAnswersThatAreNotKept(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		in     Input
		list   [][]any
	}{
		"a call that may change things": {list: [][]any{play(call("c", "run")), play("it")}},
		"a call that does not exist":    {list: [][]any{play(call("c", "none")), play("it")}},
		"an image":                      {in: Input{Images: []model.Image{{MediaType: "image/png", Data: []byte("x")}}}},
		"a note":                        {in: Input{Notes: []string{"more"}}},
		"somebody else's text":          {in: Input{Foreign: true}},
		"a search of the provider":      {change: func(c *Config) { c.Search = true }},
		"a message typed meanwhile":     {change: func(c *Config) { c.Frontend.(*face).steers = []string{"faster"} }, list: [][]any{play("it"), play("it")}},
		"an answer that is cut off":     {list: [][]any{{model.TextDelta{Text: "it"}, model.Finished{Reason: model.StopLength}}}},
		"no name of a model": {change: func(c *Config) {
			c.Answers.Scope = func(string) answers.Scope { return answers.Scope{} }
		}},
	} {
		file := filepath.Join(t.TempDir(), "store")
		list := c.list
		if list == nil {
			list = [][]any{play("it")}
		}
		r := session(t, file, list...)
		if c.change != nil {
			c.change(&r.cfg)
		}
		c.in.Text = "What is it?"
		_ = r.Turn(t.Context(), c.in)
		if len(told[event.RequestStarted](r.face)) == 0 {
			t.Errorf("%s: no model was asked", name)
		}
		second := session(t, file, play("new"))
		if err := second.Turn(t.Context(), Input{Text: c.in.Text}); err != nil || len(told[event.EarlierAnswer](second.face)) > 0 {
			t.Errorf("%s: it was kept (%v)", name, err)
		}
	}
	if tools.OnlyReads(deed{}) {
		t.Error("a call of an unknown kind counts as one that only reads")
	}
}
