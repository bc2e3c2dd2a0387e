package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/mention"
)

// TestMentions: @ and a few letters offer files, Enter or Tab names one in the message, and
// the list is read beside what is typed.
func TestMentions(t *testing.T) {
	r := newRig(t, 60, 20)
	reads, list, problem := 0, []string{"README.md", "src/", "src/parser.go", "src/a b.go", "go.mod"}, error(nil)
	r.app.offers.Writing.Files = func(context.Context) ([]string, bool, error) { reads++; return list, false, problem }
	typed := func(s string) {
		for _, c := range s {
			r.settle(r.send(tea.KeyPressMsg{Code: c, Text: string(c)}))
		}
	}
	r.send(tea.KeyPressMsg{Code: '@', Text: "@"})
	r.has("reading the names of the files")
	r.press("backspace")
	r.app.menu.files = mention.Menu{}
	typed("see @pars")
	r.has("› src/parser.go")
	r.lacks("README.md")
	r.press("enter")
	r.has("› see @src/parser.go")
	typed("and @")
	r.has("› README.md", "  go.mod")
	r.press("down", "tab")
	r.has("see @src/parser.go and @src/", "› src/a b.go", "  src/parser.go") // a folder stays open
	r.press("esc")
	r.lacks("› src/parser.go")
	typed("x")
	r.lacks("no file matches")
	r.press("ctrl+u")
	typed("@a b")
	r.press("ctrl+u")
	typed("@ab")
	r.press("tab")
	if got := r.app.composer.Value(); got != `@"src/a b.go" ` {
		t.Errorf("the message is %q", got)
	}
	r.press("ctrl+u")
	typed("@pars#20-4")
	r.has("› src/parser.go")
	r.press("tab")
	if got := r.app.composer.Value(); got != "@src/parser.go#20-4 " {
		t.Errorf("the message is %q", got)
	}
	r.press("ctrl+u")
	typed("@ab#3")
	r.press("tab")
	if got := r.app.composer.Value(); got != `@"src/a b.go"#3 ` {
		t.Errorf("the message is %q", got)
	}
	r.press("ctrl+u")
	typed("@go.mod#2") // Enter sends it: no other file is offered
	r.has("add #20-45 to send only those lines")
	r.lacks("› README")
	r.press("ctrl+u")
	typed("@go.mod")
	r.has("add #20-45 to send only those lines")
	r.press("ctrl+u")
	typed("mail me@pars @zzz")
	r.has("no file matches")
	r.press("enter")
	if len(r.turns) != 1 || reads != 1 {
		t.Errorf("sent %q, read %d times", r.turns, reads)
	}
	r.clock = r.clock.Add(10 * time.Second)
	problem = errors.New("no sandbox")
	r.send(turnDoneMsg{})
	typed("@R")
	r.has("files cannot be listed: no sandbox")
	if reads != 2 {
		t.Errorf("read %d times", reads)
	}
}

// TestMentionAfterPaste: the name replaces the word that is under the cursor, also where a
// paste changed it.
func TestMentionAfterPaste(t *testing.T) {
	r := newRig(t, 60, 20)
	r.app.offers.Writing.Files = func(context.Context) ([]string, bool, error) { return []string{"README.md"}, true, nil }
	r.settle(r.send(tea.KeyPressMsg{Code: '@', Text: "@"}))
	r.settle(r.send(tea.PasteMsg{Content: "read\nme"}))
	r.press("enter")
	if len(r.turns) != 1 || r.turns[0] != "@read\nme" {
		t.Errorf("sent %q", r.turns)
	}
}

// BenchmarkMentionKey is one letter typed after @ among 100,000 files, drawing included.
func BenchmarkMentionKey(b *testing.B) {
	list := make([]string, 100_000)
	for i := range list {
		list[i] = fmt.Sprintf("internal/package%d/component/handler_%d.go", i%977, i)
	}
	m := newApp(newMailbox(), time.Now)
	m.offers.Still = true
	m.offers.Writing.Files = func(context.Context) ([]string, bool, error) { return list, false, nil }
	m.aside = func(work func(context.Context) then) tea.Cmd {
		return func() tea.Msg { return work(context.Background()) }
	}
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	_, cmd := m.Update(tea.KeyPressMsg{Code: '@', Text: "@"})
	settle(cmd, func(msg tea.Msg) tea.Cmd {
		if _, ok := msg.(then); ok {
			m.Update(msg)
		}
		return nil
	})
	if strings.Contains(m.View().Content, "reading the names") {
		b.Fatal("the files were not read")
	}
	text := "handlercompo"
	for i := 0; b.Loop(); i++ {
		if i%len(text) == 0 {
			m.composer.Set("@")
		}
		c := rune(text[i%len(text)])
		m.Update(tea.KeyPressMsg{Code: c, Text: string(c)})
		m.View()
	}
}
