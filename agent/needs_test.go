package agent

import (
	"fmt"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
)

// TestNeeds: the refusals and approvals of a call can be read back from its item.
func TestNeeds(t *testing.T) {
	grant := sandbox.Grant{Write: []string{"/a b"}, Read: []string{"/c"}, Hosts: []sandbox.HostPort{{Host: "h.example", Port: 443}}}
	less := sandbox.Grant{Write: []string{"/a b"}}
	for _, c := range []struct {
		name string
		kind word.Kind
		held bool
		mode approvals.Mode
		ans  approvals.Answer
		want string
	}{
		{"once", word.KindCommand, false, approvals.OnRequest, approvals.Answer{Decision: approvals.Once}, "[write /a b read /c network h.example:443]"},
		{"less", word.KindCommand, false, approvals.OnRequest, approvals.Answer{Decision: approvals.Session, Grant: &less}, "[write /a b]"},
		{"outside", word.KindCommand, false, approvals.OnRequest, approvals.Answer{Decision: approvals.Outside}, "[]"},
		{"untrusted", word.KindCommand, false, approvals.Untrusted, approvals.Answer{Decision: approvals.Once, Grant: &less}, "[write /a b  ]"},
		{"untrusted, held", word.KindCommand, true, approvals.Untrusted, approvals.Answer{Decision: approvals.Once, Grant: &less}, "[write /a b]"},
		{"a page", word.KindFetch, false, approvals.OnRequest, approvals.Answer{Decision: approvals.Once}, "[write /a b read /c fetch h.example:443]"},
	} {
		q := &approvals.Request{Action: approvals.Action{Kind: c.kind}, Grant: grant, Held: c.held}
		var y yeses
		y.note(allowed(q, c.ans, c.mode))
		y.note(allowed(q, c.ans, c.mode)) // a repetition is recorded once
		denied := event.ToolFinished{Verdict: sandbox.Verdict{Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Target: "/d"}, {Kind: sandbox.KindRead, Target: "/e", Moot: true}}}}
		yes, _ := y.list()
		refused, got := Needs(model.Item{Carried: digest{Yes: yes}.keep([]event.Event{denied})})
		words := func(list []sandbox.Denial) string {
			out := []string{}
			for _, d := range list {
				out = append(out, string(d.Kind)+" "+d.Target)
			}
			return fmt.Sprint(out)
		}
		if words(got) != c.want || words(refused) != "[write /d]" {
			t.Errorf("%s: allowed %s, want %s; refused %s", c.name, words(got), c.want, words(refused))
		}
	}
	if refused, got := Needs(model.Item{Carried: []byte("{")}); refused != nil || got != nil {
		t.Errorf("of a damaged item: %v %v", refused, got)
	}
}
