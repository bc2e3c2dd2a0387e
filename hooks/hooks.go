// Package hooks runs commands of the user's at fixed points of a turn and reads their answers.
// A hook can only tighten: it denies, it asks for a question, or it adds words. Nothing that it
// answers permits anything. The package performs no IO; Options.Run runs a command in the sandbox.
// Start reading at Set.Fire, then at answerOf in answer.go.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// Event is the point of a turn at which a hook runs.
type Event string

// Events. Before a call and before a prompt a hook that fails counts as a deny, since it may be
// there to deny. A question still has a person behind it, and the others come too late.
const (
	SessionStart Event = "session_start" // before the first prompt of a run
	Prompt       Event = "prompt"        // before a message of the user's reaches the model
	BeforeTool   Event = "before_tool"
	AfterTool    Event = "after_tool"
	Question     Event = "question" // before a question is put to the user
	TurnEnd      Event = "turn_end" // when the model makes no more calls
)

// Events returns all events.
func Events() []Event {
	return []Event{SessionStart, Prompt, BeforeTool, AfterTool, Question, TurnEnd}
}

// Bounds.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 10 * time.Minute
	// MaxOutput is how much of stdout is read. A hook that prints more is killed.
	MaxOutput = 64 << 10
	// maxWords bounds the words of one hook for the model, maxReason a reason.
	maxWords  = 16 << 10
	maxReason = 2 << 10
)

// Hook is one command.
type Hook struct {
	Event Event
	// Match is a regular expression for the whole name of a tool. "" and "*" match all.
	Match   string
	Command string
	Timeout time.Duration
	// Claude: the hook gets and gives what one of Claude Code does.
	Claude bool
	// Place says where it is configured.
	Place string

	match *regexp.Regexp // nil: all
}

// Compile returns h ready to use. The error says what is wrong with it.
func (h Hook) Compile() (Hook, error) {
	switch {
	case strings.TrimSpace(h.Command) == "":
		return h, fmt.Errorf("command is empty")
	case strings.ContainsRune(h.Command, 0):
		return h, fmt.Errorf("command contains a NUL character")
	case h.Timeout < 0 || h.Timeout > MaxTimeout:
		return h, fmt.Errorf("the timeout must be between 1 and %d seconds", MaxTimeout/time.Second)
	case h.Timeout == 0:
		h.Timeout = DefaultTimeout
	}
	if h.Match != "" && h.Match != "*" {
		var err error
		if h.match, err = regexp.Compile("^(?:" + h.Match + ")$"); err != nil {
			return h, badMatch{h.Match, err}
		}
	}
	return h, nil
}

// badMatch is a match that cannot be followed.
type badMatch struct {
	match string
	err   error
}

func (b badMatch) Error() string {
	return fmt.Sprintf("match %s is not a regular expression", short.Quote(b.match, 60))
}

// elsewhere reports whether it can be a regular expression of JavaScript: one with a lookahead or a
// backreference.
func (b badMatch) elsewhere() bool {
	var wrong *syntax.Error
	return errors.As(b.err, &wrong) && (wrong.Code == syntax.ErrInvalidPerlOp || wrong.Code == syntax.ErrInvalidEscape)
}

// about returns what the hook is given about in, one entry for each run; none if it does not match.
func (h Hook) about(in Input) []payload {
	if h.Event != in.Event {
		return nil
	}
	if h.Claude {
		return h.forClaude(in)
	}
	if in.Call != nil && h.match != nil && !h.match.MatchString(in.Call.Tool) {
		return nil
	}
	return []payload{nativeOf(in)}
}

// Exit is how the command of a hook ended.
type Exit struct {
	Stdout, Stderr []byte
	// Flooded: it printed more than MaxOutput and was killed.
	Flooded, TimedOut bool
	Exit              int
	// Signal names the signal that ended it.
	Signal string
	// Denied names what the sandbox denied it.
	Denied []string
	// Err: it did not run.
	Err error
}

// Options is what a Set needs.
type Options struct {
	Hooks []Hook
	// Run runs a hook in the sandbox under p, the policy of the input. stdin is one JSON object.
	Run func(ctx context.Context, h Hook, p sandbox.Policy, stdin []byte) Exit
	// Session and Folder are in each input.
	Session, Folder string
}

// Set is the hooks of a session. The nil Set has none. It is safe for concurrent use.
type Set struct {
	opts Options
}

// New returns the set, or nil without hooks. Each hook is compiled.
func New(o Options) *Set {
	if len(o.Hooks) == 0 {
		return nil
	}
	return &Set{opts: o}
}

// Has reports whether a hook listens to e.
func (s *Set) Has(e Event) bool {
	return s != nil && slices.ContainsFunc(s.opts.Hooks, func(h Hook) bool { return h.Event == e })
}

// Fire runs the hooks for in, one after the other, and joins their answers. A deny ends it.
func (s *Set) Fire(ctx context.Context, in Input) (out Answer) {
	if s == nil {
		return out
	}
	for _, h := range s.opts.Hooks {
		for _, p := range h.about(in) {
			stdin, err := p.encode(s.opts)
			ended := Exit{Err: err}
			if err == nil {
				ended = s.opts.Run(ctx, h, in.Policy, stdin)
			}
			if ctx.Err() != nil {
				return out // the turn ends; its own reason counts
			}
			a := answerOf(h, ended)
			for i, text := range a.Warnings {
				a.Warnings[i] = h.name() + ": " + text
			}
			out.join(a)
			if out.Denied {
				return out
			}
		}
	}
	return out
}

// name names the hook in a message.
func (h Hook) name() string {
	return "hook " + visible.Line(short.Cut(strings.TrimSpace(h.Command), 60)) + " (" + visible.Line(h.Place) + ")"
}
