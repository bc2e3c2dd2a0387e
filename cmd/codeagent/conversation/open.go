package conversation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"codeagent/approvals"
	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/approvals/without"
	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/extensions"
	"codeagent/cmd/codeagent/providers"
	"codeagent/cmd/codeagent/servers"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/config/server"
	"codeagent/event"
	"codeagent/internal/mask"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/tour"
	"codeagent/sandbox"
	sessions "codeagent/session"
	"codeagent/telemetry"
	"codeagent/undo"
)

// Base is all of a session that is below its face: what may be touched, the model, the record. Join
// makes a Session of it. Close ends what was begun, also where there is no Session.
type Base struct {
	Workspace *workspace.Workspace
	Options   Options
	observers []func(event.Event) // see each event before the face does
	problems  []string            // of the telemetry
	images    []model.Image       // of -i, until the first message takes them
	choosing  sync.Mutex          // guards chosen once a turn may run
	models
	records
	surroundings
	Gate    *approvals.Gate
	Servers *servers.Servers // nil without MCP servers
}

// models are what a session asks.
type models struct {
	chosen providers.Chosen
	Tour   *tour.Tour // nil with a real model
}

// records are what a session keeps on disk.
type records struct {
	Record  *record       // nil: the run has none
	Undo    *undo.History // nil; noUndo is the reason, or the session works on a draft
	noUndo  error
	kept    *undo.History   // of what is kept of drafts; nil as Undo, but not on a draft
	Without *without.Memory // what programs did without; damaged is what is wrong with its file
	damaged error
}

// surroundings are what the folder and the user's files bring into a session.
type surroundings struct {
	checkedOut func() string             // returns git's description of the checkout; waits for it
	trusted    func() workspace.GitTrust // returns what git trusts in the write roots; waits for it
	own        []*rules.Rule             // of rules.toml
	project    workspace.ProjectRules
	Extensions extensions.Found
	configured map[string]server.Settings // the MCP servers
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
	base, err := build(ctx, s, ws, o)
	if err != nil {
		ws.Close()
		return nil, err
	}
	return base, nil
}

// build makes one part after the other. The order matters: the permissions are fixed before anything
// that could use them exists. The workspace closes what was begun.
func build(ctx context.Context, s cli.Stdio, ws *workspace.Workspace, o Options) (*Base, error) {
	observers, problems := openObservers(s, ws)
	images, err := attach.Images(ctx, ws.Ground(), o.Images)
	if err != nil {
		return nil, err
	}
	asked, err := chooseModels(ctx, ws, o, images)
	if err != nil {
		return nil, err
	}
	if o.Bounds.Price, err = priced(ctx, ws, asked.chosen, o.Bounds.Cost); err != nil {
		return nil, err
	}
	kept, err := openRecords(s, ws, o, asked)
	if err != nil {
		return nil, err
	}
	around, err := lookAround(ctx, s, ws, o)
	if err != nil {
		return nil, err
	}
	gate, err := newGate(s, ws, o, asked, kept, around)
	if err != nil {
		return nil, err
	}
	if err := adopt(ctx, ws, gate, o.Approvals); err != nil {
		return nil, err
	}
	ws.Live = gate.Open
	list := servers.Open(ctx, servers.Options{
		Workspace: ws, Configured: around.configured, Ledger: gate.Ledger(), Undo: kept.Undo, Learn: o.Learn, Trusted: around.protect,
	})
	ws.AtClose(func() error { list.Close(); return nil })
	if err := list.Required(ctx); err != nil {
		return nil, cli.Hinted(cli.ExitFailed, err, "codeagent mcp test NAME says more; required = false in the settings starts without it")
	}
	return &Base{
		Workspace: ws, Options: o, observers: observers, problems: problems, images: images,
		models: asked, records: kept, surroundings: around, Gate: gate, Servers: list,
	}, nil
}

// Close ends and records all that was begun, the last first.
func (ses *Base) Close() { ses.Workspace.Close() }

// openObservers opens what sees each event before the face does: the log and the telemetry, if they are on.
func openObservers(s cli.Stdio, ws *workspace.Workspace) (observers []func(event.Event), problems []string) {
	if ws.Process.Log.On() {
		observers = append(observers, ws.Process.Log.Observe)
	}
	exporter, problems := telemetry.New(s.Env, ws.Process.Version, func() *mask.Mask { return mask.New(s.Environ, sandbox.SecretName) })
	if exporter == nil {
		return observers, problems
	}
	ws.AtClose(func() error { // sends what is left, and says if a collector did not get it
		err := exporter.Close()
		if err != nil {
			fmt.Fprintln(s.Err, "codeagent: "+visible.Line(err.Error()))
		}
		return err
	})
	return append(observers, exporter.Observe), problems
}

// chooseModels chooses the model: a provider's, or the tour if no provider is configured. With a person it
// connects the model that reads questions before them, if the settings name one.
func chooseModels(ctx context.Context, ws *workspace.Workspace, o Options, images []model.Image) (m models, err error) {
	if o.ToolsOnly { // whose model it is, nobody says: it may ask what any model may
		m.chosen.Rules = ws.Config.RulesOf(config.Provider{}, "")
		return m, nil
	}
	w := providers.Wish{Attended: o.Attended, Served: o.Command != "", Needed: o.HasPrompt || o.From != nil || len(o.Images) > 0}
	if o.From != nil {
		w.Session, w.Switched = o.From.ID, o.From.After
	} else if o.Like != "" {
		w.Session, w.Switched = o.Like, true
	}
	m.chosen, err = providers.Of(ws).Choose(ctx, w)
	code, _, _ := cli.ExitOf(err)
	switch keyless := o.Attended && !w.Needed && err != nil && code == cli.ExitSignIn; {
	case err != nil && !keyless:
		return m, err
	case m.chosen.Model != nil:
		if err := m.chosen.Sees(images); err != nil {
			return m, err
		}
	case o.Attended && !o.Tour:
		return m, &NoModel{Err: err, Paths: ws.Paths, Readable: readableRecords(ws)}
	default:
		if m.Tour, err = startTour(ctx, ws, o.Attended); err != nil {
			return m, err
		}
		ws.AtClose(func() error { m.Tour.Close(); return nil })
		m.chosen.Model, m.chosen.Name = chat.New(chat.Options{BaseURL: m.Tour.BaseURL}), tour.Model
		m.chosen.Rules = ws.Config.RulesOf(config.Provider{}, tour.Model)
	}
	return m, nil
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

// readableRecords reports whether commands can read codeagent's own records on this machine.
func readableRecords(ws *workspace.Workspace) bool {
	return ws.Policy.Unconfined || ws.Enforcement.Weak("own-records") || ws.Enforcement.Weak("unconfined")
}

// ReadableRecords reports whether commands can read codeagent's own records on this machine.
func (ses *Base) ReadableRecords() bool { return readableRecords(ses.Workspace) }

// priced returns the price of the model. A bound of its cost needs one.
func priced(ctx context.Context, ws *workspace.Workspace, c providers.Chosen, most float64) (price model.Price, err error) {
	if most == 0 {
		return price, nil
	}
	if price = c.Price(ctx); price == (model.Price{}) {
		name := c.Title(c.Name)
		return price, cli.Usage(fmt.Errorf("--max-cost: no price of %s is configured, and the provider lists none", visible.Line(name)),
			fmt.Sprintf("set it in %s, for a million tokens: [models.%q] price = { input = \"1.25\", output = \"10\" }", ws.Paths.File, name))
	}
	return price, nil
}

// openRecords opens the record, and the history by which turns can be undone. If the store of the history cannot be
// used, the session runs without undo.
func openRecords(s cli.Stdio, ws *workspace.Workspace, o Options, asked models) (r records, err error) {
	id := sessions.NewID()
	if !o.Ephemeral && asked.Tour == nil {
		if r.Record, err = openRecord(ws, o.From, asked.chosen.Kept()); err != nil {
			return r, err
		}
		ws.AtClose(r.Record.Log.Close)
		id = r.Record.Log.ID()
	}
	r.Without, r.damaged = without.Open(ws.Paths.Without, s.Env("HOME"))
	store := undo.New(ws.Paths.Undo)
	if r.kept, r.noUndo = store.Open(id); r.noUndo != nil {
		r.kept = nil
		return r, nil
	}
	if ws.Draft == nil { // its changes are not in the files
		r.Undo = r.kept
		r.Undo.Careless = ws.Config.Unkept == "allow"
		if r.Record != nil {
			r.Record.Log.Turn = r.Undo.Next
		}
	}
	ws.AtClose(func() error {
		if r.Record == nil {
			return r.kept.Discard() // what is left is swept later
		}
		return r.kept.Close()
	})
	go store.Sweep() // nothing waits for it
	return r, nil
}

// lookAround reads what the folder and the user's files bring along, and protects it in the policy. What takes long
// goes on meanwhile.
func lookAround(ctx context.Context, s cli.Stdio, ws *workspace.Workspace, o Options) (a surroundings, err error) {
	a.trusted, a.checkedOut = ws.TrustBeside(ctx), ws.CheckedOut(ctx)
	if a.own, _, err = workspace.ReadRules(ctx, s, ws.Paths); err != nil {
		return a, err
	}
	for _, r := range a.own {
		if r.Backend == "" {
			continue
		}
		if _, err := ws.Config.BackendKind(r.Backend); err != nil {
			return a, cli.Usage(fmt.Errorf("%s:%d: %w", r.File, r.Line, err))
		}
	}
	a.project = ws.ProjectRules(ctx, a.own)
	a.Extensions = extensions.Read(ctx, ws)
	if !o.ToolsOnly { // without a model nobody uses servers
		a.configured = configured(ws.Config, a.Extensions.Servers, o.Servers)
	}
	ws.Policy = servers.Protect(ws, a.Extensions.Protect(ws, ws.Policy), a.configured)
	return a, nil
}

// configured returns the MCP servers of the settings, the project and the editor, in this order of precedence,
// without the disabled ones.
func configured(settings config.Config, project, editor map[string]server.Settings) map[string]server.Settings {
	out := map[string]server.Settings{}
	for _, list := range []map[string]server.Settings{editor, project, settings.MCP.Servers} {
		maps.Copy(out, list)
	}
	maps.DeleteFunc(out, func(name string, _ server.Settings) bool { return settings.DisabledServers()[name] })
	return out
}

// protect closes what git trusts in the write roots. It waits for the search.
func (a surroundings) protect(p sandbox.Policy) sandbox.Policy { return a.trusted().Protect(p) }

// newGate makes the gate, and restricts it as the model and the options ask.
func newGate(s cli.Stdio, ws *workspace.Workspace, o Options, asked models, kept records, around surroundings) (*approvals.Gate, error) {
	hosts, sockets := ws.Grantable()
	most, err := ws.Config.Ceiling(ws.Place)
	if err != nil {
		return nil, cli.Usage(err)
	}
	var managed func(g sandbox.Grant, fetch bool) string
	if most != nil {
		managed = func(g sandbox.Grant, fetch bool) string {
			return most(config.Opening{Write: g.Write, Read: g.Read, Sockets: g.Sockets, Hosts: g.Hosts, Unsandboxed: g.Unsandboxed}, fetch)
		}
	}
	var gate *approvals.Gate
	options := approvals.Options{
		Rules: rules.Join(slices.Concat(around.own, o.Rules), around.project.Narrower), Refresh: refresher(ws, func() *approvals.Ledger { return gate.Ledger() }),
		Mode: approvals.Mode(ws.Config.AskForApproval), Refuse: ws.Config.Refuse, Base: ws.Policy, Files: ws.Files,
		Home: s.Env("HOME"), Workspace: ws.Folder, NewID: sessions.NewID,
		GrantsHosts: hosts, GrantsSockets: sockets, Fetch: ws.FetchHosts, Settings: ws.Opened,
		Changed: func(entries []ledger.Entry) { noteGranted(ws, kept.Record, entries) },
		Path:    filepath.SplitList(s.Env("PATH")), MadeGit: ws.MadeGit, Content: contents{ws},
		Managed: managed, Decides: ws.Config.Decides,
		Trusted: around.protect, Reasons: o.Attended, Hint: o.Hint, Careless: ws.Config.Unkept == "allow", Backend: ws.Config.Sandbox.Backend,
	}
	if o.Attended && asked.Tour == nil { // somebody can answer with always; the tour saves nothing
		options.Save = saver(ws)
	}
	gate = approvals.NewGate(options)
	ws.AtClose(func() error { return ws.NoteGrants(gate.Base()) })
	gate.SetCommand(o.Command, func(g sandbox.Grant) []string {
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
	if err := restrict(ws, gate, asked.chosen, asked.Tour == nil && !o.ToolsOnly); err != nil {
		return nil, cli.Usage(err)
	}
	if !o.ReadOnly {
		return gate, nil
	}
	if err := gate.SetReadOnly(true); err != nil {
		return nil, cli.Usage(err, "--sandbox read-only uses one; --sandbox danger-full-access goes without")
	}
	return gate, nil
}
