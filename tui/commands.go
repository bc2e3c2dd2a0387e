package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/short"
	"codeagent/prompts"
	"codeagent/tui/diff"
	"codeagent/tui/fill"
	"codeagent/tui/lists"
	"codeagent/tui/memory"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/rewind"
	"codeagent/tui/settings"
	"codeagent/tui/setup"
	"codeagent/tui/slash"
	"codeagent/tui/templates"
	"codeagent/tui/transcript"
	"codeagent/tui/trying"
	"codeagent/tui/undoing"
)

// Extras are commands of one step: a page to read, a prompt, a deed with a line of words.
// What is nil is not offered.
type Extras struct {
	// Diff, Sandbox, Doctor and Skills return pages to read.
	Diff, Sandbox, Doctor, Skills func(ctx context.Context) (string, error)
	// Feedback and Export write a file, Keep copies the files of the session's own /tmp to a folder, or to
	// the workspace. They take what follows their names, and say where the files are.
	Feedback, Export, Keep func(ctx context.Context, argument string) (words string, err error)
	// Fresh and Fork make the program begin a session, or resume a copy of this one, after
	// the screen has ended.
	Fresh, Fork func(ctx context.Context) error
	// Draft makes the program resume this session on a draft. OnDraft: it works on one, which Writing.Drafts returns.
	Draft   func(ctx context.Context) error
	OnDraft bool
	// Effort changes how long the model may think; Thinks is how long it may now, "" if not known.
	Effort func(ctx context.Context, effort string) error
	Thinks string
	// Settings reads those that people change. Setting writes one to the person's own file, and says where.
	Settings func(ctx context.Context) ([]settings.Setting, error)
	Setting  func(ctx context.Context, key, value string) (words string, err error)
	// Review makes a prompt. of is "", "base BRANCH" or "commit ID". Nil: no work is given to the model.
	Review func(ctx context.Context, of string) (prompts.Prompt, error)
	// Memory lists the files of instructions, and adds a line of the person's to one; Setting is not set.
	Memory memory.List
	// Context counts what fills the model's context.
	Context func(ctx context.Context) (fill.Context, error)
	// Own reads the person's own commands, and the project's. It is called once.
	Own func(ctx context.Context) ([]prompts.Own, error)

	// Servers and ServerOffers are the MCP servers, or nil.
	Servers      lists.Servers
	ServerOffers templates.Servers
}

// commands is the table of / commands: an entry is all that one needs.
func (m *app) commands() slash.Commands {
	s, o, e := m.setting(), m.offers, m.offers.Extras
	model := lists.Model{Setting: s, Models: o.Models, Think: e.Effort, Thinks: &m.offers.Extras.Thinks, Write: e.Setting}
	if o.Setup != nil {
		model.SetUp = m.setUp
	}
	shows := func(of func() part.Overlay) func(string) part.Intent {
		return func(string) part.Intent { return part.Show{Overlay: of()} }
	}
	drawn := func(title string, draw func(t *paint.Theme, w int) []string) func(string) part.Intent {
		return shows(func() part.Overlay { return &page.Page{Title: title, Keys: s.Keys, Draw: draw} })
	}
	text := func(title string, read func(context.Context) (string, error), lines func(t *paint.Theme, w int, s string) []string) func(string) part.Intent {
		return shows(func() part.Overlay { return page.Text(s.Keys, title, read, lines) })
	}
	words := func(t *paint.Theme, w int, text string) []string { return page.Words(t, w, paint.Tildes(text, s.Home)) }
	on := func(f func(m *app, argument string) tea.Cmd) func(string) part.Intent {
		return func(argument string) part.Intent { return then(func(m *app) tea.Cmd { return f(m, argument) }) }
	}
	leaving := func(name string, do func(context.Context) error) func(string) part.Intent {
		return func(string) part.Intent { return leave(name, m.facts.Running, do) }
	}
	notes := func(do func(ctx context.Context, argument string) (string, error)) func(string) part.Intent {
		return func(argument string) part.Intent {
			return lists.Keep(func(ctx context.Context) (string, error) { return do(ctx, argument) }).Kept()
		}
	}
	sessions := func(only bool) func(string) part.Intent {
		return func(title string) part.Intent {
			return part.Show{Overlay: lists.OfSessions(s, o.Sessions, title, only)}
		}
	}
	return slash.Commands{
		{Name: "help", Help: "the keys and commands", Run: drawn("Help", func(t *paint.Theme, w int) []string { return slash.Help(t, w, m.callable(), m.ownCommands(), m.keys) })},
		{Name: "status", Help: "model, folder, sandbox, what is not enforced here, tokens, cost",
			Run: drawn("Status", func(t *paint.Theme, w int) []string {
				return m.facts.Page(t, w, m.standing())
			})},
		{Name: "permissions", Takes: "[policy]", Help: "what is allowed and why, revoke it; or change the policy, such as to read-only", Run: m.permissions},
		{Name: "model", Takes: "[name] [effort]", Help: "switch to another model; the effort says how long it may think: low, medium, high", Run: model.Show, Missing: o.Models == nil},
		{Name: "effort", Takes: "[effort]", Help: "how long the model may think", Run: model.ShowEfforts, Missing: e.Effort == nil},
		{Name: "compact", Takes: "[focus]", Help: "summarize the conversation; the focus says what to keep", Run: on(compact), Waits: true, Missing: o.Compact == nil},
		{Name: "context", Help: "what fills the model's context, and what /compact would gain", Run: shows(func() part.Overlay { return fill.Page(s.Keys, e.Context) }), Waits: true, Missing: e.Context == nil},
		{Name: "copy", Takes: "[N]", Help: "copy the last answer, or its N-th block of code", Run: func(which string) part.Intent { return copyAnswer(&m.transcript, which) }},
		{Name: "find", Takes: "[text]", Help: "find a text in the whole transcript", Run: on(findText)},
		{Name: "undo", Help: "undo what the last turn changed, after a preview", Run: m.undo, Missing: o.Undo == nil && !e.OnDraft},
		{Name: "draft", Takes: "[keep | drop]", Help: "work on a draft of your files; on one: show what changed, keep or drop it", Run: m.draft, Waits: true, Missing: e.Draft == nil && !e.OnDraft},
		{Name: "rewind", Help: "go back to before one of your messages: the conversation, files, or both", Run: func(string) part.Intent { return rewind.Show(m.rewinds(), o.Rewind) }, Missing: o.Rewind == nil},
		{Name: "redo", Help: "take back the last /undo or /rewind, until you send something", Run: func(string) part.Intent { return rewind.Redo(m.rewinds(), o.Rewind) }, Missing: o.Rewind == nil},
		{Name: "ps", Help: "show the jobs in the background and their output; end them", Run: shows(func() part.Overlay { return lists.OfJobs(s, o.Background) }), Missing: o.Background == nil},
		{Name: "sessions", Takes: "[title]", Help: "resume, rename or delete an earlier session", Run: sessions(false), Missing: o.Sessions == nil},
		{Name: "theme", Takes: "[name]", Help: "other colours", Run: m.themes},
		{Name: "config", Help: "the settings that people change: their values, where each comes from", Run: func(string) part.Intent { return m.config(model) }, Missing: e.Settings == nil || e.Setting == nil},
		{Name: "sandbox", Help: "what commands may touch now", Run: text("Sandbox", e.Sandbox, words), Missing: e.Sandbox == nil},
		{Name: "diff", Help: "what differs from the last commit", Run: text("Changes since the last commit", e.Diff, func(t *paint.Theme, w int, s string) []string {
			return diff.Lines(t, w, diff.Rows(s))
		}), Missing: e.Diff == nil},
		{Name: "mcp", Help: "the MCP servers: state, tools, what their sandboxes open; restart one", Run: shows(func() part.Overlay { return lists.OfServers(s, e.Servers) }), Missing: e.Servers == nil},
		{Name: "skills", Help: "the skills and hooks in use, and which are left out", Run: text("Skills and hooks", e.Skills, words), Missing: e.Skills == nil},
		{Name: "plan", Takes: "[task]", Help: "show the model's plan; or have it plan a task, and only read until you accept", Run: m.plan, Missing: e.Review == nil},
		{Name: "review", Takes: "[base BRANCH | commit ID]", Help: "have the model review what is uncommitted, a branch or a commit", Run: e.review, Waits: true, Missing: e.Review == nil},
		{Name: "init", Help: "have the model write AGENTS.md for this project", Run: func(string) part.Intent { return templates.Message(prompts.Init(), "init", "") }, Missing: e.Review == nil},
		{Name: "memory", Takes: "[line]", Help: "which instructions the model follows; add a line to them", Run: func(line string) part.Intent { e.Memory.Setting = s; return e.Memory.Show(line) }, Missing: e.Memory.Add == nil},
		{Name: "new", Help: "begin a new session; this one can be resumed", Run: leaving("/new", e.Fresh), Waits: true, Missing: e.Fresh == nil},
		{Name: "clear", Help: "the same as /new", Run: leaving("/clear", e.Fresh), Waits: true, Missing: e.Fresh == nil},
		{Name: "resume", Takes: "[title]", Help: "resume a session by words of its title, or choose one", Run: sessions(true), Missing: o.Sessions == nil},
		{Name: "fork", Help: "continue in a copy of this session", Run: leaving("/fork", e.Fork), Waits: true, Missing: e.Fork == nil},
		{Name: "rename", Takes: "title", Help: "give this session a title", Run: func(title string) part.Intent { return rename(o.Sessions, m.facts.Session.ID, title) }, Missing: o.Sessions == nil || e.Fork == nil},
		{Name: "export", Takes: "[file]", Help: "write this session as a Markdown page", Run: notes(e.Export), Missing: e.Export == nil},
		{Name: "keep", Takes: "[folder]", Help: "copy the files of the session's own /tmp to the workspace, or to a folder", Run: notes(e.Keep), Missing: e.Keep == nil},
		{Name: "keys", Help: "the keys, and their names for [keys] in the settings", Run: drawn("Keys", func(t *paint.Theme, w int) []string { return slash.Names(t, w, s.Keys) })},
		{Name: "doctor", Help: "what this machine enforces, found by trying it", Run: text("Doctor", e.Doctor, words), Missing: e.Doctor == nil},
		{Name: "feedback", Help: "write a file with version, doctor and settings, without secrets and content", Run: notes(e.Feedback), Missing: e.Feedback == nil},
		{Name: "quit", Help: "leave codeagent; so does /exit", Run: func(string) part.Intent { return part.Quit{} }},
	}
}

func (m *app) undo(string) part.Intent {
	if m.offers.Extras.OnDraft {
		return part.Say("nothing of this session is in your files yet: /draft shows its changes, keeps or drops them")
	}
	return undoing.Show(m.rewinds().Screen, m.offers.Undo)
}

func (m *app) draft(how string) part.Intent {
	switch e := m.offers.Extras; {
	case e.OnDraft && m.facts.Running > 0:
		return part.Say(short.Count(m.facts.Running, "job") + " may still change the draft; /ps ends them")
	case e.OnDraft:
		return trying.Review(trying.Screen{Setting: m.setting()}, m.offers.Writing.Drafts, how)
	case how != "":
		return part.Say("this session works on your files; /draft moves it to a draft")
	default:
		return leave("/draft", m.facts.Running, e.Draft)
	}
}

// config is /config. What can be changed during the session is changed there.
func (m *app) config(model lists.Model) part.Intent {
	l := settings.List{Setting: m.setting(), Read: m.offers.Extras.Settings, Write: m.offers.Extras.Setting, Live: map[string]settings.Live{
		"tui.mouse": {Now: func() string { return strconv.FormatBool(m.offers.Mouse) }, Use: func(value string) part.Intent { m.offers.Mouse = value == "true"; return nil }},
	}}
	if m.modes.Gate != nil {
		l.Live["ask_for_approval"] = settings.Live{Now: m.modes.Approvals, Use: m.modes.Change}
	}
	if model.Models != nil {
		l.Live["model"] = settings.Live{Show: func() part.Intent { return model.Show("") }}
	}
	if model.Think != nil {
		l.Live["reasoning_effort"] = settings.Live{Now: func() string { return *model.Thinks }, Show: func() part.Intent { return model.ShowEfforts("") }}
	}
	if look := m.offers.Look; !look.none {
		l.Live["tui.theme"] = settings.Live{Now: func() string { return cmp.Or(m.offers.Look.Theme, Auto) }, Show: func() part.Intent { return m.themes("") }}
	}
	return l.Show()
}

// setUp sets up another provider during a session.
func (m *app) setUp(under part.Overlay) part.Intent {
	s := setup.Setup{Setting: m.setting(), Work: m.offers.Setup, Under: under}
	s.Done = func(c setup.Choice, words string) part.Intent {
		return part.All{part.Show{}, part.Note(words), part.Turn{Name: "/model", Doing: "Switching to " + c.Title(), Work: func(ctx context.Context) (func() part.Intent, error) {
			leaves, err := m.offers.SetUp(ctx, c)
			return func() part.Intent {
				if leaves {
					return part.Quit{}
				}
				return nil
			}, err
		}}}
	}
	return s.Show()
}

// callable are the commands that the person can call now.
func (m *app) callable() slash.Commands {
	all := m.commands()
	more := m.templates.Commands(all)
	all = slices.DeleteFunc(all, func(c slash.Command) bool { return c.Missing })
	return slices.Concat(all, more)
}

// permissions is /permissions: what is open, with its origin, and the approval policy; or only the
// questions of the session and their answers. With the name of an approval policy or a sandbox it
// changes to that.
func (m *app) permissions(name string) part.Intent {
	if name != "" && m.modes.Gate != nil {
		return m.modes.Change(name)
	}
	asked := &page.Page{Title: "Permissions", Keys: m.keys, Draw: func(t *paint.Theme, w int) []string { return m.transcript.Permissions(t, w, m.facts.Home) }}
	if m.offers.Permissions == nil {
		return part.Show{Overlay: asked}
	}
	var policy func() string
	if m.modes.Gate != nil {
		policy = m.modes.Word
	}
	return part.Show{Overlay: lists.OfPermissions(m.setting(), m.offers.Permissions, policy, asked)}
}

// plan is /plan: the plan that the model wrote last, or plan mode and a prompt to make one. In plan
// mode it asks whether the plan is accepted.
func (m *app) plan(task string) part.Intent {
	hint := m.between("/plan")
	switch {
	case task != "" && hint != "":
		return part.Say(hint)
	case task != "":
		if m.modes.Gate != nil {
			m.modes.SetPlan(true)
		}
		return templates.Message(prompts.PlanFirst(task), "plan", task)
	case m.modes.Plans() && hint == "":
		return m.modes.AskPlan()
	case len(m.facts.Plan) == 0 && m.modes.Gate != nil && hint == "":
		m.modes.SetPlan(true)
		return part.Say("plan mode: your next message asks for a plan")
	case len(m.facts.Plan) == 0:
		return part.Say("the model has made no plan; /plan TASK asks for one")
	}
	return part.Show{Overlay: &page.Page{Title: "Plan", Keys: m.keys, Draw: m.facts.PlanPage()}}
}

// review is /review: a prompt with a diff, which is read first.
func (e Extras) review(of string) part.Intent {
	return part.Try(func(ctx context.Context) (part.Intent, error) {
		p, err := e.Review(ctx, of)
		return templates.Message(p, "review", of), err
	})
}

// leave is a command after which the program continues with another session, which do makes. running
// is how many background commands that would end.
func leave(name string, running int, do func(context.Context) error) part.Intent {
	if running > 0 {
		return part.Say(name + " would end " + short.Count(running, "job") + "; /ps ends them")
	}
	return part.Try(func(ctx context.Context) (part.Intent, error) { return part.Quit{}, do(ctx) })
}

func rename(saved lists.Sessions, id, title string) part.Intent {
	if title == "" {
		return part.Say("/rename TITLE gives this session a title")
	}
	return part.Try(func(ctx context.Context) (part.Intent, error) {
		return part.Note(fmt.Sprintf("this session is called “%s”", title)), saved.Rename(ctx, id, title)
	})
}

// copyAnswer is /copy: the last answer, or one of its blocks of code.
func copyAnswer(said *transcript.Transcript, which string) part.Intent {
	text, code := said.Answer()
	switch n, err := strconv.Atoi(which); {
	case text == "":
		return part.Say("there is no answer to copy")
	case which == "":
	case err != nil:
		return part.Say("/copy N takes the number of a block of code")
	case len(code) == 0:
		return part.Say("the last answer has no block of code")
	case n < 1 || n > len(code):
		return part.Say("the last answer has " + short.Count(len(code), "block") + " of code")
	default:
		text = strings.TrimRight(code[n-1], "\n")
	}
	return part.Copy(text)
}
