package serve

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"codeagent/mcp/inquiry"
)

// trip is a question with a field of each kind.
func trip() inquiry.Question {
	three := 3.0
	return inquiry.Question{Server: "booking", Message: "> Who?", Fields: []inquiry.Field{
		{Name: "name", Title: "Full name", Kind: inquiry.String, Required: true, Least: &three},
		{Name: "age", Kind: inquiry.Integer, Default: 36.0},
		{Name: "seat", Kind: inquiry.Choice, Choices: []string{"window", "aisle"}},
		{Name: "extras", Kind: inquiry.Choices, Choices: []string{"dog", "bicycle"}, Most: &three},
	}}
}

func inquiring(q inquiry.Question) func(context.Context, Call) Result {
	return func(ctx context.Context, c Call) Result {
		r, err := c.Inquire(ctx, q)
		return Result{Text: fmt.Sprintf("%s %v err=%v", r.Action, r.Values, err)}
	}
}

// TestInquire: a question of another server reaches the client as it is, and only an answer that
// fits it is one.
func TestInquire(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`{"action":"accept","content":{"name":"Ada","age":7,"seat":"aisle","extras":["dog"]}}`, "accept map[age:7 extras:[dog] name:Ada seat:aisle] err=<nil>"},
		{`{"action":"accept","content":{"name":"Ada"}}`, "accept map["},
		{`{"action":"decline"}`, "decline map[] err=<nil>"},
		{`{"action":"cancel"}`, "cancel map[] err=<nil>"},
		{`{"action":"accept","content":{"name":"Al"}}`, "cancel map[]"},
		{`{"action":"accept","content":{"name":"Ada","extras":["cat"]}}`, "cancel map[]"},
		{`{"action":"accept","content":{"name":"Ada","extras":[1]}}`, "cancel map[]"},
		{`{"action":"accept","content":{}}`, "cancel map[]"},
	} {
		p := start(t, t.Context(), host{"ask": inquiring(trip())}.options())
		p.initialize(`{"elicitation":{}}`)
		p.send(callLine(1, "ask", ""))
		m := p.next()
		for _, part := range []string{`"message":"\u003e Who?"`, `"title":"Full name"`, `"minLength":3`, `"required":["name"]`, `"default":36`, `"enum":["window","aisle"]`, `"maxItems":3`} {
			if !strings.Contains(m.line, part) && !strings.Contains(m.line, strings.ReplaceAll(part, `\u003e`, ">")) {
				t.Fatalf("%s lacks %s", m.line, part)
			}
		}
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, m.ID, c.answer))
		if got := unquoted(p.next()); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.answer, got, c.want)
		}
	}
	modern := start(t, t.Context(), host{"ask": inquiring(trip())}.options())
	modern.send(callLine(1, "ask", fmt.Sprintf(meta, "")))
	modern.send(callLine(2, "ask", fmt.Sprintf(`,"requestState":%q,"inputResponses":{"answer":{"action":"accept","content":{"name":"Ada"}}}`, modern.parked())+fmt.Sprintf(meta, "")))
	if got := unquoted(modern.next()); !strings.HasPrefix(got, "accept map[") {
		t.Error(got)
	}
	page := inquiry.Question{Message: "> Sign in", URL: "https://login.example/a"}
	p := start(t, t.Context(), host{"ask": inquiring(page)}.options())
	p.initialize(`{"elicitation":{"form":{},"url":{}}}`)
	p.send(callLine(1, "ask", ""))
	m := p.next()
	if !strings.Contains(m.line, `"mode":"url"`) || !strings.Contains(m.line, "https://login.example/a") {
		t.Fatal(m.line)
	}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept"}}`, m.ID))
	if got := unquoted(p.next()); !strings.HasPrefix(got, "accept map[]") {
		t.Error(got)
	}
	p = start(t, t.Context(), host{"ask": inquiring(page)}.options())
	p.initialize(`{"elicitation":{"form":{}}}`)
	p.send(callLine(1, "ask", ""))
	if got := unquoted(p.next()); !strings.Contains(got, "cannot show such a question") {
		t.Error(got)
	}
}
