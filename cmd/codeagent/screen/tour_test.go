package screen

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/event"
	"codeagent/mcp/inquiry"
)

// answering is a face that answers every question alike.
type answering struct {
	decision approvals.Decision
	asked    [][]string
}

func (*answering) Emit(event.Event) {}
func (a *answering) Ask(_ context.Context, r approvals.Request) (approvals.Answer, error) {
	a.asked = append(a.asked, r.Warnings)
	return approvals.Answer{Decision: a.decision}, nil
}
func (*answering) Steer() (agent.Input, bool) { return agent.Input{}, false }

func (*answering) Inquire(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return inquiry.Reply{Action: inquiry.Declined}, nil
}

// Who keeps the tour's files is not asked about them again, only about new ones.
func TestKeptFilesAreNotAskedAboutAgain(t *testing.T) {
	var tidy cleanup
	face := &answering{decision: approvals.Deny}
	for range 3 {
		tidy.offer(t.Context(), face, []string{"/w/a", "/w/b"})
	}
	tidy.offer(t.Context(), face, []string{"/w/a", "/w/c"})
	want := [][]string{{"/w/a", "/w/b"}, {"/w/c"}}
	if !slices.EqualFunc(face.asked, want, slices.Equal) {
		t.Errorf("asked about %q, want %q", face.asked, want)
	}
}

func TestRemovedFilesAreGone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var tidy cleanup
	tidy.offer(t.Context(), &answering{decision: approvals.Once}, []string{file})
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("%s: %v", file, err)
	}
}
