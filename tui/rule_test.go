package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/tui/question"
	"codeagent/tui/tuitest"
)

const (
	projectRule    = "[[path]]\npaths = ['/home/ada/.npm']\naccess = 'write'\nproject = '/home/ada/src/app'\n\n[[host]]\nhosts = ['registry.npmjs.org:443']\nproject = '/home/ada/src/app'\n"
	everywhereRule = "[[path]]\npaths = ['/home/ada/.npm']\naccess = 'write'\n\n[[host]]\nhosts = ['registry.npmjs.org:443']\n"
)

// always is a question with the answer "always" as its third. A text that contains "bad" cannot
// be saved.
func always(r *rig) approvals.Request {
	q := npmRequest("q")
	q.Options = append(q.Options[:2:2], approvals.Option{Key: "3", Decision: approvals.Always, Label: "always in this project"}, q.Options[3], q.Options[4])
	q.Lasting = &approvals.Lasting{Project: projectRule, Check: func(text string) error {
		if strings.Contains(text, "bad") {
			return errors.New("rule:2:10: bad value")
		}
		return nil
	}}
	return q
}

// pass runs the command of a key, and what it waits for, to its end.
func (r *rig) pass(cmd tea.Cmd) {
	for range 10 {
		if cmd == nil {
			return
		}
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, c := range batch {
				r.pass(c)
			}
			return
		}
		if msg == nil {
			return
		}
		cmd = r.send(msg)
	}
}

func (r *rig) waits() {
	r.app.after = func(_ time.Duration, f func(time.Time) tea.Msg) tea.Cmd {
		return func() tea.Msg { return f(r.clock) }
	}
}

// TestAlwaysShowsTheRule: a sentence says what would be saved, and its text is shown whole on demand; the scope
// is a line of it, and what Enter saves is what was shown.
func TestAlwaysShowsTheRule(t *testing.T) {
	for _, size := range [][2]int{{80, 26}, {40, 24}} {
		r := newRig(t, size[0], size[1])
		a := r.put(always(r))
		r.press("ctrl+y")
		if r.press("3"); r.app.docks.Front().(*question.Question).Rule == nil { // not all was visible
			r.press("ctrl+o", "pgdown", "pgdown", "pgdown", "3")
		}
		r.wantNone(a)
		r.has("From now on commands and edits", "may read and write ~/.npm, and", "registry.npmjs.org:443, in the", "~/src/app, until you", "Ctrl+O TOML", "Enter saves")
		r.lacks("paths =")
		r.press("ctrl+o")
		r.has("may read and write ~/.npm, and", "~/src/app, until you")
		r.press("ctrl+o")
		r.lacks("paths =")
		r.press("ctrl+o")
		r.has("paths = ['/home/ada/.npm']", "access = 'write'", "hosts = ['registry.npmjs.org:443']", "project = '/home/ada/src/app'", "Enter saves")
		if size[0] == 80 {
			r.waits()
			r.has("~/src/app, until you remove the rule", "Esc back   Ctrl+O sentence   Tab scope")
			golden.Check(t, "rule-80.txt", r.screen())
		}
		r.press("tab")
		r.has("every project,")
		r.lacks("project =")
		r.press("tab")
		r.has("project = '/home/ada/src/app'")
		r.press("tab")
		r.pass(r.press("enter"))
		ans, ok := r.answered(a)
		if !ok || ans.Decision != approvals.Always || ans.Rule != strings.TrimSpace(everywhereRule) {
			t.Errorf("answered %v: %+v", ok, ans)
		}
	}
}

// The transcript says that the answer was always.
func TestAlwaysInTheTranscript(t *testing.T) {
	r := newRig(t, 80, 26)
	q := always(r)
	r.emit(event.PermissionRequested{ID: q.ID, Title: q.Title, Wanted: q.Grant})
	r.put(q)
	r.press("ctrl+y", "3")
	r.pass(r.press("enter"))
	r.emit(event.PermissionAnswered{ID: q.ID, Answer: "always"})
	r.has("allowed, always: write ~/.npm")
}

// TestAnUnsavedRuleInTheTranscript: what the answer became is shown, and why.
func TestAnUnsavedRuleInTheTranscript(t *testing.T) {
	for answer, said := range map[word.Answer]string{"session": "allowed for this session: write ~/.npm", "once": "allowed once: write ~/.npm"} {
		r := newRig(t, 200, 26)
		q := always(r)
		r.emit(event.PermissionRequested{ID: q.ID, Title: q.Title, Wanted: q.Grant})
		r.put(q)
		r.press("ctrl+y", "3")
		r.pass(r.press("enter"))
		r.emit(event.PermissionAnswered{ID: q.ID, Answer: answer, Unsaved: "no space left\x1b[2J"})
		r.has(said, "the rule could not be saved: no space left␛[2J")
		r.lacks("always:")
	}
}

// TestTheWholeRuleIsSeenFirst: on a low screen a rule is saved only after each row of its sentence, and of its text
// where that is shown, was visible; Enter goes to the ones that were not.
func TestTheWholeRuleIsSeenFirst(t *testing.T) {
	many := ""
	for i := range 30 {
		many += fmt.Sprintf("'/srv/a-folder-with-a-long-name-%d',\n", i)
	}
	for _, text := range []bool{false, true} {
		r := newRig(t, 100, 40)
		q := always(r)
		q.Lasting.Project = "# FIRST\n[[path]]\naccess = 'write'\npaths = [" + many + "'/srv/LAST']\n" + projectRule
		a := r.put(q) // all that a yes allows is visible
		r.send(tea.WindowSizeMsg{Width: 40, Height: 15})
		r.press("ctrl+y", "3")
		r.lacks("FIRST")
		r.lacks("/srv/LAST, ")
		seen := r.screen()
		if text {
			r.press("ctrl+o")
			r.lacks("FIRST")
			seen += r.screen()
		}
		saved := false
		for range 120 {
			r.pass(r.press("enter"))
			if ans, ok := r.answered(a); ok {
				if !strings.Contains(seen, "/srv/LAST, ") || !strings.Contains(seen, "until you remove the") || text != strings.Contains(seen, "FIRST") || text != strings.Contains(seen, "[[path]]") {
					t.Errorf("saved before all was visible: %+v\n%s", ans, seen)
				}
				saved = true
				break
			}
			r.has("read the whole rule")
			seen += r.screen()
		}
		if !saved {
			t.Errorf("not saved after all was visible:\n%s", r.screen())
		}
	}
}

// TestARuleIsDrawnBeforeItIsSaved: what came in one burst with Enter was not visible.
func TestARuleIsDrawnBeforeItIsSaved(t *testing.T) {
	r := newRig(t, 80, 26)
	a := r.put(always(r))
	r.press("ctrl+y", "3")
	r.app.paste("# not drawn")
	r.app.Update(tea.KeyPressMsg(keyOf("enter")))
	r.wantNone(a)
	r.has("read the whole rule", "# not drawn", "From now on")
	r.pass(r.press("enter"))
	if ans, ok := r.answered(a); !ok || !strings.Contains(ans.Rule, "# not drawn") {
		t.Errorf("answered %v: %+v", ok, ans)
	}
}

// TestARuleThatCannotBeSaved shows why, and nothing of it is lost.
func TestARuleThatCannotBeSaved(t *testing.T) {
	r := newRig(t, 80, 26)
	a := r.put(always(r))
	r.press("ctrl+y", "3")
	r.typeText(" # bad 漢")
	r.pass(r.press("enter"))
	r.wantNone(a)
	r.has("▲ rule:2:10: bad value", "# bad 漢")
	r.press("left", "left", "backspace", "backspace", "backspace")
	r.lacks("bad value")
	r.send(tea.PasteMsg{Content: "fine"})
	r.pass(r.press("enter"))
	if ans, ok := r.answered(a); !ok || !strings.HasSuffix(ans.Rule, "# fine 漢") {
		t.Errorf("answered %v: %+v", ok, ans)
	}
}

// Esc goes back to the question, which then takes its other answers; what was edited meanwhile
// is not saved. A check that ends late answers nothing.
func TestBackFromARule(t *testing.T) {
	r := newRig(t, 80, 26)
	a := r.put(always(r))
	r.press("ctrl+y", "3")
	saving := r.press("enter")
	r.press("esc")
	r.lacks("Enter saves")
	r.pass(saving)
	r.wantNone(a)
	r.press("3", "ctrl+o")
	r.has("project = '/home/ada/src/app'")
	saving = r.press("enter")
	r.typeText("x") // changed while it is checked
	r.pass(saving)
	r.wantNone(a)
	r.press("esc", "1")
	r.wantAnswer(a, approvals.Once, "")
}

// Whatever a rule's text, its error hold, the screen stays its rows and columns.
func TestHostileRules(t *testing.T) {
	for _, s := range tuitest.Nasty() {
		for _, size := range [][2]int{{100, 40}, {40, 15}, {12, 6}} {
			r := newRig(t, 100, 60)
			q := always(r)
			q.Lasting.Project = "project = '" + s + "'\n" + s
			q.Lasting.Check = func(string) error { return errors.New(s) }
			a := r.put(q)
			r.press("ctrl+y", "3")
			r.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			checkScreen(t, r)
			for range 40 {
				r.pass(r.press("enter"))
			}
			r.press("tab", "shift+tab", "up", "backspace")
			r.typeText("x")
			checkScreen(t, r)
			r.wantNone(a)
		}
	}
}
