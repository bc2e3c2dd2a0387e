// Package conversation joins the agent with a model, a gate, tools, a record and undo: one
// run of a session, behind any face. It acts on the host only through those rooms. Read Open
// first, then Join.
package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/agent"
	"codeagent/answers"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/languages"
	"codeagent/config"
	"codeagent/egress"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/hooks"
	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
	"codeagent/model"
	"codeagent/patterns"
	"codeagent/sandbox"
	"codeagent/tools"
)

// Face shows a session and asks its user: the screen, or a printer.
type Face interface {
	Emit(event.Event)
	Ask(context.Context, approvals.Request) (approvals.Answer, error)
	Steer() (agent.Input, bool)
	// Inquire puts a question of an MCP server or the model to the person and waits for the answer or
	// for ctx. Several goroutines may call it. An error counts as a decline; see inquiry.ErrNobody.
	Inquire(context.Context, inquiry.Question) (inquiry.Reply, error)
}

// Session is one run of a session: the agent, its face and everything below.
type Session struct {
	*Base
	Agent  *agent.Agent
	Jobs   *exec.Jobs
	tools  *tools.Set
	apart  apart                // of the helpers
	start  event.SessionStarted // as last reported
	calls  calls                // of Call
	face   *front
	steps  steps
	during context.Context // of the turn that runs, whose goroutine alone uses it
	// memory learns which call follows which step; nil: nothing is learned. foldDue: the journal is to be folded at the
	// end of the session. The running turn uses both.
	memory  *patterns.Memory
	foldDue bool
	// earlier are the answers of earlier sessions; nil: none are used.
	earlier *answers.Memory
}

// Join makes the session whole: it connects what was opened and a face through the agent. The face is
// shown nothing before Begin.
func Join(base *Base, screen Face) *Session {
	ses := &Session{Base: base}
	mode := ses.Gate.Mode()
	ses.face = &front{Face: screen, ses: ses, known: map[string]time.Time{}}
	ses.Workspace.AtClose(ses.apart.close)
	ses.Workspace.AtClose(func() error {
		if !slices.ContainsFunc(ses.steps.list, func(s step) bool { return s.talk != nil }) {
			ses.sends() // a note would make a rewind last
		}
		return nil
	})
	ses.Jobs = exec.NewJobs(ses.Workspace.Runner, func(running int) {
		ses.face.Emit(event.BackgroundChanged{Running: running, Ports: addresses(ses.Jobs)})
	})
	ses.Workspace.AtClose(func() error {
		ses.EndJobs(func(e event.BackgroundEnded) { fmt.Fprintln(ses.Workspace.Stdio.Err, visible.Line(e.Message)) })
		return nil
	})
	ses.earlier = ses.openAnswers()
	files := sandbox.FileSystem(ses.Workspace.Files)
	if ses.earlier != nil {
		files = observed{files, ses.earlier.Looked}
	}
	options := tools.Options{
		Workspace: ses.Workspace.Folder, Files: files, Temp: Temp(ses).Path,
		Disabled: ses.Workspace.Config.DisabledTools(), Shell: ses.Workspace.Shell(), Backend: ses.Gate.BackendOf, Apart: ses.Workspace.Config.Streams == config.Apart, Jobs: ses.Jobs, Unsaved: ses.Options.Unsaved,
		Outside: func() bool { return !ses.Gate.Model().NoOutside }, Findings: ses.Options.Findings, Helpers: true, Draft: ses.apart.draft,
	}
	if ses.Options.ToolsOnly {
		options.Jobs, options.Helpers = nil, false
	}
	if ses.Servers != nil {
		options.External = ses.Servers
	}
	set := tools.All(options)
	ses.tools = set
	facts := ses.facts()
	prompt := ses.prompter()
	cfg := agent.Config{
		Model: ses.chosen.Model, ModelName: ses.chosen.Name, Effort: ses.Workspace.Config.ReasoningEffort,
		MaxOutputTokens: int(ses.chosen.Limits.Output), ContextLimit: int(ses.chosen.Context()), CompactAt: int(ses.Workspace.Config.Context.At), Tools: set, Gate: ses.Gate, Blind: ses.chosen.Blind(),
		Stage:    tools.Stage{Exec: ses.Workspace.Runner, In: ses.in, Drafts: ses.drafts(), Lab: ses.Workspace.Lab(), Undo: ses.Undo, Fetch: egress.New(ses.Workspace.Process.Version), Inquire: ses.face.Inquire, Asking: ses.Options.Attended, Mode: mode},
		Frontend: ses.face, Attended: ses.Options.Attended, Hold: ses.holds, News: ses.news, Without: ses.Without, Bounds: ses.Options.Bounds, Schema: ses.Options.Schema,
		Parallel:     exec.AtOnce,
		Search:       ses.Workspace.Config.MaySearch(),
		Ahead:        ses.ahead(),
		WholeAnswers: ses.Workspace.Config.Speculation != config.Decoding,
		Instructions: func() string {
			own := facts
			own.Skills, own.Servers, own.Plan = ses.Extensions.Skills, ses.Servers.Instructions(), ses.Gate.Plan()
			return prompt(own, ses.Gate, ses.Workspace.Runner, ses.preset(), set)
		},
	}
	cfg.Helper = func(_ context.Context, n int, kind string) (agent.Helper, error) {
		return ses.helper(n, kind, options, func(gate *approvals.Gate, runner *exec.Runner, set *tools.Set) string {
			own := facts
			own.Helper, own.Schema = kind, ""
			preset := config.ReadOnly
			if kind == tools.Change {
				preset = ses.preset()
			}
			return prompt(own, gate, runner, preset, set)
		})
	}
	id := ses.Record.join(&cfg)
	cfg.PublishAt = publishAt(id)
	cfg.Hooks = ses.hooks(id, options, cfg.Stage)
	if ses.earlier != nil {
		cfg.Answers = &agent.Answers{Memory: ses.earlier, Scope: ses.scope}
	}
	if checker := ses.languages(); checker != nil {
		cfg.Diagnostics = checker
	}
	ses.Agent = agent.New(cfg)
	ses.start = event.SessionStarted{
		ID: id, Folder: ses.Workspace.Folder, Policy: ses.Workspace.Config.Sandbox.Mode, Approval: string(mode),
		Enforcement: ses.Workspace.Enforcement, Tour: ses.Tour != nil, Uncounted: ses.Record != nil && ses.Record.Log.Total() == nil,
	}
	if !ses.Options.Attended { // a screen asks the gate, and can change it
		ses.start.Policy = ses.preset()
	}
	ses.describe(ses.chosen)
	return ses
}

// in is workspace.In, and says once what the backend does not enforce.
func (ses *Session) in(name string) (*exec.Runner, error) {
	r, weak, err := ses.Workspace.In(name)
	if len(weak) > 0 {
		ses.face.Emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("the backend %s, to which a rule sends commands, does not enforce everything (codeagent doctor --backend %s): %s", name, name, strings.Join(weak, ", "))})
	}
	return r, err
}

// hooks runs the user's hooks. /undo restores what they change, as of a call under o and stage.
func (ses *Session) hooks(id string, o tools.Options, stage tools.Stage) *hooks.Set {
	return hooks.New(hooks.Options{
		Hooks: ses.Extensions.Hooks, Session: id, Folder: ses.Workspace.Folder,
		Run: func(ctx context.Context, h hooks.Hook, p sandbox.Policy, stdin []byte) hooks.Exit {
			p, err := ses.Workspace.HookPolicy(p)
			ended := hooks.Exit{Err: err}
			if err == nil {
				o.Recorded(ctx, p, stage, func(changes sandbox.ChangeObserver) {
					ended = ses.Workspace.RunHook(ctx, p, changes, h, stdin)
				})
			}
			return ended
		},
	})
}

// languages are the language servers that may be started; nil: none.
func (ses *Session) languages() *languages.Languages {
	l := languages.New(languages.Options{
		Workspace: ses.Workspace, Trusted: func(p sandbox.Policy) sandbox.Policy { return ses.trusted().Protect(p) },
		Warn: func(text string) { ses.face.Emit(event.Notice{Level: word.LevelWarning, Text: text}) },
	})
	ses.Workspace.AtClose(func() error { l.Close(); return nil })
	return l
}

// Begin shows the face the session and what was found when it was opened. From here on the MCP servers
// use the face.
func (ses *Session) Begin() {
	screen := ses.face
	ses.Servers.Attach(screen)
	for _, p := range ses.problems {
		screen.Emit(event.Notice{Level: word.LevelWarning, Text: "telemetry: " + p})
	}
	screen.Emit(ses.start)
	if ses.Workspace.Draft != nil {
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: "this session works on a draft: nothing is in your files before you keep it"})
	}
	ses.Record.showPast(screen.Emit, ses.tools, ses.Options)
	if used := ses.Record.used(); used != (model.Usage{}) {
		screen.Face.Emit(event.UsageUpdated{Total: used}) // the face alone: no answer was read
	}
	if first := ses.chosen.First; first != nil {
		first.Found = func(name string) error {
			c := ses.Asked()
			c.Name = name
			c.Limits, c.Rules = first.Known(name)
			if err := ses.restrict(c); err != nil {
				return err
			}
			ses.Agent.Learn(int(c.Context()))
			ses.asks(c, screen.Emit)
			return nil
		}
	}
	ses.reportImages(screen)
	ses.tell(screen)
}

// tell reports what was found when the session was opened.
func (ses *Session) tell(screen *front) {
	if ses.chosen.Notice.Text != "" {
		screen.Emit(ses.chosen.Notice)
	}
	if ses.damaged != nil {
		screen.Emit(event.Notice{Level: word.LevelWarning, Text: ses.damaged.Error()})
	}
	if ses.noUndo != nil {
		screen.Emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("turns cannot be undone: %v", ses.noUndo)})
	}
	faults, note := ses.project.Words()
	for _, words := range faults {
		screen.Emit(event.Notice{Level: word.LevelWarning, Text: words})
	}
	if note != "" {
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: note})
	}
	for _, words := range ses.Extensions.Left {
		screen.Emit(event.Notice{Level: word.LevelWarning, Text: words})
	}
	if ses.Extensions.Untrusted != "" {
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: ses.Extensions.Untrusted})
	}
	if ses.Workspace.Config.ProjectFile != "" {
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: ses.Workspace.Config.ProjectFile + " is ignored: codeagent reads no settings of a project (its hooks go in .codeagent/hooks.toml)"})
	}
}

// holds reports whether a refused call of the command that starts now may be held.
func (ses *Session) holds() bool {
	mode := ses.Gate.Mode()
	if mode == approvals.Untrusted {
		mode = approvals.OnRequest // it still asks about losses that undo cannot reverse
	}
	return ses.Workspace.NotHeldUnder(mode) == "" && (ses.Tour == nil || ses.Tour.Waits())
}

// reportImages names the images of the first message before the person writes it.
func (ses *Session) reportImages(screen *front) {
	if ses.Options.HasPrompt {
		return
	}
	for _, img := range ses.images {
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: img.String() + " goes with your first message"})
	}
}

// Sees returns an error if the current model sees no images.
func (ses *Session) Sees() error {
	if name, blind := ses.Agent.Blind(); blind {
		return fmt.Errorf("%s cannot see images: /model chooses one that can", name)
	}
	return nil
}

// Command runs a command of the user's; /undo restores what it changed, as after a turn.
func (ses *Session) Command(ctx context.Context, command string) error {
	ses.sends()
	defer ses.saveDraft()
	if ses.Undo != nil {
		ses.Undo.Begin("! " + command)
		defer ses.Undo.End()
	}
	return ses.Agent.Command(ctx, command)
}

// Remember adds a line of the user's to a file of instructions. Where commands may write the file, /undo takes the
// line out again, as after a turn, and undone says so.
func (ses *Session) Remember(ctx context.Context, file, line string) (undone bool, err error) {
	var before sandbox.ChangeObserver
	if ses.Undo != nil && ses.Gate.Base().JudgeWrite(file).Allowed {
		ses.sends()
		ses.Undo.Begin("/memory " + line)
		defer ses.Undo.End()
		call := ses.Undo.Call()
		defer call.Settle()
		before = call
	}
	return before != nil, ses.Workspace.AddLine(ctx, file, line, before)
}

// Turn delivers a message and starts a turn in the undo history. The first message of the
// run gets the images of -i, after those that its text numbers.
func (ses *Session) Turn(ctx context.Context, in agent.Input) error {
	ses.sends()
	defer ses.saveDraft()
	if ses.Undo != nil {
		ses.Undo.Begin(in.Text)
		defer ses.Undo.End()
	}
	in.Images = append(in.Images, ses.images...)
	ses.images = nil
	ses.during = ctx
	in = mentioned(ctx, ses, in)
	return ses.Agent.Turn(ctx, in)
}
