package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/mask"
)

// logged returns the lines of events, without their times.
func logged(t *testing.T, level string, events ...event.Event) []string {
	t.Helper()
	var b bytes.Buffer
	var l Log
	if !l.Open(&b, level, mask.New([]string{"K=s3cretvalue"}, func(string) bool { return true })) {
		t.Fatalf("no level %s", level)
	}
	for _, e := range events {
		l.Observe(e)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		_, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !strings.HasPrefix(line, "time=") {
			t.Errorf("line %q", line)
		}
		lines = append(lines, rest)
	}
	return lines
}

// Each event has a line, but for pieces of what another event has as a whole.
func TestAllEvents(t *testing.T) {
	for _, e := range event.All() {
		n := len(logged(t, "debug", e))
		switch e.(type) {
		case event.TextDelta, event.ReasoningDelta, event.ToolOutput:
			if n != 0 {
				t.Errorf("%T: %d lines", e, n)
			}
		default:
			if n == 0 {
				t.Errorf("%T is not logged", e)
			}
		}
	}
}

func TestLevels(t *testing.T) {
	events := []event.Event{
		event.MessageFinished{Text: "said"}, event.Notice{Level: word.LevelInfo, Text: "good"}, event.Notice{Level: word.LevelWarning, Text: "odd"}, event.Notice{Level: word.LevelError, Text: "bad"},
	}
	for i, level := range Levels() {
		if lines := logged(t, level, events...); len(lines) != len(events)-i {
			t.Errorf("%s: %q", level, lines)
		}
	}
	if new(Log).Open(nil, "loud", nil) {
		t.Error("any level is taken")
	}
}

// A line is one line, without secrets, bounded, and nothing in it is obeyed by a terminal.
func TestHostileText(t *testing.T) {
	for _, tt := range []struct {
		e    event.Event
		want string
	}{
		{event.Notice{Text: "a\nlevel=ERROR msg=forged"}, `level=INFO msg=notice text="a⏎level=ERROR msg=forged"`},
		{event.Notice{Text: "\x1b[2J\u009b1m\u202e"}, `level=INFO msg=notice text=␛[2J<U+009B>1m<U+202E>`},
		{event.Notice{Text: "it was s3cretvalue, X_TOKEN=abcdef"}, `level=INFO msg=notice text="it was [secret], X_TOKEN=[secret]"`},
		{event.ToolFinished{Tool: "a=b \"", Outcome: word.Failed, Exit: 2}, `level=INFO msg="tool call" tool="a=b \"" outcome=failed exit=2`},
		{event.ToolStarted{CallID: "c", Kind: word.KindServer, Server: &event.ServerCall{Server: "files", Tool: "read\x1b", Arguments: `{"key":"s3cretvalue"}`}}, `level=DEBUG msg="mcp call" call=c server=files tool=read␛ arguments="{\"key\":\"[secret]\"}"`},
		{event.TurnFinished{Outcome: word.TurnFailed, Err: errors.New("s3cretvalue")}, `level=ERROR msg="turn finished" outcome=failed error=[secret]`},
	} {
		level := "info"
		if strings.HasPrefix(tt.want, "level=DEBUG") {
			level = "debug"
		}
		if got := logged(t, level, tt.e); len(got) == 0 || got[len(got)-1] != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if got := logged(t, "info", event.Notice{Text: strings.Repeat("ü", longest) + "s3cretvalue"}); len(got) != 1 || len(got[0]) > longest+100 {
		t.Errorf("%d lines, the first with %d bytes", len(got), len(got[0]))
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestOff(t *testing.T) {
	var l Log
	for _, e := range event.All() {
		l.Observe(e) // must not fail
	}
	if err := l.Ended(0, ""); err != nil || l.On() {
		t.Error(err)
	}
	l.Open(full{}, "info", nil)
	l.Began("v", "codeagent", 1)
	if err := l.Ended(0, ""); fmt.Sprint(err) != "disk full" {
		t.Errorf("a full disk: %v", err)
	}
}
