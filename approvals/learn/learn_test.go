package learn

import (
	"slices"
	"testing"

	"codeagent/sandbox"
)

// TestLesson grants exactly what is denied, and lists it for settings.
func TestLesson(t *testing.T) {
	l := &Lesson{Command: "fetch http://example.org/x other.org"}
	for _, c := range []struct {
		kind   sandbox.DenialKind
		target string
		yes    bool
	}{
		{sandbox.KindWrite, "/home/u/.npm/a", true},
		{sandbox.KindWrite, "/home/u/.npm/a", true},
		{sandbox.KindMetadata, "/home/u/b", true},
		{sandbox.KindNetwork, "example.org", true},
		{sandbox.KindNetwork, "other.org", true},
		{sandbox.KindNetwork, "other.org:8080", true},
		{sandbox.KindNetwork, "third.org", true},
		{sandbox.KindNetwork, "not a host", false},
		{sandbox.KindSocket, "/run/s", true},
		{sandbox.KindSocket, "@abstract", false},
		{sandbox.KindProtected, "/home/u/.git/config", false},
		{sandbox.KindRead, "/home/u/notes", true},
		{sandbox.KindSyscall, "ptrace", false},
	} {
		g, yes := l.Learn(sandbox.Denial{Kind: c.kind, Target: c.target})
		if yes != c.yes || g.Empty() == c.yes || g.Unsandboxed {
			t.Errorf("%s %s: %+v %v", c.kind, c.target, g, yes)
		}
	}
	var got []string
	denials, guessed, all := l.Learned()
	for _, d := range denials {
		got = append(got, d.Target)
	}
	if want := []string{"/home/u/.npm/a", "/home/u/b", "example.org:80", "other.org:8080", "third.org:443", "/run/s", "/home/u/notes"}; !slices.Equal(got, want) || !all {
		t.Errorf("learned %q, want %q", got, want)
	}
	if !slices.Equal(guessed, []string{"third.org"}) {
		t.Errorf("guessed ports: %q", guessed)
	}
}
