package question

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/approvals"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

func ask(r approvals.Request) *Question {
	a := &Ask{Request: r, Reply: make(chan approvals.Answer, 1)}
	return a.Dock(part.Setting{Keys: keys.Standard(), Now: func() time.Time { return time.Unix(0, 0) }}).(*Question)
}

// draw shows the question to the person, and returns what is read.
func draw(q *Question, w, h int) string {
	d := q.View(part.Canvas{Theme: paint.New(true), Width: w, Home: "/home/ada", Now: time.Unix(0, 0)}, h)
	d.Seen()
	return ansi.Strip(strings.Join(d.Lines, "\n"))
}

// press presses keys by name and returns what the last one is wanted to do.
func press(q *Question, names ...string) (intent part.Intent) {
	named := map[string]tea.Key{"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "home": {Code: tea.KeyHome}, "ctrl+v": {Code: 'v', Mod: tea.ModCtrl}}
	for _, name := range names {
		k, ok := named[name]
		if !ok {
			k = tea.Key{Code: []rune(name)[0], Text: name}
		}
		intent, _ = q.Key(k)
		draw(q, 80, 24)
	}
	return intent
}

func plain() approvals.Request {
	return approvals.Request{ID: "q", Title: "make wants to write ~/x", Options: []approvals.Option{
		{Key: "1", Decision: approvals.Once, Label: "this once"}, {Key: "3", Decision: approvals.Always, Label: "always"}, {Key: "n", Label: "no, because …"},
	}, Lasting: &approvals.Lasting{Project: "project = '/w'\n", Check: func(text string) error {
		if strings.Contains(text, "bad") {
			return errors.New("bad value")
		}
		return nil
	}}}
}

// TestKeys: what the keys of an armed question give.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name   string
		keys   []string
		answer approvals.Answer
	}{
		{"yes", []string{"1"}, approvals.Answer{Decision: approvals.Once}},
		{"no such answer", []string{"9"}, approvals.Answer{}},
		{"a reason", []string{"n", "x", "1", "enter"}, approvals.Answer{Decision: approvals.Deny, Reason: "x1"}},
		{"Esc leaves the reason", []string{"n", "x", "esc", "1"}, approvals.Answer{Decision: approvals.Once}},
		{"a note", []string{"tab", "x", "enter", "1"}, approvals.Answer{Decision: approvals.Once, Reason: "x"}},
		{"a rule is shown first", []string{"3"}, approvals.Answer{}},
		{"Esc leaves the rule", []string{"3", "esc", "1"}, approvals.Answer{Decision: approvals.Once}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := ask(plain())
			q.Arm(false)
			draw(q, 80, 24)
			got := press(q, c.keys...)
			var answer approvals.Answer
			select {
			case answer = <-q.Asks[0].Reply:
				if got != (Answered{q, answer.Decision}) {
					t.Errorf("wanted: %#v", got)
				}
			default:
			}
			if answer != c.answer {
				t.Errorf("answered %+v, want %+v", answer, c.answer)
			}
		})
	}
}

// TestNoteIsShown: a note that a yes will carry stands below the answers.
func TestNoteIsShown(t *testing.T) {
	q := ask(plain())
	q.Arm(false)
	draw(q, 80, 24)
	press(q, "tab", "s", "o", "enter")
	if got := draw(q, 80, 24); !strings.Contains(got, "with the note “so”") {
		t.Errorf("no note in:\n%s", got)
	}
}

// TestNoteIntents: what a note cannot do itself it wants done.
func TestNoteIntents(t *testing.T) {
	q := ask(plain())
	q.Arm(true)
	draw(q, 80, 24)
	if got := press(q, "tab", "home"); got != part.Act(keys.Top) {
		t.Errorf("Home in an empty note: %#v", got)
	}
	insert, ok := press(q, "ctrl+v").(part.Insert)
	if !ok || !insert("two\nlines") || q.Field.Value() != "two lines" {
		t.Errorf("the clipboard was not inserted: %q", q.Field.Value())
	}
	if q.Field = nil; insert("x") {
		t.Error("inserted into a note that was closed")
	}
}

// TestRuleIsChecked: a rule is saved once, and only with the text that was checked.
func TestRuleIsChecked(t *testing.T) {
	q := ask(plain())
	same := &Ask{Request: plain(), Reply: make(chan approvals.Answer, 1)}
	if same.Request.Lasting = q.request.Lasting; !q.Join(same) {
		t.Fatal("an identical request is another question")
	}
	q.Arm(true)
	draw(q, 80, 24)
	wait, ok := press(q, "3").(part.Wait)
	if !ok {
		t.Fatal("what the rule would have allowed is not computed")
	}
	wait.Then().(part.Beside)(t.Context())()
	saving := press(q, "enter").(part.Beside)
	press(q, "x") // changed while it is checked
	if got := saving(t.Context())(); got != nil {
		t.Errorf("saved a text that was not checked: %#v", got)
	}
	saving = press(q, "enter").(part.Beside)
	if got := saving(t.Context())(); got != (Answered{q, approvals.Always}) {
		t.Fatalf("not saved: %#v", got)
	}
	if a, b := <-q.Asks[0].Reply, <-same.Reply; !strings.HasSuffix(a.Rule, "x") || b != (approvals.Answer{Decision: approvals.Once}) {
		t.Errorf("answered %+v and %+v", a, b)
	}
}
