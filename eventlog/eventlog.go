// Package eventlog writes the log of --log: one line for each thing that happened, by
// log/slog, without secrets and without anything that a terminal would obey. It writes to the
// writer that it is given. Start with Log.Open, then Observe for what is logged at which
// level.
package eventlog

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/mask"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// longest bounds a value in bytes.
const longest = 4096

// Levels are the names of the levels, from the most lines to the fewest.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

// Log is a log. Its zero value is off. It is safe for concurrent use once it is open.
type Log struct {
	logger *slog.Logger
	out    *output
}

// output remembers the first error.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p) // the handler writes one line at a time
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Open begins to write lines of at least that level to w. It reports whether the level is one
// of Levels.
func (l *Log) Open(w io.Writer, level string, m *mask.Mask) bool {
	var least slog.Level
	if !slices.Contains(Levels(), level) || least.UnmarshalText([]byte(level)) != nil {
		return false
	}
	l.out = &output{Writer: w}
	l.logger = slog.New(slog.NewTextHandler(l.out, &slog.HandlerOptions{Level: least, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindString {
			a.Value = slog.StringValue(shown(m.Text(a.Value.String())))
		}
		return a
	}}))
	return true
}

// shown returns one bounded line.
func shown(s string) string {
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return visible.Log(visible.Line(s))
}

// On reports whether the log is open.
func (l *Log) On() bool { return l != nil && l.logger != nil }

// Began logs the start of codeagent.
func (l *Log) Began(version, command string, pid int) {
	l.add(slog.LevelInfo, "codeagent started", "version", version, "command", command, "pid", pid)
}

// Ended logs the end of codeagent, and returns the first error of writing to the log.
func (l *Log) Ended(status int, message string) error {
	if l.out == nil {
		return nil
	}
	level := slog.LevelInfo
	if message != "" {
		level = slog.LevelError
	}
	l.add(level, "codeagent ended", "status", status, "error", message)
	return l.out.err
}

// add logs a line. Empty texts and zero numbers are left out.
func (l *Log) add(level slog.Level, message string, about ...any) {
	if l.logger == nil || !l.logger.Enabled(context.Background(), level) {
		return
	}
	var kept []any
	for i := 0; i+1 < len(about); i += 2 {
		switch about[i+1] {
		case "", 0, false, time.Duration(0):
			if about[i] != "status" {
				continue
			}
		}
		kept = append(kept, about[i], about[i+1])
	}
	l.logger.Log(context.Background(), level, message, kept...)
}

// Observe logs an event of a session. Texts of messages, commands and answers are logged at
// the level debug only.
func (l *Log) Observe(e event.Event) {
	if !l.On() {
		return
	}
	const debug, info, warn, failed = slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError
	switch e := e.(type) {
	case event.SessionStarted:
		l.add(info, "session", "id", e.ID, "model", e.Model, "folder", e.Folder, "sandbox", e.Policy, "approval", e.Approval, "backend", e.Enforcement.Backend, "tour", e.Tour)
	case event.TurnStarted:
		l.add(info, "turn started", "bytes", len(e.Text), "images", len(e.Images))
		l.add(debug, "message", "text", e.Text)
	case event.Steered:
		l.add(info, "message added", "bytes", len(e.Text), "images", len(e.Images))
		l.add(debug, "message", "text", e.Text)
	case event.RequestStarted:
		l.add(debug, "model request")
	case event.MessageFinished:
		l.add(debug, "model said", "text", e.Text)
	case event.EarlierAnswer:
		l.add(info, "earlier answer", "at", e.At, "score", e.Rounded(), "files", e.Files)
	case event.Searched:
		l.add(debug, "web search of the provider", "query", e.Query, "sources", len(e.Sources))
	case event.ReasoningFinished:
		l.add(debug, "model thought", "text", e.Text)
	case event.UsageUpdated:
		l.add(info, "model answered", "input_tokens", e.Last.Input, "cached_tokens", e.Last.Cached, "output_tokens", e.Last.Output, "context", e.Context, "limit", e.Limit)
	case event.Retrying:
		l.add(warn, "retry", "attempt", e.Number(), "delay", e.Delay, "error", e.Message)
	case event.ToolStarted:
		l.add(debug, "tool call started", "call", e.CallID, "tool", e.Tool, "title", e.Title, "command", e.Command, "backend", e.Backend, "folder", e.Folder)
		if s := e.Server; s != nil {
			l.add(debug, "mcp call", "call", e.CallID, "server", s.Server, "tool", s.Tool, "arguments", s.Arguments)
		}
	case event.ToolFinished:
		l.finished(e)
	case event.PermissionRequested:
		l.add(info, "permission requested", "question", e.ID, "call", e.CallID, "held", e.Held, "write", strings.Join(e.Wanted.Write, " "), "read", strings.Join(e.Wanted.Read, " "),
			"hosts", strings.Join(sandbox.HostsOf(e.Wanted.Hosts), " "), "sockets", strings.Join(e.Wanted.Sockets, " "), "unsandboxed", e.Wanted.Unsandboxed)
	case event.PermissionAnswered:
		level := info
		if !e.Answer.Granted() {
			level = warn
		}
		l.add(level, "permission answered", "question", e.ID, "call", e.CallID, "answer", string(e.Answer), "reason", e.Reason, "hint", e.Hint, "unsaved", e.Unsaved)
	case event.PlanUpdated:
		l.add(debug, "plan", "steps", len(e.Steps))
	case event.Compacting:
		l.add(info, "compacting", "reason", string(e.Reason))
	case event.Compacted:
		level := info
		if e.Err != "" {
			level = warn
		}
		l.add(level, "compacted", "before", e.Before, "after", e.After, "error", e.Err)
	case event.Notice:
		l.add(map[word.Level]slog.Level{word.LevelWarning: warn, word.LevelError: failed}[e.Level], "notice", "text", e.Text)
	case event.BackgroundChanged:
		l.add(debug, "background commands", "running", e.Running)
	case event.BackgroundEnded:
		l.add(info, "background command ended", "job", e.Job, "exit", e.Exit, "signal", e.Signal, "limit", string(e.Limit), "duration", e.Duration, "denials", len(e.Verdict.Denials))
		l.Denied("", e.Verdict)
		l.add(debug, "background command", "job", e.Job, "command", e.Command)
	case event.TurnFinished:
		level, message := info, ""
		if e.Err != nil {
			level, message = failed, e.Err.Error()
		}
		l.add(level, "turn finished", "outcome", string(e.Outcome), "refused", len(e.Refused), "input_tokens", e.Usage.Input, "output_tokens", e.Usage.Output, "error", message)
	case event.HelperEvent:
		(&Log{slog.New(l.logger.Handler().WithAttrs([]slog.Attr{slog.Int("helper", e.Number), slog.String("of", e.CallID)})), l.out}).Observe(e.Event)
	case event.TextDelta, event.ReasoningDelta, event.ToolOutput: // MessageFinished and the others have the whole
	}
}

// finished logs the end of a tool call, and what the sandbox denied it.
func (l *Log) finished(e event.ToolFinished) {
	l.add(slog.LevelInfo, "tool call", "call", e.CallID, "tool", e.Tool, "outcome", string(e.Outcome), "exit", e.Exit, "signal", e.Signal, "limit", string(e.Limit),
		"duration", e.Duration, "job", e.Job, "running", e.Running, "changes", len(e.Changes), "denials", len(e.Verdict.Denials))
	l.Denied(e.CallID, e.Verdict)
}

// Server logs what an MCP server logs, at its own level.
func (l *Log) Server(name, level, text string) {
	if !l.On() {
		return
	}
	at := slog.LevelInfo
	if level == "debug" {
		at = slog.LevelDebug
	}
	l.add(at, "mcp server", "server", name, "text", text)
}

// Denied logs what the sandbox denied to a command; call may be empty.
func (l *Log) Denied(call string, v sandbox.Verdict) {
	if !l.On() {
		return
	}
	for _, d := range v.Denials {
		l.add(slog.LevelWarn, "denied", "call", call, "kind", string(d.Kind), "operation", d.Operation, "target", d.Target, "program", d.Program, "count", d.Count)
	}
}
