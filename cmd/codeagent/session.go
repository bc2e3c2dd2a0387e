package main

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/instructions"
	"codeagent/cmd/codeagent/providers"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/egress"
	"codeagent/event"
	"codeagent/exec"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/tour"
	"codeagent/prompts"
	sessions "codeagent/session"
	"codeagent/tools"
	"codeagent/undo"
)

// face is what both front ends are to the wiring.
type face interface {
	Emit(event.Event)
	Ask(context.Context, approvals.Request) (approvals.Answer, error)
	Steer() (agent.Input, bool)
}

type sessionOptions struct {
	// attended: a person can answer questions.
	attended bool
	// hasPrompt: without a model there is then nothing to play the tour for.
	hasPrompt bool
	// ephemeral runs keep no session.
	ephemeral bool
	// images are the files that -i names.
	images []string
	// from is the session to go on with; nil begins one.
	from *sessionscmd.Resumed
	// maxRequests bounds the requests to the model in one turn; 0 is the agent's own bound.
	maxRequests int
}

// session is one conversation with everything it needs, joined.
type session struct {
	*workspace.Workspace
	options    sessionOptions
	chosen     providers.Chosen
	gate       *approvals.Gate
	checkedOut func() string            // what git says; waits for it
	trusted    func() workspace.Trusted // what git trusts in the write roots; waits for it
	agent      *agent.Agent             // set by join
	jobs       *exec.Jobs               // set by join
	tour       *tour.Tour               // nil with a real model
	start      event.SessionStarted     // as it was told last
	choosing   sync.Mutex               // guards chosen once a turn may run
	record     *record
	undo       *undo.History // nil where noUndo says why
	noUndo     error
	images     []model.Image // of -i, until the first message takes them along
}

// openSession builds everything below the faces. The order matters: what may be
// touched is settled before anything that could touch it exists.
func openSession(ctx context.Context, s cli.Stdio, f cli.Flags, o sessionOptions) (*session, error) {
	if o.from != nil && f.Folder == "" {
		f.Folder = o.from.Folder
	}
	ws, err := workspace.Open(ctx, s, f)
	if err != nil {
		return nil, err
	}
	images, err := attach.Images(ctx, ws.Ground(), o.images)
	if err != nil {
		ws.Close()
		return nil, err
	}
	ses := &session{Workspace: ws, options: o, images: images}
	if err := ses.chooseModel(ctx); err != nil {
		ses.close()
		return nil, err
	}
	if ses.record, err = ses.openRecord(); err != nil {
		ses.close()
		return nil, err
	}
	ses.openUndo()
	ses.trusted = ws.TrustBeside(ctx)
	ses.checkedOut = ws.CheckedOut(ctx)
	ses.gate = approvals.NewGate(approvals.Options{
		Mode: approvals.Mode(ws.Config.AskForApproval), Base: ws.Policy, Files: ws.Files,
		Home: s.Env("HOME"), Workspace: ws.Folder, NewID: sessions.NewID,
		GrantsHosts: ws.GrantsHosts, GrantsSockets: ws.GrantsSockets, Fetch: ws.FetchHosts,
		Path: filepath.SplitList(s.Env("PATH")), MadeGit: ws.MadeGit,
		Trusted: func() []string { return ses.trusted().Paths },
	})
	ses.Live = ses.gate.Open
	return ses, nil
}

// chooseModel settles who answers: a provider's model, or the tour where none is configured.
func (ses *session) chooseModel(ctx context.Context) error {
	o := ses.options
	w := providers.Wish{Attended: o.attended, Needed: o.hasPrompt || o.from != nil || len(o.images) > 0}
	if o.from != nil {
		w.Session, w.Switched = o.from.ID, o.from.After
	}
	var err error
	if ses.chosen, err = providers.Of(ses.Workspace).Choose(ctx, w); err != nil {
		return err
	}
	if ses.chosen.Model != nil {
		return ses.chosen.Sees(ses.images)
	}
	if ses.tour, err = startTour(ctx, ses.Workspace, o.attended); err == nil {
		ses.chosen.Model, ses.chosen.Name = chat.New(chat.Options{BaseURL: ses.tour.BaseURL}), tour.Model
	}
	return err
}

// join puts the agent between the session and a face, and tells the face what
// it is looking at.
func (ses *session) join(screen face) {
	mode := ses.gate.Mode()
	ses.runBeside(func(e event.Event) { screen.Emit(e) })
	set := tools.All(tools.Options{
		Workspace: ses.Folder, Files: ses.Files, AllowedWorkdirs: ses.Workdirs(),
		Disabled: ses.Config.DisabledTools(), Shell: ses.Shell(), Ripgrep: ses.Program("rg"), Jobs: ses.jobs,
	})
	facts := prompts.Facts{
		Workspace: ses.Folder, OS: runtime.GOOS + "/" + runtime.GOARCH, Shell: ses.Shell(), Date: time.Now().Format(time.DateOnly),
		Preset: ses.Config.Sandbox.Mode, Enforcement: ses.Enforcement, Mode: string(mode), Attended: ses.options.attended,
		Held: ses.options.attended && ses.NotHeld() == "",
	}
	facts.Evidence, _ = ses.Workspace.Evidence()
	unknown := sync.OnceFunc(func() {
		if words := ses.trusted().Words(); words != "" {
			screen.Emit(event.Notice{Level: event.LevelWarning, Text: words})
		}
	})
	for _, spec := range set.Specs() {
		facts.Tools = append(facts.Tools, spec.Name)
	}
	screen = ses.record.keep(screen)
	guides := instructions.New(ses.Workspace, ses.gate.Base, screen.Emit)
	cfg := agent.Config{
		Model: ses.chosen.Model, ModelName: ses.chosen.Name, Effort: ses.Config.ReasoningEffort,
		MaxOutputTokens: int(ses.chosen.Limits.Output), ContextLimit: int(ses.chosen.Limits.Context), CompactAt: ses.Config.CompactAt(), Tools: set, Gate: ses.gate, Blind: ses.chosen.Blind(),
		Stage:    tools.Stage{Exec: ses.Runner, Undo: ses.undo, Fetch: egress.New(egress.Options{Version: ses.Stdio.Version}), Asking: ses.options.attended, Mode: mode},
		Frontend: screen, Attended: ses.options.attended, Hold: ses.holds, News: ses.news, MaxRequests: ses.options.maxRequests,
		Parallel:     exec.AtOnce,
		WholeAnswers: ses.Config.Speculation != config.Decoding,
		Instructions: func() string {
			facts.Policy = ses.gate.Base() // the live one: session grants are in it
			facts.Git = ses.checkedOut()
			unknown()
			facts.Instructions = guides.Current()
			return prompts.System(facts)
		},
	}
	id := ses.record.join(&cfg)
	ses.agent = agent.New(cfg)
	ses.start = event.SessionStarted{
		ID: id, Model: ses.chosen.Title(ses.chosen.Name), Folder: ses.Folder, Policy: ses.Config.Sandbox.Mode, Approval: string(mode),
		Enforcement: ses.Enforcement, Tour: ses.tour != nil,
	}
	ses.start.Window, ses.start.Assumed = ses.chosen.Window()
	screen.Emit(ses.start)
	ses.record.tellPast(screen.Emit, set, ses.options.attended)
	if first := ses.chosen.First; first != nil {
		first.Found = func(name string) {
			c := ses.asked()
			c.Name, c.Limits = name, first.Limits(name)
			ses.agent.Learn(int(c.Limits.Context))
			ses.asks(c, screen.Emit)
		}
	}
	ses.tellImages(screen)
	if ses.chosen.Notice.Text != "" {
		screen.Emit(ses.chosen.Notice)
	}
	for _, offer := range ses.chosen.Offers {
		screen.Emit(event.Notice{Level: event.LevelInfo, Text: offer})
	}
	ses.tellUndo(screen.Emit)
	if ses.Config.ProjectFile != "" {
		screen.Emit(event.Notice{Level: event.LevelInfo, Text: ses.Config.ProjectFile + " is not read: settings of a project are not taken over"})
	}
}

// holds reports whether a refused call of the command that starts now may wait.
func (ses *session) holds() bool {
	return ses.NotHeld() == "" && (ses.tour == nil || ses.tour.Waits())
}

func (ses *session) close() {
	ses.endBeside(ses.endedWith)
	if ses.tour != nil {
		ses.tour.Close()
	}
	ses.closeUndo()
	if ses.gate != nil {
		_ = ses.NoteGrants(ses.gate.Base()) // what was granted; leaving, and nobody to tell
	}
	if ses.record != nil {
		_ = ses.record.log.Close() // every turn is on the disk already
	}
	ses.Workspace.Close()
}
