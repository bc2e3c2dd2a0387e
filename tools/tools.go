// Package tools holds what the model may do, one file per tool with its description beside
// it. A tool turns the model's arguments into a Call, which runs only with a permit minted
// for exactly its Action. No tool opens a file, starts a program or reaches a host by
// itself: it uses exec and the file worker, in the sandbox, and a Fetcher, which judges by
// the permit's policy. Start reading at Call, then at shell.go.
//
// Errors and results are written for the model: what was wrong, where, and what to write
// instead.
package tools

import (
	"context"
	"embed"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/draft"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/exec/experiment"
	"codeagent/mcp/inquiry"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/undo"
)

// tool is one tool that the model may call.
type tool struct {
	model.ToolSpec
	// plan parses the arguments as the model wrote them. It reads file metadata through
	// Options.Files only and changes nothing. The error is written for the model.
	plan func(arguments string) (*call, error)
}

// texts are the descriptions of the tools and the schemas of their arguments.
//
//go:embed *.md schema
var texts embed.FS

// describe makes a tool of a function that plans its calls. example shows the arguments in
// errors about them.
func describe[A any](name, example string, plan func(A) (*call, error)) tool {
	text, _ := texts.ReadFile(name + ".md")
	schema, _ := texts.ReadFile("schema/" + name + ".json")
	spec := model.ToolSpec{Name: name, Description: strings.TrimSpace(string(text)), Schema: schema}
	return tool{spec, func(arguments string) (*call, error) {
		var a A
		if err := decode(arguments, &a, example); err != nil {
			return nil, err
		}
		return plan(a)
	}}
}

// Call is one planned use of a tool.
type Call interface {
	// Action is what would happen; the gate judges it and the person reads it.
	Action() approvals.Action
	// Run executes the call under the policy of p, which must have been minted for exactly
	// Action. A failure of the action is a Result for the model. An error means that nothing
	// was done: no permit, no sandbox, or ctx ended.
	Run(ctx context.Context, p approvals.Permit, s Stage) (Result, error)
}

// Stage is the environment in which a call runs.
type Stage struct {
	Exec *exec.Runner
	// In returns the runner of commands that a rule sends to the backend with that name.
	In func(name string) (*exec.Runner, error)
	// Fetch gets pages from the web; nil: no pages can be fetched.
	Fetch Fetcher
	// Output, if set, receives a command's output as it arrives.
	Output exec.Sink
	// Stream, if set, returns the sink of one stream ("stdout", "stderr") of a command.
	Stream func(name string) func(offset int64, data []byte)
	// Looked, if set, gets each path that a call of a tool that only reads looks up, before that, and whether it opens it.
	Looked func(path string, opened bool)
	// Holder answers a command's held calls; nil: refused calls fail at once.
	Holder sandbox.Holder
	// Ended, if set, receives the result of a background command once, possibly after the call.
	Ended func(Result)
	// Listens, if set, receives the ports on which a background command listens, possibly after the call. ctx
	// ends with the job.
	Listens func(ctx context.Context, job Publisher, l sandbox.Listener)
	// Lab tries out why a command failed; nil: nothing is tried.
	Lab *experiment.Lab
	// Drafts are for trials; nil: no trial is possible. Trial is what the person has seen of this call before they said yes; it
	// may be nil.
	Drafts *Drafts
	Trial  *Trial
	// Undo records files before a call changes them; nil: nothing is recorded.
	Undo *undo.History
	// kept is the record of this call in Undo; nil without Undo.
	kept recorder
	// in is the runner of the backend that a rule chose for this call; mostly nil.
	in *exec.Runner
	// check, if set, is made right before the start.
	check func() error
	// Inquire puts a question of the model to the person, see inquiry.ErrNobody; nil: nobody can answer.
	Inquire func(context.Context, inquiry.Question) (inquiry.Reply, error)
	// Asking: somebody can answer a question. Otherwise no result suggests to ask.
	Asking bool
	Mode   approvals.Mode
	// Blind: the model cannot see images.
	Blind bool
	// Delegate has helpers work at the same time, each on one task, and returns their reports in the same
	// order. check, unless it is "", runs on each draft at its end. The end of ctx ends them. Nil: there are no helpers.
	Delegate func(ctx context.Context, tasks []Task, check string) []Report
	// Keep has a draft of a helper kept, as a call of keep_draft that the gate judges. It is set with Delegate.
	Keep func(ctx context.Context, draft string) Result
}

// Publisher is a job whose ports can be served on the host; it is an exec.Job.
type Publisher interface {
	ID() int
	Publish(l sandbox.Listener, host netip.Addr) (netip.AddrPort, error)
}

// recorder records files before one call changes them; it is an undo.Call.
type recorder interface {
	sandbox.ChangeObserver
	// Watch records files whose changes are not reported, Made records files created since,
	// and Lost records that content below a path was not kept, and why.
	Watch(paths []string)
	Made(paths []string)
	Lost(path, why string)
	// Settle records the state after the call, and Changed returns what the call changed.
	experiment.Record
	Changed() sandbox.Changes
}

// Observer returns the observer of a call's changes; nil where nothing is recorded.
func (s Stage) Observer() sandbox.ChangeObserver {
	if s.kept == nil {
		return nil
	}
	return s.kept
}

// Result is the result of a call.
type Result struct {
	// Text is for the model.
	Text string
	// Images are shown to the model along with Text.
	Images []model.Image
	// Structured is the structured content of an MCP server's answer, as JSON, or "".
	Structured string
	// Failed: Text reports an error.
	Failed  bool
	Outcome word.Outcome
	// Exit is a command's exit status; -1 when a signal ended it.
	Exit int
	// Signal names the signal that ended a command ("SIGKILL").
	Signal string
	// Output is the part of a command's output in Text; Spill is the file with all of it
	// if it was cut.
	Output, Spill string
	// Job is the background command of the call, 0 for none. Running: it still runs.
	Job     int
	Running bool
	// Message is one line for the person: what was done, or what failed.
	Message string
	// Warning is for the person: what could not be restored after a command.
	Warning  string
	Duration time.Duration
	// Limit is the limit that a command reached.
	Limit   sandbox.Limit
	Verdict sandbox.Verdict
	// Kept: what Stage.Trial did was kept, and nothing ran again.
	Kept    bool
	Changes []event.FileChange
	// Changed is what a command changed, as far as undo knows it.
	Changed sandbox.Changes
	// Diagnostics are errors that language servers found.
	Diagnostics []event.Diagnostics
	// Plan and Explanation are set by update_plan.
	Plan        []event.PlanStep
	Explanation string
	// Helpers is set by delegate.
	Helpers []event.HelperEnd
}

// Options configures the tools.
type Options struct {
	// Workspace is the canonical folder where relative paths start.
	Workspace string
	Files     sandbox.FileSystem
	// Temp returns where the files are that commands see at a path, if that is another path, and whether
	// only commands that name it see it. Nil: everywhere the same.
	Temp func(path string) (at string, named bool)
	// Disabled names the tools that are disabled.
	Disabled map[string]bool
	// Shell is the absolute path of bash or sh.
	Shell string
	// Backend returns the backend that rules choose for a command with that wish, "" for that of the session or none. Nil:
	// there are no rules.
	Backend func(command string, w approvals.Wish) (string, error)
	// Apart: commands have a pipe for each stream.
	Apart bool
	// Jobs holds the background commands; nil: no command can run in the background.
	Jobs *exec.Jobs
	// Outside reports whether the model may ask to run a command outside the sandbox. Nil means that
	// it may.
	Outside func() bool
	// Findings takes all findings of a review. Nil: it is no review.
	Findings func([]event.Finding)
	// Unsaved returns the text of a file as an editor has it; ok is false if it is absent. Nil: no
	// editor is asked.
	Unsaved func(ctx context.Context, path string) (text string, ok bool)
	// External are the tools of others; nil: none.
	External External
	// Helpers: the model can start helpers. Draft returns the draft with that ID of one of them, or nil.
	Helpers bool
	Draft   func(id string) *draft.Draft
}

// Set holds the tools of a session.
type Set struct {
	tools    []tool
	disabled map[string]bool
	outside  func() bool // may be nil
	others   External    // may be nil
}

// All returns every tool; those in o.Disabled are disabled.
func All(o Options) *Set {
	paths := paths{o.Files, o.Workspace, o.Temp}
	shell := &shellTool{paths: paths, jobs: o.Jobs, shell: o.Shell, backend: o.Backend, apart: o.Apart, patches: !o.Disabled["apply_patch"]}
	s := &Set{disabled: o.Disabled, outside: o.Outside, others: o.External, tools: []tool{
		describe("shell", shellExample, shell.plan),
		describe("apply_patch", applyPatchExample, (&applyPatchTool{paths}).plan),
		describe("read_file", readFileExample, (&readFileTool{paths, o.Unsaved}).plan),
		describe("view_image", viewImageExample, (&viewImageTool{paths}).plan),
		describe("list_files", listFilesExample, (&listFilesTool{paths}).plan),
		describe("search", searchExample, (&searchTool{paths}).plan),
		describe("update_plan", updatePlanExample, planSteps),
		describe("ask_user", askUserExample, planAskUser),
		describe("fetch_url", fetchURLExample, (&fetchURLTool{}).plan),
		describe("write_stdin", writeStdinExample, (&writeStdinTool{o.Jobs}).plan),
		describe("background", backgroundExample, (&backgroundTool{o.Jobs}).plan),
	}}
	if o.Findings != nil {
		s.tools = append(s.tools, describe("report_findings", reportFindingsExample, (&reportFindingsTool{o.Findings}).plan))
	}
	if o.Helpers {
		s.tools = append(s.tools, describe("delegate", delegateExample, (&delegateTool{o.Draft}).plan), describe("keep_draft", keepDraftExample, (&keepDraftTool{paths, o.Draft}).plan))
	}
	return s
}

// Helping returns the tools of a helper of that kind: not those of others. A call of any other tool
// fails here with words, and would be refused by the gate.
func Helping(o Options, kind string) *Set {
	o.Jobs, o.Findings, o.External, o.Helpers = nil, nil, nil, false
	s := All(o)
	s.tools = slices.DeleteFunc(s.tools, func(t tool) bool {
		edits := t.Name == "apply_patch" && kind == Change
		return !edits && !slices.Contains([]string{"shell", "read_file", "view_image", "list_files", "search", "fetch_url"}, t.Name)
	})
	return s
}

// Specs describes the enabled tools, codeagent's own first.
func (s *Set) Specs() []model.ToolSpec {
	var out []model.ToolSpec
	inside := s.outside != nil && !s.outside()
	for _, t := range s.tools {
		switch {
		case s.disabled[t.Name]:
		case inside && t.Name == "shell":
			out = append(out, withoutEscalation(t.ToolSpec))
		default:
			out = append(out, t.ToolSpec)
		}
	}
	return append(out, s.external()...)
}

// own returns the index of codeagent's tool of that name, or -1.
func (s *Set) own(name string) int {
	return slices.IndexFunc(s.tools, func(t tool) bool { return t.Name == name })
}

// Names lists the enabled tools.
func (s *Set) Names() []string {
	var out []string
	for _, spec := range s.Specs() {
		out = append(out, spec.Name)
	}
	return out
}

// Plan plans a call. The error is written for the model, also for a tool that does not
// exist or is disabled.
func (s *Set) Plan(c model.ToolCall) (Call, error) {
	at := s.own(c.Name)
	if at < 0 && s.others != nil && !s.disabled[c.Name] {
		if planned, ok, err := s.others.Plan(c); ok {
			return planned, err
		}
	}
	if s.disabled[c.Name] {
		return nil, fmt.Errorf("the tool %s is switched off in the user's settings; do without it: the tools are %s", c.Name, strings.Join(s.Names(), ", "))
	}
	if at < 0 {
		hint := ""
		if near := nearest(c.Name, s.Names()); near != "" {
			hint = fmt.Sprintf(" Did you mean %s?", near)
		}
		return nil, fmt.Errorf("there is no tool %s; the tools are %s.%s", show(c.Name), strings.Join(s.Names(), ", "), hint)
	}
	planned, err := s.tools[at].plan(c.Arguments)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	planned.action.CallID = c.ID
	return planned, nil
}

// call is the Call of every tool; its Run checks the permit for all of them.
type call struct {
	action approvals.Action
	run    func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error)
	// command is what a call of the shell runs; nil for other tools.
	command func(s Stage) exec.Command
	// repeats: the call only reads, in the sandbox, and gives the same result while what it read is unchanged.
	repeats bool
}

func (c *call) Action() approvals.Action { return c.action }

// OnlyReads reports whether c gives the same result while what it passes to Stage.Looked is unchanged.
func OnlyReads(c Call) bool {
	own, ok := c.(*call)
	return ok && own.repeats
}

func (c *call) Run(ctx context.Context, p approvals.Permit, s Stage) (r Result, err error) {
	policy, err := p.Policy(c.action)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.action.Tool, err)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.action.Tool, context.Cause(ctx))
	}
	if check := p.Check(); check != nil && c.action.Kind != word.KindCommand { // exec compares as a command starts
		if err := check(); err != nil {
			return Result{}, fmt.Errorf("%s: %w", c.action.Tool, err)
		}
	}
	defer func() { r.sayUndoable(c.action) }()
	if name := c.action.Backend; name != "" && !policy.Unconfined {
		if s.in, err = s.In(name); err != nil {
			return Result{}, fmt.Errorf("%s: a rule sends this to the backend %s: %w", c.action.Tool, show(name), err)
		}
		s.Exec, s.Lab, s.Trial = s.in, nil, nil
		defer func() {
			r = r.With("\n[backend] A rule ran this in the backend " + name + ", whose programs and files may be others.")
		}()
	}
	if edit := c.action.Kind == word.KindEdit; s.Undo != nil && (edit || c.action.Confined()) {
		kept := s.Undo.Call()
		defer func() {
			kept.Settle()
			if !edit { // an edit reports its own changes
				r.Changed.Join(kept.Changed())
			}
		}()
		s.kept = kept
	}
	s.check = p.Check()
	begun := time.Now()
	var kept bool
	if r, kept = s.Trial.kept(c, policy); !kept {
		r, err = c.run(ctx, policy, s)
	}
	if r.Duration == 0 {
		r.Duration = time.Since(begun)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.action.Tool, err)
	}
	return r, err
}

// With adds text to r.
func (r Result) With(text string) Result {
	r.Text = strings.TrimRight(r.Text, "\n") + text
	return r
}

// sayUndoable adds to the text what the call deleted or overwrote and undo can restore.
func (r *Result) sayUndoable(a approvals.Action) {
	who := "command"
	if a.Server != nil {
		who = "server"
	}
	if words := r.Changed.Undoable(); words != "" {
		r.Text += "\n[undo] The " + who + " " + words + "."
	}
}

// Within cuts the text of a result to most bytes: head and tail. The whole text is kept in a file if possible.
func (s Stage) Within(text string, most int) string {
	if s.Exec == nil {
		return exec.Shorten(text, most, "")
	}
	return s.Exec.Within(text, most)
}

// failed returns a result that reports an error.
func failed(format string, args ...any) Result {
	text := fmt.Sprintf(format, args...)
	return Result{Text: text, Failed: true, Outcome: word.Failed, Message: oneLine(text)}
}

// done returns a successful result.
func done(text, message string) Result {
	return Result{Text: text, Outcome: word.OK, Message: message}
}
