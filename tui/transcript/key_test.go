package transcript

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// TestKey: a key acts on the chosen block alone, and what is typed ends the choice.
func TestKey(t *testing.T) {
	now := func() time.Time { return time.Unix(0, 0) }
	table, c := keys.Standard(), Canvas{Theme: paint.New(true), Width: 40}
	copies, letter := tea.Key{Code: 'c', Text: "c"}, tea.Key{Code: 'q', Text: "q"}
	tr := New(now)
	tr.Show("hello")
	tr.View(c, 10)
	if _, handled := tr.Key(copies, table, c); handled {
		t.Error("a key is taken while nothing is chosen")
	}
	tr.Act(keys.Above, c)
	if intent, handled := tr.Key(copies, table, c); !handled || intent != part.Copy("hello") {
		t.Errorf("copies %#v, handled %v", intent, handled)
	}
	if _, handled := tr.Key(tea.Key{Code: tea.KeyEnter}, table, c); !handled || !tr.Chosen() {
		t.Error("Enter does not open the block")
	}
	if _, handled := tr.Key(letter, table, c); handled || tr.Chosen() {
		t.Error("what is typed does not end the choice")
	}
}

// TestAct: each action moves the view, and what shows the end follows it.
func TestAct(t *testing.T) {
	c := Canvas{Theme: paint.New(true), Width: 40}
	tr := New(func() time.Time { return time.Unix(0, 0) })
	for i := range 30 {
		tr.Show(fmt.Sprintf("message %d", i))
	}
	message := regexp.MustCompile(`message (\d+)`)
	first := func() string { return message.FindStringSubmatch(ansi.Strip(strings.Join(tr.View(c, 12), " ")))[1] }
	first()
	for i, step := range []struct {
		do   keys.Action
		want string
	}{
		{keys.Toggle, "24"}, {keys.LineUp, "23"}, {keys.PageUp, "18"}, {keys.PageDown, "23"}, {keys.LineDown, "24"}, {keys.Top, "0"},
		{keys.LineUp, "0"}, {keys.Below, "0"}, {keys.End, "24"}, {keys.LineDown, "24"}, {keys.Find, "24"},
	} {
		tr.Act(step.do, c)
		if got := first(); got != step.want {
			t.Errorf("step %d, %s: the first message in view is %s, want %s", i, step.do, got, step.want)
		}
		if tr.Follow != (step.want == "24") {
			t.Errorf("step %d, %s: follows %v", i, step.do, tr.Follow)
		}
	}
}
