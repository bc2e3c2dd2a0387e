// Package conversation joins the agent with a model, a gate, tools, a record and undo: one
// run of a session, behind any face. It acts on the host only through those rooms. Read Open
// first, then Base.Join.
package conversation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/agent"
	"codeagent/answers"
	"codeagent/approvals"
	"codeagent/approvals/rules"
	"codeagent/approvals/without"
	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/extensions"
	"codeagent/cmd/codeagent/languages"
	"codeagent/cmd/codeagent/providers"
	"codeagent/cmd/codeagent/servers"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/config/server"
	"codeagent/egress"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/hooks"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/tour"
	"codeagent/patterns"
	"codeagent/sandbox"
	sessions "codeagent/session"
	"codeagent/tools"
	"codeagent/undo"
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

// Options configures the run of a session.
type Options struct {
	Audience
	Beginning
	Scope
}

// Audience is who is at the other side of the face, and what they see and write.
type Audience struct {
	// Attended: a person can answer questions.
	Attended bool
	// ToolsOnly: there is no model, and another program calls the tools. No command runs in the
	// background.
	ToolsOnly bool
	// Command is the command of codeagent that opens the session, for hints about flags; empty: exec.
	Command string
	// Hint is what a person can do about a refusal in this face; "": flags of codeagent exec.
	Hint string
	// Past is how much of the earlier conversation the face is shown.
	Past Past
	// Mentions: a message that names resources of MCP servers, as @NAME:uri, or lines of files brings them along. Only
	// where a person or a script of theirs writes the messages.
	Mentions bool
	// Unsaved is tools.Options.Unsaved.
	Unsaved func(ctx context.Context, path string) (text string, ok bool)
}

// Beginning is what the conversation begins with.
type Beginning struct {
	// From is the session to resume; nil begins one. Like is the ID of the session of this run that came
	// before a new one, whose model is asked; empty: none did, or it has no record.
	From *sessionscmd.ResumeTarget
	Like string
	// Ephemeral: the run has no record.
	Ephemeral bool
	// Tour: a person has agreed to the tour, which plays where there is no model.
	Tour bool
	// HasPrompt: there is a prompt, which the tour cannot answer.
	HasPrompt bool
	// Images are the files that -i names.
	Images []string
	// Effort is how long the model may think, as the person chose in this run; empty: the setting.
	Effort string
}

// Scope is what this run may and must, beside the settings.
type Scope struct {
	// Approvals names an exported file whose grants the run gets. It may be empty.
	Approvals string
	// Rules are further rules, for this run.
	Rules []*rules.Rule
	// ReadOnly: commands may write temporary files only.
	ReadOnly bool
	// Servers are MCP servers that an editor hands in, by name. They join those of the settings.
	Servers map[string]server.Settings
	// Learn is servers.Options.Learn.
	Learn func(name string) func(sandbox.Denial) (sandbox.Grant, bool)
	// Bounds end a turn that uses too much. Open finds the price.
	Bounds agent.Bounds
	// Schema is the form of answers; nil: any text.
	Schema *agent.Schema
	// Findings takes the findings of a review: see tools.Options. It may be nil.
	Findings func(context.Context, []event.Finding) []event.Finding
	// KeepTemp is the folder to which files of the session's own /tmp are copied at the end of a turn.
	KeepTemp string
}

// Base is all of a session that is below its face: what may be touched, the model, the record. Join
// makes a Session of it. Close ends what was begun, also where there is no Session.
type Base struct {
	Workspace  *workspace.Workspace
	Options    Options
	chosen     providers.Chosen
	choosing   sync.Mutex // guards chosen once a turn may run
	Gate       *approvals.Gate
	checkedOut func() string             // returns git's description of the checkout; waits for it
	trusted    func() workspace.GitTrust // returns what git trusts in the write roots; waits for it
	Tour       *tour.Tour                // nil with a real model
	project    workspace.ProjectRules
	Extensions extensions.Found
	Servers    *servers.Servers // nil without MCP servers
	reviewer   *agent.Reviewer  // may be nil
	Record     *record
	Undo       *undo.History // nil; noUndo is the reason, or the session works on a draft
	noUndo     error
	kept       *undo.History   // of what is kept of drafts; nil as Undo, but not on a draft
	Without    *without.Memory // what programs did without; damaged is what is wrong with its file
	damaged    error
	images     []model.Image // of -i, until the first message takes them
	observers  []func(event.Event)
	problems   []string // with the telemetry
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
	// memory is what was learned, nil: nothing is. folds: the journal of it is to be folded. The turn that runs uses them.
	memory *patterns.Memory
	folds  bool
	// earlier are the answers of earlier sessions; nil: none are used.
	earlier *answers.Memory
}

// Open builds everything below the faces.
func Open(ctx context.Context, s cli.Stdio, f cli.Flags, o Options) (*Base, error) {
	if o.From != nil && f.Folder == "" {
		f.Folder = o.From.Folder
	}
	ws, err := workspace.Open(ctx, s, f)
	if err != nil {
		return nil, err
	}
	ws.Config.ReasoningEffort = cmp.Or(o.Effort, ws.Config.ReasoningEffort)
	ses := &Base{Workspace: ws, Options: o}
	if err := ses.open(ctx, s); err != nil {
		ses.Close()
		return nil, err
	}
	return ses, nil
}

// open opens one thing after the other. The order matters: the permissions are fixed before anything
// that could use them exists.
func (ses *Base) open(ctx context.Context, s cli.Stdio) (err error) {
	ws, o := ses.Workspace, ses.Options
	ses.openObservers(s)
	if ses.images, err = attach.Images(ctx, ws.Ground(), o.Images); err != nil {
		return err
	}
	if err := ses.chooseModel(ctx); err != nil {
		return err
	}
	if err := ses.openRecord(); err != nil {
		return err
	}
	if ses.Record != nil {
		ws.AtClose(ses.Record.Log.Close)
	}
	if ses.Options.Bounds.Price, err = ses.priced(ctx, o.Bounds.Cost); err != nil {
		return err
	}
	ses.openUndo()
	ses.Without, ses.damaged = without.Open(ws.Paths.Without, s.Env("HOME"))
	ses.trusted = ws.TrustBeside(ctx)
	ses.checkedOut = ws.CheckedOut(ctx)
	own, _, err := workspace.ReadRules(ctx, s, ws.Paths)
	if err != nil {
		return err
	}
	for _, r := range own {
		if r.Backend == "" {
			continue
		}
		if _, err := ws.Config.BackendKind(r.Backend); err != nil {
			return cli.Usage(fmt.Errorf("%s:%d: %w", r.File, r.Line, err))
		}
	}
	ses.project = ws.ProjectRules(ctx, own)
	ses.Extensions = extensions.Read(ctx, ws)
	configured := configured(o, ses.Extensions, ws.Config)
	ws.Policy = servers.Protect(ws, ses.Extensions.Protect(ws, ws.Policy), configured)
	if ses.reviewer, err = ses.reviewerOf(ctx, ws.Config.ReviewModel()); err != nil {
		return err
	}
	protect := func(p sandbox.Policy) sandbox.Policy { return ses.trusted().Protect(p) }
	if err := ses.openGate(s, slices.Concat(own, o.Rules), protect); err != nil {
		return err
	}
	if err := ses.adopt(ctx); err != nil {
		return err
	}
	ws.Live = ses.Gate.Open
	ses.Servers = servers.Open(ctx, servers.Options{
		Workspace: ws, Configured: configured, Ledger: ses.Gate.Ledger(), Undo: ses.Undo, Learn: o.Learn, Trusted: protect,
	})
	ws.AtClose(func() error { ses.Servers.Close(); return nil })
	if err := ses.Servers.Required(ctx); err != nil {
		return cli.Hinted(cli.ExitFailed, err, "codeagent mcp test NAME says more; required = false in the settings starts without it")
	}
	return nil
}

// openGate makes the gate, and restricts it as the model and the options ask.
func (ses *Base) openGate(s cli.Stdio, list []*rules.Rule, protect func(sandbox.Policy) sandbox.Policy) error {
	ws, o := ses.Workspace, ses.Options
	hosts, sockets := ws.Grantable()
	most, err := ws.Config.Ceiling(ws.Place)
	if err != nil {
		return cli.Usage(err)
	}
	var managed func(g sandbox.Grant, fetch bool) string
	if most != nil {
		managed = func(g sandbox.Grant, fetch bool) string {
			return most(config.Opening{Write: g.Write, Read: g.Read, Sockets: g.Sockets, Hosts: g.Hosts, Unsandboxed: g.Unsandboxed}, fetch)
		}
	}
	ses.Gate = approvals.NewGate(approvals.Options{
		Rules: rules.Join(list, ses.project.Narrower), Save: ses.saver(), Refresh: ses.refresher(),
		Mode: approvals.Mode(ws.Config.AskForApproval), Refuse: ws.Config.Refuse, Base: ws.Policy, Files: ws.Files,
		Home: s.Env("HOME"), Workspace: ws.Folder, NewID: sessions.NewID,
		GrantsHosts: hosts, GrantsSockets: sockets, Fetch: ws.FetchHosts, Settings: ws.Opened, Changed: ses.noteGranted,
		Path: filepath.SplitList(s.Env("PATH")), MadeGit: ws.MadeGit, Content: contents{ws},
		Managed: managed, Decides: ws.Config.Decides,
		Trusted: protect, Reasons: o.Attended, Hint: o.Hint, Careless: ws.Config.Unkept == "allow", Backend: ws.Config.Sandbox.Backend,
	})
	ws.AtClose(func() error { return ws.NoteGrants(ses.Gate.Base()) })
	ses.Gate.SetCommand(o.Command, func(g sandbox.Grant) []string {
		flags, left := ws.Place.Flags(ws.Config, "", g, nil)
		words := make([]string, len(flags))
		for i, f := range flags {
			words[i] = f.Name + " " + short.ShellWord(f.Values[0])
		}
		if len(left) > 0 {
			return nil
		}
		return words
	})
	if err := ses.restrict(ses.chosen); err != nil {
		return cli.Usage(err)
	}
	if !o.ReadOnly {
		return nil
	}
	if err := ses.Gate.SetReadOnly(true); err != nil {
		return cli.Usage(err, "--sandbox read-only uses one; --sandbox danger-full-access goes without")
	}
	return nil
}

// Close ends and records all that was begun, the last first.
func (ses *Base) Close() { ses.Workspace.Close() }

// configured returns the MCP servers of a session: those of the settings, the project and the editor,
// in this order of precedence, without the disabled ones. Where there is no model, nobody uses them.
func configured(o Options, project extensions.Found, settings config.Config) map[string]server.Settings {
	if o.ToolsOnly {
		return nil
	}
	out := map[string]server.Settings{}
	for _, list := range []map[string]server.Settings{o.Servers, project.Servers, settings.MCP.Servers} {
		maps.Copy(out, list)
	}
	maps.DeleteFunc(out, func(name string, _ server.Settings) bool { return settings.DisabledServers()[name] })
	return out
}

// NoModel is the error that a person is to choose a model, or the tour. Err is why the configured provider
// cannot be used; nil: none is configured. Paths are codeagent's own; Readable: commands can read its records here.
type NoModel struct {
	Err      error
	Paths    config.Paths
	Readable bool
}

func (n *NoModel) Error() string {
	if n.Err != nil {
		return n.Err.Error()
	}
	return "no model is configured"
}

func (n *NoModel) Unwrap() error { return n.Err }

// ReadableRecords reports whether commands can read codeagent's own records on this machine.
func (ses *Base) ReadableRecords() bool {
	e := ses.Workspace.Enforcement
	return ses.Workspace.Policy.Unconfined || e.Weak("own-records") || e.Weak("unconfined")
}

// chooseModel chooses the model: a provider's, or the tour if no provider is configured.
func (ses *Base) chooseModel(ctx context.Context) error {
	o := ses.Options
	if o.ToolsOnly { // whose model it is, nobody says: it may ask what any model may
		ses.chosen.Rules = ses.Workspace.Config.RulesOf(config.Provider{}, "")
		return nil
	}
	w := providers.Wish{Attended: o.Attended, Served: o.Command != "", Needed: o.HasPrompt || o.From != nil || len(o.Images) > 0}
	if o.From != nil {
		w.Session, w.Switched = o.From.ID, o.From.After
	} else if o.Like != "" {
		w.Session, w.Switched = o.Like, true
	}
	var err error
	ses.chosen, err = providers.Of(ses.Workspace).Choose(ctx, w)
	code, _, _ := cli.ExitOf(err)
	switch keyless := o.Attended && !w.Needed && err != nil && code == cli.ExitSignIn; {
	case err != nil && !keyless:
		return err
	case ses.chosen.Model != nil:
		return ses.chosen.Sees(ses.images)
	case o.Attended && !o.Tour:
		return &NoModel{Err: err, Paths: ses.Workspace.Paths, Readable: ses.ReadableRecords()}
	}
	if ses.Tour, err = startTour(ctx, ses.Workspace, o.Attended); err == nil {
		ses.Workspace.AtClose(func() error { ses.Tour.Close(); return nil })
		ses.chosen.Model, ses.chosen.Name = chat.New(chat.Options{BaseURL: ses.Tour.BaseURL}), tour.Model
		ses.chosen.Rules = ses.Workspace.Config.RulesOf(config.Provider{}, tour.Model)
	}
	return err
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
		Frontend: ses.face, Attended: ses.Options.Attended, Hold: ses.holds, News: ses.news, Without: ses.Without, Bounds: ses.Options.Bounds, Schema: ses.Options.Schema, Reviewer: ses.reviewer,
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

// openUndo opens the session's history, so that turns can be undone. If the store cannot be
// used, the session runs without undo.
func (ses *Base) openUndo() {
	id := sessions.NewID()
	if ses.Record != nil {
		id = ses.Record.Log.ID()
	}
	store := undo.New(ses.Workspace.Paths.Undo)
	if ses.Undo, ses.noUndo = store.Open(id); ses.noUndo != nil {
		ses.Undo = nil
		return
	}
	if ses.kept = ses.Undo; ses.Workspace.Draft != nil {
		ses.Undo = nil // its changes are not in the files
	} else {
		ses.Undo.Careless = ses.Workspace.Config.Unkept == "allow"
		if ses.Record != nil {
			ses.Record.Log.Turn = ses.Undo.Next
		}
	}
	ses.Workspace.AtClose(ses.closeUndo)
	go store.Sweep() // nothing waits for it
}

// closeUndo discards a history that cannot be used any more.
func (ses *Base) closeUndo() error {
	if ses.Record == nil {
		return ses.kept.Discard() // what is left is swept later
	}
	return ses.kept.Close()
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
