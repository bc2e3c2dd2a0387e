package tui

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/approvals"
	"codeagent/tui/part"
	"codeagent/tui/question"
)

// typist types on a screen whose clock and timers the test moves.
type typist struct {
	*rig
	timers []waiting
	typed  strings.Builder
	asked  []*question.Ask
}

// waiting is a timer that has not ended.
type waiting struct {
	at  time.Time
	msg func(time.Time) tea.Msg
}

func newTypist(t *testing.T) *typist {
	y := &typist{rig: newRig(t, 100, 40)}
	y.app.burst.gap, y.app.answer.hold = burstGap, answerHold
	y.app.after = func(d time.Duration, msg func(time.Time) tea.Msg) tea.Cmd {
		y.timers = append(y.timers, waiting{y.clock.Add(d), msg})
		return nil
	}
	return y
}

// pass lets time pass, and timers end in their order.
func (y *typist) pass(d time.Duration) {
	end := y.clock.Add(d)
	for {
		slices.SortStableFunc(y.timers, func(a, b waiting) int { return a.at.Compare(b.at) })
		if len(y.timers) == 0 || y.timers[0].at.After(end) {
			break
		}
		next := y.timers[0]
		y.timers = y.timers[1:]
		y.clock = next.at
		y.send(next.msg(next.at))
	}
	y.clock = end
}

func (y *typist) press(key string) {
	if key == "enter" {
		y.typed.WriteByte('\n')
	} else {
		y.typed.WriteString(key)
	}
	y.rig.press(key)
}

// open asks a question whose answers are letters and digits that texts have.
func (y *typist) open() {
	y.asked = append(y.asked, y.put(approvals.Request{
		ID: "q", Title: "npm wants more",
		Options: []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "once"}, {Key: "2", Decision: approvals.Session, Label: "session"}, {Key: "n", Decision: approvals.Deny, Label: "no"}, {Key: "s", Decision: approvals.Stop, Label: "stop"}},
	}))
}

func (y *typist) close(i int) {
	y.app.box.post(part.Withdrawn{Ask: y.asked[i]})
	y.send(inboxMsg{})
}

// TestTypingLosesAndAnswersNothing: somebody types messages at 200 characters a second and
// pauses for half a second, one and three, in front of a message too, where a pause arms a
// question. Questions open and close meanwhile. Every character arrives, and none answers.
func TestTypingLosesAndAnswersNothing(t *testing.T) {
	const messages = 60
	words := strings.Fields("no 1st 2nd now stop some nothing send 12 21 s1 n2 see next yes n1s")
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		y := newTypist(t)
		pauses := []time.Duration{500 * time.Millisecond, time.Second, 3 * time.Second}
		something := func() {
			switch r.IntN(25) {
			case 0, 1:
				y.open()
			case 2:
				if len(y.asked) > 0 {
					y.close(r.IntN(len(y.asked)))
				}
			}
		}
		for range messages {
			if r.IntN(3) > 0 {
				something()
				y.pass(pauses[r.IntN(3)])
				something()
			}
			var text []string
			for range 1 + r.IntN(4) {
				text = append(text, words[r.IntN(len(words))])
			}
			for i, c := range strings.Join(text, " ") {
				something()
				if i > 1 && r.IntN(20) == 0 {
					y.pass(pauses[r.IntN(3)])
				}
				y.press(string(c))
				y.pass(5 * time.Millisecond)
			}
			y.press("enter")
			if r.IntN(4) > 0 {
				y.pass(40 * time.Millisecond)
				if y.app.work.running {
					y.send(turnDoneMsg{})
				}
			} else {
				y.pass(5 * time.Millisecond)
			}
		}
		y.pass(time.Second)
		got := strings.Join(y.turns, "\n") + "\n" + y.app.composer.Value()
		for _, said := range y.app.box.waiting() {
			got += said.Text
		}
		if squeeze(got) != squeeze(y.typed.String()) {
			t.Errorf("seed %d: typed\n%s\nand got\n%s", seed, y.typed.String(), got)
		}
		for _, a := range y.asked {
			if ans, ok := y.answered(a); ok {
				t.Errorf("seed %d: a question was answered with %v", seed, ans.Decision)
			}
		}
		if len(y.asked) < 20 || len(y.turns) < 20 {
			t.Errorf("seed %d: only %d questions and %d messages", seed, len(y.asked), len(y.turns))
		}
	}
}

// squeeze leaves what was typed without line breaks at the ends of messages.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestAnswersWaitForWhatFollows: an answer to a question that a pause armed counts when nothing
// follows it, and not when it began a word.
func TestAnswersWaitForWhatFollows(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(y *typist)
		answer string
		text   string
	}{
		{"alone in the full view", func(y *typist) { y.rig.press("ctrl+o"); y.press("1"); y.pass(answerHold) }, "once", ""},
		{"too soon in the full view", func(y *typist) { y.rig.press("ctrl+o"); y.press("1"); y.pass(answerHold / 2) }, "", ""},
		{"a word in the full view", func(y *typist) {
			y.rig.press("ctrl+o")
			y.press("1")
			y.pass(answerHold / 2)
			y.press("s")
			y.press("t")
			y.pass(answerHold)
		}, "", "1st"},
		{"a paste in the full view", func(y *typist) {
			y.rig.press("ctrl+o")
			y.press("1")
			y.send(tea.PasteMsg{Content: "0 times"})
			y.pass(answerHold)
		}, "", "10 times"},
		{"Ctrl+Y in the full view", func(y *typist) { y.rig.press("ctrl+o"); y.rig.press("ctrl+y"); y.press("1") }, "once", ""},
		{"alone", func(y *typist) { y.press("1"); y.pass(answerHold) }, "once", ""},
		{"too soon", func(y *typist) { y.press("1"); y.pass(answerHold / 2) }, "", ""},
		{"a word", func(y *typist) { y.press("1"); y.pass(answerHold / 2); y.press("s"); y.press("t"); y.pass(answerHold) }, "", "1st"},
		{"Esc takes it back", func(y *typist) { y.press("1"); y.rig.press("esc"); y.pass(answerHold) }, "", ""},
		{"Backspace takes it back", func(y *typist) { y.press("1"); y.rig.press("backspace"); y.pass(answerHold) }, "", ""},
		{"Ctrl+C takes it back", func(y *typist) { y.press("1"); y.rig.press("ctrl+c"); y.pass(answerHold) }, "", ""},
		{"a paste that comes as keys", func(y *typist) { y.press("1"); y.press("enter"); y.press("x"); y.pass(answerHold) }, "", "1\nx"},
		{"a key of another kind", func(y *typist) { y.press("1"); y.pass(2 * burstGap); y.rig.press("pgup") }, "once", ""},
		{"Ctrl+Y answers at once", func(y *typist) { y.rig.press("ctrl+y"); y.press("1") }, "once", ""},
		{"a paste follows", func(y *typist) { y.press("1"); y.send(tea.PasteMsg{Content: "0 times"}); y.pass(answerHold) }, "", "10 times"},
		{"the question is gone", func(y *typist) { y.press("n"); y.close(0); y.pass(answerHold) }, "", "n"},
		{"another question took its place", func(y *typist) {
			y.press("n")
			y.close(0)
			y.open()
			y.pass(answerHold)
		}, "", "n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := newTypist(t)
			y.open()
			y.pass(time.Second)
			if !y.app.docks.Front().Armed() {
				t.Fatal("a pause does not arm the question")
			}
			c.do(y)
			got := ""
			for _, a := range y.asked {
				if ans, ok := y.answered(a); ok {
					got = string(ans.Decision)
					if got == "" {
						got = "deny"
					}
				}
			}
			if got != c.answer || y.app.composer.Value() != c.text {
				t.Errorf("the answer is %q and the text %q, want %q and %q", got, y.app.composer.Value(), c.answer, c.text)
			}
		})
	}
}

// TestAnAnswerThatFollowsAnother: an answer key that comes before the next question can be read is neither an
// answer nor text that bars every answer after it: it is held, the question says so, and it answers when it is
// repeated. With other text it is text.
func TestAnAnswerThatFollowsAnother(t *testing.T) {
	early := func(y *typist) { y.pass(100 * time.Millisecond); y.press("1") }
	for _, c := range []struct {
		name         string
		do           func(y *typist)
		answer, text string
		says         bool
	}{
		{"alone", early, "", "", true},
		{"alone, and a pause", func(y *typist) { early(y); y.pass(2 * time.Second) }, "", "", true},
		{"repeated after a pause", func(y *typist) { early(y); y.pass(time.Second); y.press("1"); y.pass(answerHold) }, "once", "", false},
		{"repeated too early", func(y *typist) { early(y); early(y); y.pass(time.Second); y.press("1"); y.pass(answerHold) }, "once", "", false},
		{"another answer after a pause", func(y *typist) { early(y); y.pass(time.Second); y.press("2"); y.pass(answerHold) }, "session", "", false},
		{"Ctrl+Y", func(y *typist) { early(y); y.pass(2 * burstGap); y.rig.press("ctrl+y"); y.press("1") }, "once", "", false},
		{"a word", func(y *typist) { early(y); y.press("s"); y.press("t"); y.pass(time.Second) }, "", "1st", false},
		{"a word after a pause", func(y *typist) { early(y); y.pass(time.Second); y.press("x"); y.pass(time.Second) }, "", "1x", false},
		{"Backspace", func(y *typist) { early(y); y.rig.press("backspace"); y.pass(time.Second) }, "", "", false},
		{"a paste", func(y *typist) { early(y); y.send(tea.PasteMsg{Content: "0 times"}) }, "", "10 times", false},
		{"as keys, quickly", func(y *typist) { early(y); y.press("enter"); y.press("x"); y.pass(time.Second) }, "", "1\nx", false},
		{"text is there", func(y *typist) { y.press("x"); early(y); y.pass(time.Second) }, "", "x1", false},
		{"no answer of it", func(y *typist) { y.pass(100 * time.Millisecond); y.press("3"); y.pass(time.Second) }, "", "3", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := newTypist(t)
			y.open()
			y.pass(time.Second)
			y.press("1")
			y.pass(answerHold)
			if _, ok := y.answered(y.asked[0]); !ok {
				t.Fatal("the first question has no answer")
			}
			y.open()
			c.do(y)
			ans, _ := y.answered(y.asked[1])
			if string(ans.Decision) != c.answer || y.app.composer.Value() != c.text {
				t.Errorf("the answer is %q and the text %q, want %q and %q", ans.Decision, y.app.composer.Value(), c.answer, c.text)
			}
			if got := strings.Contains(y.screen(), "1 came too early"); got != c.says {
				t.Errorf("it says so: %v\n%s", got, y.screen())
			}
		})
	}
}
