package conversation

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/event"
	"codeagent/mcp/inquiry"
	"codeagent/model"
	sessions "codeagent/session"
	"codeagent/tools"
)

// says is a model that answers everything with that many words.
type says int

func (n says) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		_ = yield(model.TextDelta{Text: strings.Repeat("word ", int(n))}, nil) && yield(model.Finished{Reason: model.StopEnd}, nil)
	}
}

// unwatched is a face without a person.
type unwatched struct{ notices []string }

func (l *unwatched) Emit(e event.Event) {
	if n, ok := e.(event.Notice); ok {
		l.notices = append(l.notices, n.Text)
	}
}

func (*unwatched) Ask(context.Context, approvals.Request) (approvals.Answer, error) {
	return approvals.Answer{Decision: approvals.Unattended}, nil
}

func (*unwatched) Steer() (agent.Input, bool) { return agent.Input{}, false }

func (*unwatched) Inquire(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return inquiry.Reply{Action: inquiry.Declined}, nil
}

// talkedAndCompacted returns a session of four messages, replaced by a summary.
func talkedAndCompacted(t *testing.T, kept bool) (*Session, *unwatched) {
	t.Helper()
	screen := &unwatched{}
	ses := &Session{Base: &Base{}}
	cfg := agent.Config{Model: says(200), Frontend: screen, Tools: tools.All(tools.Options{Workspace: t.TempDir()})}
	if kept {
		ses.Record = &record{Log: sessions.New(t.TempDir()).Create(sessions.Info{ID: sessions.NewID(), Folder: "/w"})}
		t.Cleanup(func() { ses.Record.Log.Close() })
		cfg.Log = ses.Record.Log
	}
	ses.Agent = agent.New(cfg)
	for n := range 4 {
		if err := ses.Agent.Turn(t.Context(), agent.Input{Text: fmt.Sprint("wish ", n)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ses.Agent.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return ses, screen
}

// A rewind goes across a summary: the model gets the original messages again, and the record
// and the conversation agree.
func TestBackAcrossASummary(t *testing.T) {
	ses, screen := talkedAndCompacted(t, true)
	if err := ses.Agent.Turn(t.Context(), agent.Input{Text: "wish 4"}); err != nil {
		t.Fatal(err)
	}
	for n := 4; n >= 0; n-- {
		said, err := ses.Messages()
		if err != nil || len(said) != n+1 || said[n].Text != fmt.Sprint("wish ", n) || said[n].N != n+1 {
			t.Fatalf("the messages are %v, %v", said, err)
		}
		if gone, err := ses.Back(screen, n+1, false); err != nil || len(gone) != 1 {
			t.Fatal(err)
		}
		items := ses.Agent.History()
		h, err := ses.Record.Log.History(sessions.HistoryLimit)
		if err != nil || len(h.Items) != len(items) {
			t.Fatalf("%d items, of which the record holds %d, %v", len(items), len(h.Items), err)
		}
		if before := n == 4; ses.Agent.Compacted() != before || !before && len(items) != 2*n {
			t.Errorf("before message %d: %d items, compacted: %t", n, len(items), ses.Agent.Compacted())
		}
	}
	if _, err := ses.Back(screen, 1, false); err == nil || len(screen.notices) != 1 || !strings.Contains(screen.notices[0], "before the summary") {
		t.Errorf("there was still something: %v, %q", err, screen.notices)
	}
}

// Without a record only the messages behind the summary can be gone back to.
func TestBackAcrossASummaryWithoutARecord(t *testing.T) {
	ses, screen := talkedAndCompacted(t, false)
	if err := ses.Agent.Turn(t.Context(), agent.Input{Text: "wish 4"}); err != nil {
		t.Fatal(err)
	}
	said, err := ses.Messages()
	if err != nil || len(said) == 0 || len(said) == 5 {
		t.Fatalf("the messages are %v, %v", said, err)
	}
	if _, err := ses.Back(screen, 1+len(said), false); err == nil {
		t.Error("it went back to a message that is not there")
	}
	if _, err := ses.Back(screen, 1, false); err != nil || !ses.Agent.Compacted() {
		t.Errorf("%v, compacted: %t", err, ses.Agent.Compacted())
	}
	if said, _ := ses.Messages(); len(said) != 0 {
		t.Errorf("left: %v", said)
	}
}

// Going back by several messages leaves the conversation and the record alike.
func TestBackBySeveral(t *testing.T) {
	screen := &unwatched{}
	ses := &Session{Base: &Base{records: records{Record: &record{Log: sessions.New(t.TempDir()).Create(sessions.Info{ID: sessions.NewID(), Folder: "/w"})}}}}
	t.Cleanup(func() { ses.Record.Log.Close() })
	ses.Agent = agent.New(agent.Config{Model: says(2), Frontend: screen, Tools: tools.All(tools.Options{Workspace: t.TempDir()}), Log: ses.Record.Log})
	if said, err := ses.Messages(); err != nil || len(said) != 0 {
		t.Errorf("a new session has %v, %v", said, err)
	}
	for n := range 5 {
		in := agent.Input{Text: fmt.Sprint("wish ", n)}
		if n == 2 {
			in.Images = []model.Image{{Name: "a", MediaType: "image/png", Width: 4, Height: 3, Data: []byte("a")}}
		}
		if err := ses.Agent.Turn(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if gone, err := ses.Back(screen, 3, false); err != nil || len(gone) != 3 || gone[0].Text != "wish 2" || len(gone[0].Images) != 1 || gone[0].Images[0].Name != "a" {
		t.Fatal(gone, err)
	}
	h, err := ses.Record.Log.History(sessions.HistoryLimit)
	if err != nil || len(h.Items) != 4 || len(ses.Agent.History()) != 4 {
		t.Errorf("the record holds %d items, the conversation %d, %v", len(h.Items), len(ses.Agent.History()), err)
	}
	// It comes back step by step, with and without a record, until something is sent.
	if _, err := ses.Back(screen, 1, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{4, 10} {
		if _, talk := ses.Undone(); !talk {
			t.Error("there is nothing to take back")
		}
		if err := ses.Return(screen, "", true); err != nil {
			t.Fatal(err)
		}
		h, err := ses.Record.Log.History(sessions.HistoryLimit)
		if err != nil || len(h.Items) != want || len(ses.Agent.History()) != want {
			t.Errorf("back again: the record holds %d items, the conversation %d, want %d, %v", len(h.Items), len(ses.Agent.History()), want, err)
		}
	}
	if _, err := ses.Back(screen, 5, false); err != nil {
		t.Fatal(err)
	}
	ses.Note("a note") // it waits, so that the rewind can be taken back
	if err := ses.Turn(t.Context(), agent.Input{Text: "another"}); err != nil {
		t.Fatal(err)
	}
	if files, talk := ses.Undone(); files || talk {
		t.Error("after a new message something can be taken back")
	}
	if items := ses.Agent.History(); len(items) != 11 || items[8].Text != "a note" {
		t.Errorf("%d items", len(items))
	}
}

// The note of an undo waits for the next message, and a redo that brings all files back needs none.
func TestNotesWait(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(ses *Session, back func(note string, all bool))
		want []string
	}{
		{"undo", func(ses *Session, _ func(string, bool)) { ses.Undid("undone a") }, []string{"undone a"}},
		{"undo and redo", func(ses *Session, back func(string, bool)) { ses.Undid("undone a"); back("redone a", true) }, nil},
		{"a redo of a part", func(ses *Session, back func(string, bool)) { ses.Undid("undone a"); back("redone some", false) }, []string{"undone a", "redone some"}},
		{"a redo of the second alone", func(ses *Session, back func(string, bool)) {
			ses.Undid("undone b")
			ses.Undid("undone a")
			back("redone a", true)
		}, []string{"undone b"}},
		{"parts of the second and then the first", func(ses *Session, back func(string, bool)) {
			ses.Undid("undone b")
			ses.Undid("undone a")
			back("redone some of a", false)
			back("redone b", true)
		}, []string{"undone a", "redone some of a"}},
		{"a redo of what an earlier process undid", func(_ *Session, back func(string, bool)) { back("redone a", true) }, []string{"redone a"}},
	} {
		screen := &unwatched{}
		ses := &Session{Base: &Base{}}
		ses.Agent = agent.New(agent.Config{Model: says(1), Frontend: screen, Tools: tools.All(tools.Options{Workspace: t.TempDir()})})
		if err := ses.Turn(t.Context(), agent.Input{Text: "first"}); err != nil {
			t.Fatal(err)
		}
		c.do(ses, func(note string, all bool) {
			if err := ses.Return(screen, note, all); err != nil {
				t.Fatal(err)
			}
		})
		if n := len(ses.Agent.History()); n != 2 {
			t.Errorf("%s: %d items before the next message", c.name, n)
		}
		if err := ses.Turn(t.Context(), agent.Input{Text: "second"}); err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, i := range ses.Agent.History() {
			if i.Kind == model.Note {
				notes = append(notes, i.Text)
			}
		}
		if !slices.Equal(notes, c.want) {
			t.Errorf("%s: the model got the notes %q, want %q", c.name, notes, c.want)
		}
	}
}
