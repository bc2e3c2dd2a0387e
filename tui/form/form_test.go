package form

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"codeagent/mcp/inquiry"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

func ask(q inquiry.Question) *Form {
	a := &Ask{Question: q, Reply: make(chan inquiry.Reply, 1)}
	return a.Dock(part.Setting{Keys: keys.Standard(), Now: time.Now, Call: func(string) string { return "" }}).(*Form)
}

// draw shows the form to the person, and returns what is read.
func draw(f *Form, w, h int) string {
	d := f.View(part.Canvas{Theme: paint.New(true), Width: w}, h)
	d.Seen()
	return ansi.Strip(strings.Join(d.Lines, "\n"))
}

// press presses keys, drawing after each, and returns what the last one is wanted to do.
func press(f *Form, all ...tea.Key) (intent part.Intent) {
	for _, k := range all {
		intent, _ = f.Key(k)
		draw(f, 80, 24)
	}
	return intent
}

func typed(s string) (all []tea.Key) {
	for _, r := range s {
		all = append(all, tea.Key{Code: r, Text: string(r)})
	}
	return all
}

// TestKeys: what the keys of an armed form give.
func TestKeys(t *testing.T) {
	page := inquiry.Question{Server: "s", Message: "Sign in", URL: "https://login.example/a"}
	name := inquiry.Question{Server: "s", Message: "Who?", Fields: []inquiry.Field{{Name: "name", Kind: inquiry.String, Required: true}, {Name: "seat", Kind: inquiry.Choice, Choices: []string{"window", "aisle"}}}}
	enter, down, esc := tea.Key{Code: tea.KeyEnter}, tea.Key{Code: tea.KeyDown}, tea.Key{Code: tea.KeyEscape}
	for _, c := range []struct {
		name  string
		asked inquiry.Question
		keys  []tea.Key
		want  part.Intent
		reply inquiry.Reply
	}{
		{"decline", page, typed("n"), part.Done{Said: "question of the MCP server s: declined"}, inquiry.Reply{Action: inquiry.Declined}},
		{"cancel", page, typed("c"), part.Done{Said: "question of the MCP server s: cancelled"}, inquiry.Reply{Action: inquiry.Cancelled}},
		{"agree", page, typed("1"), part.Done{Said: "question of the MCP server s: answered"}, inquiry.Reply{Action: inquiry.Accepted, Values: map[string]any{}}},
		{"the address is copied", page, typed("u"), part.Copy(page.URL), inquiry.Reply{}},
		{"a form has no address", name, typed("u"), nil, inquiry.Reply{}},
		{"1 begins to fill in", name, typed("1n"), nil, inquiry.Reply{}},
		{"Esc leaves the fields", name, slices.Concat(typed("1"), []tea.Key{esc}, typed("n")), part.Done{Said: "question of the MCP server s: declined"}, inquiry.Reply{Action: inquiry.Declined}},
		{"a required field", name, slices.Concat(typed("1"), []tea.Key{enter, enter}), nil, inquiry.Reply{}},
		{"filled in", name, slices.Concat(typed("1Ada"), []tea.Key{enter, down}, typed(" "), []tea.Key{enter}), part.Done{Said: "question of the MCP server s: answered"},
			inquiry.Reply{Action: inquiry.Accepted, Values: map[string]any{"name": "Ada", "seat": "aisle"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := ask(c.asked)
			f.Arm(false)
			draw(f, 80, 24)
			got := press(f, c.keys...)
			if done, ok := got.(part.Done); ok {
				done.Dock = nil
				got = done
			}
			if got != c.want {
				t.Errorf("wanted: %#v, want %#v", got, c.want)
			}
			var reply inquiry.Reply
			select {
			case reply = <-f.ask.Reply:
			default:
			}
			if diff := cmp.Diff(c.reply, reply); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReadFirst: a long message is not agreed to before its end was seen.
func TestReadFirst(t *testing.T) {
	f := ask(inquiry.Question{Server: "s", Message: strings.Repeat("words of the server ", 40)})
	f.Arm(true)
	draw(f, 40, 9)
	if f.Choose("1") != nil || !strings.Contains(draw(f, 40, 9), "read this first") {
		t.Error("agreed to before all of it was seen")
	}
	for range 9 {
		draw(f, 40, 9)
		if f.Choose("1") != nil {
			return
		}
	}
	t.Error("not agreed to after all of it was seen")
}
