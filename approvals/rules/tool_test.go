package rules

import (
	"testing"
	"time"
)

func TestTool(t *testing.T) {
	s := set(t, `
[[tool]]
tool = "git__*"
decision = "ask"

[[tool]]
tool = "git__log"
decision = "allow"
described = "1"
expires = 2026-12-31

[[tool]]
tool = "git__push"
decision = "forbid"
reason = "CI pushes"

[[tool]]
tool = "db__*"
decision = "allow"

[[tool]]
tool = "mail__send"
decision = "allow"
described = "1"
`)
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, described string
		want            Decision
		changed         bool
	}{
		{"git__log", "1", Ask, false}, // the strictest decides
		{"git__push", "1", Forbid, false},
		{"db__query", "9", Allow, false},
		{"dbs__query", "9", None, false},
		{"mail__send", "1", Allow, false},
		{"mail__send", "2", None, true},
		{"mail__sender", "1", None, false},
	} {
		r, changed := s.At(now).Tool(ToolCall{Name: c.name, Described: c.described})
		got := None
		if r != nil {
			got = r.Decision
		}
		if got != c.want || (changed != nil) != c.changed {
			t.Errorf("%s as %s: %q, changed %v; want %q, %v", c.name, c.described, got, changed, c.want, c.changed)
		}
	}
	if got := s.Rules()[1].String(); got != "allow the tool git__log" {
		t.Error(got)
	}
	text := set(t, string(s.Rules()[1].TOML())).Rules()[0]
	if text.Tool != "git__log" || text.Described != "1" || text.Expires.IsZero() {
		t.Errorf("%+v", text)
	}
	if r, _ := s.At(now.AddDate(1, 0, 0)).Tool(ToolCall{Name: "git__log", Described: "1"}); r == nil || r.Decision != Ask {
		t.Errorf("after the end: %v", r)
	}
}
