package execcmd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/headless"
)

// TestTheLastLineSaysHowTheRunEnded: whatever ends a run, also a panic, is in the last line of
// JSON, once.
func TestTheLastLineSaysHowTheRunEnded(t *testing.T) {
	began := []event.Event{event.TurnStarted{}}
	failed := append(began, event.TurnFinished{Outcome: word.TurnFailed, Err: errors.New("no more")})
	completed := append(began, event.TurnFinished{Outcome: word.TurnDone, Answer: "done"})
	bySignal, end := context.WithCancelCause(t.Context())
	end(&cli.SignalError{Signal: syscall.SIGTERM})
	for name, c := range map[string]struct {
		ctx    context.Context
		events []event.Event
		end    func() error
		want   string // type and message of the last line
	}{
		"before a turn":          {nil, nil, func() error { return cli.Usage(errors.New("no such session")) }, "error no such session"},
		"a signal before a turn": {bySignal, nil, func() error { return context.Canceled }, "error terminated"},
		"a panic before a turn":  {nil, nil, func() error { panic("oh\u202e") }, "error bug: oh\u202e"},
		"in a turn":              {nil, began, func() error { return errors.New("lost") }, "turn.failed lost"},
		"a panic in a turn":      {nil, began, func() error { panic("oh") }, "turn.failed bug: oh"},
		"after a failed turn":    {nil, failed, func() error { return errors.New("no more") }, "turn.failed no more"},
		"after a whole turn":     {nil, completed, func() error { return errors.New("-o: no space left") }, "error -o: no space left"},
		"refused permissions":    {nil, completed, func() error { return cli.StatusError(cli.ExitRefused) }, "turn.completed "},
		"success":                {nil, completed, func() error { return nil }, "turn.completed "},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := os.CreateTemp(t.TempDir(), "out")
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			err = report(c.ctx, cli.Stdio{Out: out, Err: null}, flags{json: true, color: "auto", onRefused: "continue"}, func(_ context.Context, p *headless.Printer) error {
				for _, e := range c.events {
					p.Emit(e)
				}
				return c.end()
			})
			if (err == nil) != (name == "success") {
				t.Errorf("error: %v", err)
			}
			if _, err := out.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(out)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Split(strings.TrimSpace(string(data)), "\n")
			var last struct {
				Type, Message string
				Error         struct{ Message string }
			}
			if err := json.Unmarshal([]byte(all[len(all)-1]), &last); err != nil || strings.Contains(string(data), "\u202e") {
				t.Fatalf("%v: %s", err, data)
			}
			if got := last.Type + " " + last.Message + last.Error.Message; got != c.want {
				t.Errorf("the last line is %q, want %q", got, c.want)
			}
			if n := strings.Count(string(data), `"turn.failed"`) + strings.Count(string(data), `"type":"error"`); n > 1 {
				t.Errorf("the end is reported %d times: %s", n, data)
			}
		})
	}
}
