package tools

import (
	"context"
	"errors"
	"strings"
	"testing"

	"codeagent/event/word"
	"codeagent/mcp/inquiry"
)

// TestAskUser: each answer of the person, and what the model reads.
func TestAskUser(t *testing.T) {
	asked := args{"question": " Which? ", "choices": []args{{"label": "SQLite", "about": "one\nfile"}, {"label": "Postgres"}}}
	for _, c := range []struct {
		name    string
		reply   inquiry.Reply
		err     error
		outcome word.Outcome
		message string
		text    string
	}{
		{"one", inquiry.Reply{Action: inquiry.Accepted, Values: map[string]any{"choice": "SQLite"}}, nil, word.OK, "SQLite", "The user chose: SQLite"},
		{"several", inquiry.Reply{Action: inquiry.Accepted, Values: map[string]any{"choice": []string{"SQLite", "Postgres"}}}, nil, word.OK, "SQLite, Postgres", "The user chose: SQLite, Postgres"},
		{"own words", inquiry.Reply{Action: inquiry.Accepted, Values: map[string]any{"answer": " neither "}}, nil, word.OK, "“neither”", "The user answered in their own words: neither"},
		{"both", inquiry.Reply{Action: inquiry.Accepted, Values: map[string]any{"choice": "SQLite", "answer": "for now"}}, nil, word.OK, "SQLite, “for now”", "The user chose: SQLite\nThe user answered in their own words: for now"},
		{"an empty answer", inquiry.Reply{Action: inquiry.Accepted}, nil, word.OK, "no answer", "The user gave no answer. Do not ask the same again"},
		{"no answer", inquiry.Reply{Action: inquiry.Declined}, nil, word.OK, "no answer", "The user gave no answer. Do not ask the same again"},
		{"nobody", inquiry.Reply{}, inquiry.ErrNobody, word.Refused, "Not asked: nobody can answer here.", "Decide by yourself"},
		{"a broken screen", inquiry.Reply{}, errors.New("the screen was closed"), word.Failed, "The question could not be asked", "the screen was closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, nil)
			var q inquiry.Question
			p.stage.Inquire = func(_ context.Context, got inquiry.Question) (inquiry.Reply, error) {
				q = got
				return c.reply, c.err
			}
			r := must(p.do("ask_user", asked))
			if r.Outcome != c.outcome || !strings.HasPrefix(r.Message, c.message) || !strings.Contains(r.Text, c.text) {
				t.Errorf("%s, %q, %q", r.Outcome, r.Message, r.Text)
			}
			if !q.ByModel() || q.CallID == "" || q.Message != "Which?" || len(q.Fields) != 2 || q.Fields[0].About[0] != "one file" {
				t.Errorf("asked: %+v", q)
			}
		})
	}
	p := newPlace(t, nil)
	if r := must(p.do("ask_user", asked)); r.Outcome != word.Refused {
		t.Errorf("without a person: %+v", r)
	}
}

// TestAskUserBounds: what a person would not read is not asked, and nothing in it is obeyed.
func TestAskUserBounds(t *testing.T) {
	one := []args{{"label": "a"}}
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"question": " ", "choices": one}, "question must have 1 to 1000 characters"},
		{args{"question": strings.Repeat("x", 1001), "choices": one}, "question must have 1 to 1000 characters"},
		{args{"question": "?", "choices": []args{}}, "there are 0 choices"},
		{args{"question": "?", "choices": []args{{"label": "a"}, {"label": "b"}, {"label": "c"}, {"label": "d"}, {"label": "e"}}}, "there are 5 choices"},
		{args{"question": "?", "choices": []args{{"label": "\n"}}}, "choices[0].label must have 1 to 80 characters"},
		{args{"question": "?", "choices": []args{{"label": strings.Repeat("x", 81)}}}, "choices[0].label must have 1 to 80 characters"},
		{args{"question": "?", "choices": []args{{"label": "a"}, {"label": " a\n"}}}, "choices[1].label is the label of another choice"},
		{args{"question": "?", "choices": []args{{"label": "a", "about": strings.Repeat("x", 201)}}}, "choices[0].about must have at most 200 characters"},
	} {
		p := newPlace(t, nil)
		if _, err := p.plan("ask_user", c.a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.a, err, c.want)
		}
	}
	p := newPlace(t, nil)
	p.stage.Inquire = func(_ context.Context, q inquiry.Question) (inquiry.Reply, error) {
		if all := q.Message + q.Fields[0].Choices[0] + q.Fields[0].About[0]; strings.ContainsAny(all, "\x1b\u202e") {
			t.Errorf("asked: %q", all)
		}
		return inquiry.Reply{Action: inquiry.Declined}, nil
	}
	p.ok("ask_user", args{"question": "\x1b[2Jyes?\u202e", "choices": []args{{"label": "\x1b[1A", "about": "\u202ex"}}})
}

func must(r Result, err error) Result {
	if err != nil {
		panic(err)
	}
	return r
}
