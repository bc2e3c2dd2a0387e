package main

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
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
	from *resumed
	// maxRequests bounds the requests to the model in one turn; 0 is the agent's own bound.
	maxRequests int
}

// session is one conversation with everything it needs, joined.
type session struct {
	*box
	options    sessionOptions
	chosen     chosen
	gate       *approvals.Gate
	checkedOut func() string        // what git says; waits for it
	trusted    func() trusted       // what git trusts in the write roots; waits for it
	agent      *agent.Agent         // set by join
	jobs       *exec.Jobs           // set by join
	tour       *tour.Tour           // nil with a real model
	start      event.SessionStarted // as it was told last
	choosing   sync.Mutex           // guards chosen once a turn may run
	record     *record
	undo       *undo.History // nil where noUndo says why
	noUndo     error
	images     []model.Image // of -i, until the first message takes them along
}

// openSession builds everything below the faces. The order matters: what may be
// touched is settled before anything that could touch it exists.
func openSession(ctx context.Context, s cli.Stdio, f cli.Flags, o sessionOptions) (*session, error) {
	if o.from != nil && f.Folder == "" {
		f.Folder = o.from.folder
	}
	box, err := newBox(ctx, s, f, sandboxFlags{})
	if err != nil {
		return nil, err
	}
	images, err := loadImages(ctx, box.ground(), o.images)
	if err != nil {
		box.close()
		return nil, err
	}
	ses := &session{box: box, options: o, images: images}
	if err := ses.chooseModel(ctx); err != nil {
		ses.close()
		return nil, err
	}
	if ses.record, err = ses.openRecord(); err != nil {
		ses.close()
		return nil, err
	}
	ses.openUndo()
	ses.trusted = box.trustBeside(ctx)
	ses.checkedOut = askGit(ctx, box)
	ses.gate = approvals.NewGate(approvals.Options{
		Mode: approvals.Mode(box.cfg.AskForApproval), Base: box.policy, Files: box.files,
		Home: s.Env("HOME"), Workspace: box.workspace, NewID: sessions.NewID,
		GrantsHosts: box.grantsHosts, GrantsSockets: box.grantsSockets, Fetch: box.fetchHosts,
		Path: filepath.SplitList(s.Env("PATH")), MadeGit: box.madeGit,
		Trusted: func() []string { return ses.trusted().paths },
	})
	ses.live = ses.gate.Open
	return ses, nil
}

// chooseModel settles who answers: a provider's model, or the tour where none is configured.
func (ses *session) chooseModel(ctx context.Context) error {
	o := ses.options
	w := wish{attended: o.attended, needed: o.hasPrompt || o.from != nil || len(o.images) > 0}
	if o.from != nil {
		w.session, w.switched = o.from.id, o.from.after
	}
	var err error
	if ses.chosen, err = providersOf(ses.box).choose(ctx, w); err != nil {
		return err
	}
	if ses.chosen.model != nil {
		return ses.chosen.seesThem(ses.images)
	}
	if ses.tour, err = startTour(ctx, ses.box, o.attended); err == nil {
		ses.chosen.model, ses.chosen.name = chat.New(chat.Options{BaseURL: ses.tour.BaseURL}), tour.Model
	}
	return err
}

// join puts the agent between the session and a face, and tells the face what
// it is looking at.
func (ses *session) join(screen face) {
	mode := ses.gate.Mode()
	ses.runBeside(func(e event.Event) { screen.Emit(e) })
	set := tools.All(tools.Options{
		Workspace: ses.workspace, Files: ses.files, AllowedWorkdirs: ses.workdirs(),
		Disabled: ses.cfg.DisabledTools(), Shell: ses.shell(), Ripgrep: ses.program("rg"), Jobs: ses.jobs,
	})
	facts := prompts.Facts{
		Workspace: ses.workspace, OS: runtime.GOOS + "/" + runtime.GOARCH, Shell: ses.shell(), Date: time.Now().Format(time.DateOnly),
		Preset: ses.cfg.Sandbox.Mode, Enforcement: ses.enforcement, Mode: string(mode), Attended: ses.options.attended,
		Held: ses.options.attended && ses.notHeld() == "",
	}
	facts.Evidence, _ = ses.box.evidence()
	unknown := sync.OnceFunc(func() {
		if words := ses.trusted().words(); words != "" {
			screen.Emit(event.Notice{Level: "warning", Text: words})
		}
	})
	for _, spec := range set.Specs() {
		facts.Tools = append(facts.Tools, spec.Name)
	}
	screen = ses.record.keep(screen)
	guides := ses.newInstructions(screen.Emit)
	cfg := agent.Config{
		Model: ses.chosen.model, ModelName: ses.chosen.name, Effort: ses.cfg.ReasoningEffort,
		MaxOutputTokens: int(ses.chosen.limits.Output), ContextLimit: int(ses.chosen.limits.Context), CompactAt: ses.cfg.CompactAt(), Tools: set, Gate: ses.gate, Blind: ses.chosen.blind(),
		Stage:    tools.Stage{Exec: ses.runner, Undo: ses.undo, Fetch: egress.New(egress.Options{Version: ses.s.Version}), Asking: ses.options.attended, Mode: mode},
		Frontend: screen, Attended: ses.options.attended, Hold: ses.holds, News: ses.news, MaxRequests: ses.options.maxRequests,
		Parallel:     exec.AtOnce,
		WholeAnswers: ses.cfg.Speculation != config.Decoding,
		Instructions: func() string {
			facts.Policy = ses.gate.Base() // the live one: session grants are in it
			facts.Git = ses.checkedOut()
			unknown()
			facts.Instructions = guides.current()
			return prompts.System(facts)
		},
	}
	id := ses.record.join(&cfg)
	ses.agent = agent.New(cfg)
	ses.start = event.SessionStarted{
		ID: id, Model: ses.chosen.title(ses.chosen.name), Folder: ses.workspace, Policy: ses.cfg.Sandbox.Mode, Approval: string(mode),
		Enforcement: ses.enforcement, Tour: ses.tour != nil,
	}
	ses.start.Window, ses.start.Assumed = ses.chosen.window()
	screen.Emit(ses.start)
	ses.record.tellPast(screen.Emit, set, ses.options.attended)
	if first := ses.chosen.first; first != nil {
		first.found = func(name string) {
			c := ses.asked()
			c.name, c.limits = name, first.limits(name)
			ses.agent.Learn(int(c.limits.Context))
			ses.asks(c, screen.Emit)
		}
	}
	ses.tellImages(screen)
	if ses.chosen.told.Text != "" {
		screen.Emit(ses.chosen.told)
	}
	for _, offer := range ses.chosen.offers {
		screen.Emit(event.Notice{Level: "info", Text: offer})
	}
	ses.tellUndo(screen.Emit)
	if ses.cfg.ProjectFile != "" {
		screen.Emit(event.Notice{Level: "info", Text: ses.cfg.ProjectFile + " is not read: settings of a project are not taken over"})
	}
}

// holds reports whether a refused call of the command that starts now may wait.
func (ses *session) holds() bool {
	return ses.notHeld() == "" && (ses.tour == nil || ses.tour.Waits())
}

func (ses *session) close() {
	ses.endBeside(ses.endedWith)
	if ses.tour != nil {
		ses.tour.Close()
	}
	ses.closeUndo()
	if ses.gate != nil {
		_ = ses.noteGrants(ses.gate.Base()) // what was granted; leaving, and nobody to tell
	}
	if ses.record != nil {
		_ = ses.record.log.Close() // every turn is on the disk already
	}
	ses.box.close()
}

// askGit asks what is checked out while the session starts. The answer, "" when
// there is none, is the session's: a prompt that changes is paid for anew.
func askGit(ctx context.Context, b *box) func() string {
	ctx, cancel := context.WithCancel(ctx)
	answer := make(chan string, 1)
	go func() { // ends with git, which has a time limit, at the latest by close
		status, err := b.git.Status(ctx, b.workspace)
		if err != nil {
			answer <- ""
			return
		}
		answer <- status.String()
	}()
	get := sync.OnceValue(func() string { return <-answer })
	b.closers = append(b.closers, func() error {
		cancel()
		get()
		return nil
	})
	return get
}
