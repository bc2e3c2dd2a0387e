package templates

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"codeagent/mcp/inquiry"
	"codeagent/prompts"
	"codeagent/tui/form"
	"codeagent/tui/lists"
	"codeagent/tui/message"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/slash"
)

// booking is a server with two prompts.
type booking struct {
	lists.Servers
	given map[string]string
}

func (*booking) List() []picker.Row                          { return []picker.Row{{Id: "booking"}} }
func (*booking) Resources(context.Context) ([]string, error) { return nil, nil }
func (*booking) Prompts(context.Context) ([]Prompt, error) {
	return []Prompt{{Server: "booking", Name: "bare"}, {Server: "booking", Name: "plan", About: "plan a journey", Fields: []inquiry.Field{{Name: "from", Kind: inquiry.String, Required: true}, {Name: "when", Kind: inquiry.String}}}}, nil
}
func (b *booking) Prompt(_ context.Context, _, name string, given map[string]string) (message.Message, error) {
	b.given = given
	return message.Message{Text: "do " + name}, nil
}

// beside is what the work at the end of an intent comes to.
func beside(t *testing.T, intent part.Intent) part.Intent {
	t.Helper()
	if all, ok := intent.(part.All); ok {
		intent = all[len(all)-1]
	}
	return intent.(part.Beside)(t.Context())()
}

// TestTemplates: prompts are commands; a server's is got with what was written, or asked for.
func TestTemplates(t *testing.T) {
	b := &booking{}
	x := Templates{Servers: b, Known: b, Now: func() time.Time { return time.Unix(99, 0) }, Load: func(context.Context) ([]prompts.Own, error) {
		return []prompts.Own{{Name: "tidy", Text: "Fix $1."}, {Name: "help", Text: "x"}, {Name: "tidy", Text: "y"}}, errors.New("bad.md")
	}}
	if got, ok := beside(t, x.Begin()).(part.Line); !ok || got.Text != "bad.md" {
		t.Errorf("an error: %#v", got)
	}
	if x.Follow("hello") != nil {
		t.Error("prompts are read for a message")
	}
	read := x.Follow("/b")
	if x.Follow("/bo") != nil || beside(t, read) != nil || x.Follow("/boo") != nil {
		t.Error("prompts are read twice")
	}
	all := x.Commands(slash.Commands{{Name: "help"}})
	if names := fmt.Sprint(all[0].Usage(), all[1].Usage(), all[2].Usage()); len(all) != 3 || names != "/tidy […]/booking:bare/booking:plan FROM [when]" {
		t.Errorf("%d commands: %s", len(all), names)
	}
	if all[1].Help != "a prompt of the MCP server booking" || all[2].Help != "“plan a journey” (the server's words)" {
		t.Errorf("%q, %q", all[1].Help, all[2].Help)
	}
	if got := all[0].Run("12").(message.Message); got.Text != "Fix 12." {
		t.Errorf("sent %q", got.Text)
	}
	if x.Called("/other:plan") != nil || x.Called("booking:plan") != nil {
		t.Error("a message is taken for a prompt")
	}
	if got := beside(t, x.Called("/booking:no")); got != part.Fail("no MCP server offers the prompt /booking:no") {
		t.Errorf("an unknown one: %v", got)
	}
	if got, ok := beside(t, x.Called("/booking:plan Rome")).(message.Message); !ok || !got.Foreign || !strings.HasSuffix(got.Text, "The server wrote it.]\ndo plan") || b.given["from"] != "Rome" {
		t.Errorf("sent %#v with %v", got, b.given)
	}
	for action, want := range map[string]bool{inquiry.Accepted: true, inquiry.Cancelled: false} {
		asked := beside(t, x.Called("/booking:plan")).(part.All)
		asked[0].(*form.Ask).Reply <- inquiry.Reply{Action: action, Values: map[string]any{"from": "Oslo"}}
		if _, sent := beside(t, asked).(message.Message); sent != want || want && b.given["from"] != "Oslo" {
			t.Errorf("%v: sent %v with %v", action, sent, b.given)
		}
	}
}
