// Package tools holds what the model may do, one file a tool with its description beside
// it. A tool turns the model's arguments into a Call, which runs only with a permit minted
// for exactly its Action; no tool opens a file, starts a program or reaches a host by
// itself, but through exec and the file worker, in the sandbox, and through a Fetcher,
// which judges by the permit's policy. Start reading at Call, then at shell.go.
//
// The words of errors and results are for the model: what was wrong, where, and
// what to write instead.
package tools

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/exec"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/undo"
)

// tool is one thing the model may do.
type tool interface {
	// Spec describes it to the model.
	Spec() model.ToolSpec
	// Plan reads the arguments as the model wrote them. It looks at the file
	// system through Options.Files alone and changes nothing. The error is in
	// words for the model.
	Plan(arguments string) (*call, error)
}

// Call is one planned use of a tool.
type Call interface {
	// Action is what would happen, for the gate to judge and the person to read.
	Action() approvals.Action
	// Run does it under the policy of p, which must have been minted for
	// exactly Action. What goes wrong in the doing is a Result for the model;
	// an error means that nothing was done: no permit, no sandbox, or ctx ended.
	Run(ctx context.Context, p approvals.Permit, s Stage) (Result, error)
	// Reads says what the call reads, if it only reads files, asks nobody and leaves no
	// trace, and is empty for every other call. Two calls with the same Reads find the
	// same, and one may run before its arguments are complete.
	Reads() string
}

// Stage is what a call runs on.
type Stage struct {
	Exec *exec.Runner
	// Fetch gets pages from the web; nil: none are fetched.
	Fetch Fetcher
	// Output receives a command's output as it comes; may be nil.
	Output exec.Sink
	// Holder answers for refused calls of a command while they wait; nil: they
	// fail at once.
	Holder sandbox.Holder
	// Undo keeps what files were before a call changes them; nil: nobody does.
	Undo *undo.History
	// kept is the part of one call in Undo; nil without.
	kept keeping
	// Asking: somebody can answer a question. Where nobody can, no result
	// suggests to ask.
	Asking bool
	Mode   approvals.Mode
	// Blind: the model cannot see images.
	Blind bool
}

// keeping keeps what files were before one call changes them: an undo.Call.
type keeping interface {
	sandbox.ChangeObserver
	// Watch keeps files of which no change is reported, Made notes those that are new
	// since, and Lost says that what is below a path was not kept, and why.
	Watch(paths []string)
	Made(paths []string)
	Lost(path, why string)
	// Settle notes what the call left, and Changed says what it changed.
	Settle()
	Changed() sandbox.Changes
}

// observer hears of the changes of a call; nil where nothing is kept.
func (s Stage) observer() sandbox.ChangeObserver {
	if s.kept == nil {
		return nil
	}
	return s.kept
}

// Result is what a call did.
type Result struct {
	// Text is for the model.
	Text string
	// Less is Text within so many bytes, with the word of how to get the rest; nil:
	// what is between its head and its tail is left out.
	Less func(most int) string
	// Images are shown to the model with Text.
	Images []model.Image
	// Failed marks Text as the report of an error.
	Failed  bool
	Outcome event.Outcome
	// Exit is a command's exit status; -1 when a signal ended it.
	Exit int
	// Signal names the signal that ended a command ("SIGKILL").
	Signal string
	// Output is what Text shows of a command's output; Spill is the file that
	// holds all of it when it was cut.
	Output, Spill string
	// Job is the background command that the call was about, 0 for none;
	// Running: it goes on.
	Job     int
	Running bool
	// Message is one line for the person: what was done or went wrong.
	Message string
	// Warning is for the person: what could not be set right after a command.
	Warning  string
	Duration time.Duration
	// Limit is the limit a command ran into.
	Limit   sandbox.Limit
	Verdict sandbox.Verdict
	// Denied: the sandbox or its policy refused something that mattered.
	Denied  bool
	Changes []event.FileChange
	// Changed is what a command changed, as far as undo knows.
	Changed sandbox.Changes
	// Plan and Explanation are set by update_plan.
	Plan        []event.PlanStep
	Explanation string
}

// Options is what the tools need to know.
type Options struct {
	// Workspace is the canonical folder that relative paths mean.
	Workspace string
	Files     sandbox.FileSystem
	// AllowedWorkdirs are the folders a command may start in or below; empty
	// means the workspace alone.
	AllowedWorkdirs []string
	// Disabled names the tools that are switched off.
	Disabled map[string]bool
	// Shell is the absolute path of bash or sh.
	Shell string
	// Ripgrep is the absolute path of rg; empty where it is missing.
	Ripgrep string
	// Jobs are the background commands; nil: no command can run in the background.
	Jobs *exec.Jobs
}

// Set is the tools of a session.
type Set struct {
	order    []string
	tools    map[string]tool
	disabled map[string]bool
}

// All returns every tool, those in o.Disabled switched off.
func All(o Options) *Set {
	paths := paths{o.Files, o.Workspace}
	s := &Set{tools: map[string]tool{}, disabled: o.Disabled}
	for _, t := range []tool{
		&shellTool{paths: paths, jobs: o.Jobs, shell: o.Shell, workdirs: o.AllowedWorkdirs, patches: !o.Disabled["apply_patch"]},
		&applyPatchTool{paths: paths},
		&readFileTool{paths: paths},
		&viewImageTool{paths: paths},
		&listFilesTool{paths: paths},
		&searchTool{paths: paths, ripgrep: o.Ripgrep},
		&updatePlanTool{},
		&fetchURLTool{},
		&writeStdinTool{o.Jobs},
		&backgroundTool{o.Jobs},
	} {
		name := t.Spec().Name
		s.order = append(s.order, name)
		s.tools[name] = t
	}
	return s
}

// Specs describes the tools that are switched on.
func (s *Set) Specs() []model.ToolSpec {
	var out []model.ToolSpec
	for _, name := range s.Names() {
		out = append(out, s.tools[name].Spec())
	}
	return out
}

// Names lists the tools that are switched on.
func (s *Set) Names() []string {
	return slices.DeleteFunc(slices.Clone(s.order), func(name string) bool { return s.disabled[name] })
}

// Plan plans a call. The error is in words for the model, also for a tool that
// does not exist or is switched off.
func (s *Set) Plan(c model.ToolCall) (Call, error) {
	t := s.tools[c.Name]
	switch {
	case t == nil:
		hint := ""
		if near := nearest(c.Name, slices.Sorted(maps.Keys(s.tools))); near != "" && !s.disabled[near] {
			hint = fmt.Sprintf(" Did you mean %s?", near)
		}
		return nil, fmt.Errorf("there is no tool %s; the tools are %s.%s", show(c.Name), strings.Join(s.Names(), ", "), hint)
	case s.disabled[c.Name]:
		return nil, fmt.Errorf("the tool %s is switched off in the user's settings; do without it: the tools are %s", c.Name, strings.Join(s.Names(), ", "))
	}
	planned, err := t.Plan(c.Arguments)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	planned.action.CallID = c.ID
	return planned, nil
}

// Reads reports whether the calls of the tool name only read: see Call.Reads.
func (s *Set) Reads(name string) bool {
	_, ok := s.tools[name].(interface{ onlyReads() })
	return ok && !s.disabled[name]
}

// call is every tool's Call: the permit is checked here, once for all of them.
type call struct {
	action approvals.Action
	run    func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error)
	reads  string // see Call.Reads
}

func (c *call) Action() approvals.Action { return c.action }

func (c *call) Reads() string { return c.reads }

func (c *call) Run(ctx context.Context, p approvals.Permit, s Stage) (r Result, err error) {
	policy, err := p.Policy(c.action)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.action.Tool, err)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.action.Tool, context.Cause(ctx))
	}
	if kind := c.action.Kind; s.Undo != nil && (kind == event.KindCommand || kind == event.KindEdit) {
		kept := s.Undo.Call()
		defer func() {
			kept.Settle()
			if kind == event.KindCommand { // an edit says itself what it did
				r.Changed.Join(kept.Changed())
			}
		}()
		s.kept = kept
	}
	begun := time.Now()
	r, err = c.run(ctx, policy, s)
	if r.Duration == 0 {
		r.Duration = time.Since(begun)
	}
	return r, err
}

// failed is a result that reports an error.
func failed(format string, args ...any) Result {
	text := fmt.Sprintf(format, args...)
	return Result{Text: text, Failed: true, Outcome: event.Failed, Message: oneLine(text)}
}

// done is a result that went well.
func done(text, message string) Result {
	return Result{Text: text, Outcome: event.OK, Message: message}
}
