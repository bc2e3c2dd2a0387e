package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/mcp/inquiry"
	"codeagent/tui/message"
	"codeagent/tui/picker"
	"codeagent/tui/templates"
)

// fakeServers are two servers, and what they offer.
type fakeServers struct {
	mu        sync.Mutex
	restarted []string            // guarded by mu
	given     []map[string]string // guarded by mu
}

func (f *fakeServers) List() []picker.Row {
	return []picker.Row{
		{Id: "booking", Text: "booking", About: "running · 3 tools · MCP 2025-11-25", More: "npx -y @example/booking"},
		{Id: "notes", Text: "notes", About: "failed", More: "the server has ended (exit status 1)", Over: true},
	}
}

func (f *fakeServers) Page(name string) string {
	return "state     running · 3 tools\nprogram   npx -y @example/" + name + "\n\nTools, in the server's words\n  booking__book: books \x1b[2Ja seat\n"
}

func (f *fakeServers) Restart(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restarted = append(f.restarted, name)
	if name == "notes" {
		return errors.New("notes: exit status 1")
	}
	return nil
}

func (f *fakeServers) Resources(context.Context) ([]string, error) {
	return []string{"booking:ticket://42", "booking:file:///conditions of carriage.txt"}, errors.New("notes lists nothing")
}

func (f *fakeServers) Prompts(context.Context) ([]templates.Prompt, error) {
	return []templates.Prompt{
		{Server: "booking", Name: "plan", About: "plan a journey", Fields: []inquiry.Field{{Name: "from", Kind: inquiry.String, Required: true}, {Name: "to", Kind: inquiry.String, Required: true, Description: "where to"}, {Name: "when", Kind: inquiry.String}}},
		{Server: "booking", Name: "help", About: "\x1b[2J what can be done"},
	}, nil
}

func (f *fakeServers) Prompt(_ context.Context, server, name string, arguments map[string]string) (message.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given = append(f.given, arguments)
	return message.Message{Text: fmt.Sprintf("%s of %s with @booking:ticket://42", name, server)}, nil
}

// withServers gives the screen the fake servers.
func withServers(f *fakeServers) func(*stage) {
	return func(s *stage) {
		s.opt.Extras.Servers, s.opt.Extras.ServerOffers = f, f
		s.opt.Writing.Files = func(context.Context) ([]string, bool, error) {
			return []string{"README.md", "src/ticket.go"}, false, nil
		}
	}
}

// servers are what the screen shows of MCP servers beside their calls and questions.
func servers() []situation {
	f := &fakeServers{}
	return []situation{
		{name: "mcp", given: withServers(f), steps: []do{types("/mcp"), presses("enter"), sees("running · 3 tools")}},
		{name: "mcp-page", given: withServers(f), steps: []do{types("/mcp"), presses("enter"), sees("running · 3 tools"), presses("enter"), sees("in the server")}},
		{name: "mcp-restart", given: withServers(f), steps: []do{types("/mcp"), presses("enter"), sees("running · 3 tools"), presses("down", "ctrl+r"), sees("did not start")}},
		{name: "mcp-prompts", given: withServers(f), steps: []do{types("/boo"), sees("plan a journey")}},
		{name: "mcp-prompt-asks", given: withServers(f), steps: []do{types("/booking:plan Rome"), presses("enter"), sees("booking asks")}},
		{name: "mcp-resources", given: withServers(f), steps: []do{types("see @tick"), sees("ticket://42")}},
	}
}

// TestServerPrompts: arguments are taken in their order, the last with all that is left, and the
// message says whose words it has.
func TestServerPrompts(t *testing.T) {
	for _, c := range []struct {
		typed string
		want  map[string]string
	}{
		{"/booking:plan Rome Paris", map[string]string{"from": "Rome", "to": "Paris"}},
		{`/booking:plan "New York" Paris next week`, map[string]string{"from": "New York", "to": "Paris", "when": "next week"}},
		{"/booking:help", map[string]string{}},
	} {
		r, _ := offers(t, 80, 24)
		f := &fakeServers{}
		r.app.templates.Known, r.app.templates.Servers = f, f
		r.slash(c.typed)
		if len(f.given) != 1 || fmt.Sprint(f.given[0]) != fmt.Sprint(c.want) {
			t.Errorf("%s: given %v, want %v", c.typed, f.given, c.want)
		}
		if len(r.sent) != 1 || !r.sent[0].Foreign || !strings.HasPrefix(r.sent[0].Text, "[/booking:") || !strings.Contains(r.sent[0].Text, "The server wrote it.]\n") {
			t.Errorf("%s: sent %+v", c.typed, r.sent)
		}
	}
	r, _ := offers(t, 80, 24)
	f := &fakeServers{}
	r.app.templates.Known, r.app.templates.Servers = f, f
	r.slash("/booking:nothing")
	r.has("no MCP server offers the prompt /booking:nothing")
	r.slash("/other:x")
	r.has("no command /other:x")
	if len(r.sent) > 0 {
		t.Errorf("sent %v", r.sent)
	}
}

// TestServerPromptAsks: what is missing is asked for, and a person who declines sends nothing.
func TestServerPromptAsks(t *testing.T) {
	for _, answer := range []string{"enter", "n"} {
		r, _ := offers(t, 80, 24)
		f := &fakeServers{}
		r.app.templates.Known, r.app.templates.Servers = f, f
		r.typeText("/booking:plan Rome")
		var waits tea.Cmd
		settleOne(r.press("enter"), func(next then) {
			if next != nil {
				waits = tea.Batch(waits, next(r.app))
			}
		})
		r.send(inboxMsg{})
		r.has("booking asks", "Rome")
		if answer == "enter" {
			r.press("enter")
			r.typeText("Paris")
			r.press("enter", "enter")
		} else {
			r.press("esc", "n")
		}
		r.do(waits)
		if want := map[string]int{"enter": 1, "n": 0}[answer]; len(r.sent) != want {
			t.Errorf("%s: sent %v", answer, r.sent)
		}
		if answer == "enter" && fmt.Sprint(f.given) != "[map[from:Rome to:Paris]]" {
			t.Errorf("given %v", f.given)
		}
	}
}

// TestMentionedResources: resources of servers are found like files.
func TestMentionedResources(t *testing.T) {
	r, _ := offers(t, 80, 24)
	f := &fakeServers{}
	r.app.templates.Servers = f
	r.app.offers.Writing.Files = func(context.Context) ([]string, bool, error) { return []string{"src/ticket.go"}, false, nil }
	for _, c := range "@carr" {
		r.do(r.press(string(c)))
	}
	r.has("booking:file:///conditions of carriage.txt")
	r.press("enter")
	if got := r.app.composer.Value(); got != `@"booking:file:///conditions of carriage.txt" ` {
		t.Errorf("the message is %q", got)
	}
	for _, c := range "@tick" {
		r.do(r.press(string(c)))
	}
	r.has("› src/ticket.go")
}

// settleOne runs a command and hands on what is to be done on the screen, without its messages.
func settleOne(cmd tea.Cmd, take func(then)) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			settleOne(c, take)
		}
	case then:
		take(msg)
	}
}
