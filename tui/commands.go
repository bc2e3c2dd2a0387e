package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/prompts"
	"codeagent/tui/diff"
	"codeagent/tui/lists"
	"codeagent/tui/message"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/slash"
)

// Extras are commands of one step: a page to read, a prompt, a deed with a line of words.
// What is nil is not offered.
type Extras struct {
	// Diff, Sandbox, Doctor and Skills return pages to read.
	Diff, Sandbox, Doctor, Skills func(ctx context.Context) (string, error)
	// Feedback and Export write a file, and return where it is.
	Feedback func(ctx context.Context) (file string, err error)
	Export   func(ctx context.Context, file string) (string, error)
	// Keep copies the files of the session's own /tmp to folder, or to the workspace, and says so.
	Keep func(ctx context.Context, folder string) (words string, err error)
	// Fresh and Fork make the program begin a session, or resume a copy of this one, after
	// the screen has ended.
	Fresh, Fork func(ctx context.Context) error
	// Effort changes how long the model may think; Thinks is how long it may now, "" if not known.
	Effort func(ctx context.Context, effort string) error
	Thinks string
	// Setting writes a setting to the person's own file, and says where.
	Setting func(ctx context.Context, key, value string) (words string, err error)
	// Init, Review and Plan return prompts. of is "", "base BRANCH" or "commit ID".
	Init   func() string
	Review func(ctx context.Context, of string) (string, error)
	Plan   func(task string) string
	// Own reads the person's own commands, and the project's. It is called once.
	Own func(ctx context.Context) ([]prompts.Own, error)

	// Servers and ServerOffers are the MCP servers, or nil.
	Servers      lists.Servers
	ServerOffers ServerOffers

	own    []prompts.Own  // as read
	served []ServerPrompt // as read last
}

// efforts are the words that /model takes besides a name.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh"}

// commands is the table of / commands that have an o: an entry is all that one needs.
func commands(s part.Setting, o Options) slash.Commands {
	e := o.Extras
	on := func(f func(m *app, argument string) tea.Cmd) func(string) part.Intent {
		return func(argument string) part.Intent { return then(func(m *app) tea.Cmd { return f(m, argument) }) }
	}
	shows := func(of func() part.Overlay) func(string) part.Intent {
		return func(string) part.Intent { return part.Show{Overlay: of()} }
	}
	drawn := func(title string, draw func(m *app, t *paint.Theme, w int) []string) func(string) part.Intent {
		return on(func(m *app, _ string) tea.Cmd {
			return read(m, title, func(t *paint.Theme, w int) []string { return draw(m, t, w) })
		})
	}
	text := func(title string, read func(context.Context) (string, error), lines func(t *paint.Theme, w int, s string) []string) func(string) part.Intent {
		return shows(func() part.Overlay { return page.Text(s.Keys, title, read, lines) })
	}
	sessions := shows(func() part.Overlay { return lists.OfSessions(s, o.Sessions) })
	return slash.Commands{
		{Name: "help", Help: "the keys and commands", Run: drawn("Help", func(m *app, t *paint.Theme, w int) []string { return slash.Help(t, w, m.callable(), m.keys) })},
		{Name: "status", Help: "model, folder, sandbox, what is not enforced here, tokens",
			Run: drawn("Status", func(m *app, t *paint.Theme, w int) []string {
				return m.facts.Page(t, w, m.modes.Policy(), m.modes.Approvals())
			})},
		{Name: "permissions", Takes: "[policy]", Help: "what is open and why, revoke it; or change the policy, such as to read-only", Run: on(showPermissions)},
		{Name: "model", Takes: "[name] [effort]", Help: "switch to another model; the effort says how long it may think: low, medium, high", Run: on(showModels), Missing: o.Models == nil},
		{Name: "effort", Takes: "[effort]", Help: "how long the model may think", Run: on(showEfforts), Missing: e.Effort == nil},
		{Name: "compact", Takes: "[focus]", Help: "summarize the conversation; the focus says what to keep", Run: on(compact), Waits: true, Missing: o.Compact == nil},
		{Name: "copy", Takes: "[N]", Help: "copy the last answer, or its N-th block of code", Run: on(copyAnswer)},
		{Name: "find", Takes: "[text]", Help: "find a text in the whole transcript", Run: on(findText)},
		{Name: "undo", Help: "undo what the last turn changed, after a preview", Run: on(showUndo), Missing: o.Undo == nil},
		{Name: "ps", Help: "show background commands and their output; end them", Run: shows(func() part.Overlay { return lists.OfJobs(s, o.Background) }), Missing: o.Background == nil},
		{Name: "sessions", Help: "resume, rename or delete an earlier session", Run: sessions, Missing: o.Sessions == nil},
		{Name: "theme", Takes: "[name]", Help: "other colours", Run: on(showThemes)},
		{Name: "sandbox", Help: "what commands may touch now", Run: text("Sandbox", e.Sandbox, page.Words), Missing: e.Sandbox == nil},
		{Name: "diff", Help: "what differs from the last commit", Run: text("Changes since the last commit", e.Diff, diff.Lines), Missing: e.Diff == nil},
		{Name: "mcp", Help: "the MCP servers: state, tools, what their sandboxes open; restart one", Run: shows(func() part.Overlay { return lists.OfServers(s, e.Servers) }), Missing: e.Servers == nil},
		{Name: "skills", Help: "the skills and hooks in use, and which are left out", Run: text("Skills and hooks", e.Skills, page.Words), Missing: e.Skills == nil},
		{Name: "plan", Takes: "[task]", Help: "show the model's plan; or have it plan a task, and change nothing until you accept", Run: on(showPlan), Missing: e.Plan == nil},
		{Name: "review", Takes: "[base BRANCH | commit ID]", Help: "have the model review what is uncommitted, a branch or a commit", Run: e.review, Waits: true, Missing: e.Review == nil},
		{Name: "init", Help: "have the model write AGENTS.md for this project", Run: func(string) part.Intent { return message.Message{Text: e.Init()} }, Missing: e.Init == nil},
		{Name: "new", Help: "begin a new session; this one can be resumed", Run: on(leaving("/new", e.Fresh)), Waits: true, Missing: e.Fresh == nil},
		{Name: "clear", Help: "the same as /new", Run: on(leaving("/clear", e.Fresh)), Waits: true, Missing: e.Fresh == nil},
		{Name: "resume", Help: "resume an earlier session", Run: sessions, Missing: o.Sessions == nil},
		{Name: "fork", Help: "continue in a copy of this session", Run: on(leaving("/fork", e.Fork)), Waits: true, Missing: e.Fork == nil},
		{Name: "rename", Takes: "[title]", Help: "give this session a title", Run: on(rename), Missing: o.Sessions == nil || e.Fork == nil},
		{Name: "export", Takes: "[file]", Help: "write this session as a page, .md or .html", Run: e.export, Missing: e.Export == nil},
		{Name: "keep", Takes: "[folder]", Help: "copy the files of the session's own /tmp to the workspace, or to a folder", Run: e.keep, Missing: e.Keep == nil},
		{Name: "keys", Help: "the keys, and their names for [keys] in the settings", Run: shows(func() part.Overlay {
			return &page.Page{Title: "Keys", Keys: s.Keys, Draw: func(t *paint.Theme, w int) []string { return slash.Names(t, w, s.Keys) }}
		})},
		{Name: "doctor", Help: "what this machine enforces, found by trying it", Run: text("Doctor", e.Doctor, page.Words), Missing: e.Doctor == nil},
		{Name: "feedback", Help: "write a file with version, doctor and settings, without secrets and content", Run: e.feedback, Missing: e.Feedback == nil},
		{Name: "quit", Help: "leave codeagent; so does /exit", Run: func(string) part.Intent { return part.Quit{} }},
	}
}

// callable are the commands that the person can call now.
func (m *app) callable() slash.Commands {
	all := commands(m.setting(), m.offers)
	own := m.offers.Extras.ownCommands(all)
	all = slices.DeleteFunc(all, func(c slash.Command) bool { return c.Missing })
	return slices.Concat(all, own, m.offers.Extras.servedCommands())
}

// loadOwn reads the person's own commands.
func loadOwn(m *app) tea.Cmd {
	read := m.offers.Extras.Own
	if read == nil {
		return nil
	}
	return m.aside(func(ctx context.Context) then {
		list, err := read(ctx)
		return func(m *app) tea.Cmd {
			m.offers.Extras.own = list
			if err != nil {
				m.transcript.Note(word.LevelWarning, err.Error())
			}
			return nil
		}
	})
}

// ownCommands are those of the person whose names are not taken.
func (e Extras) ownCommands(taken slash.Commands) (out slash.Commands) {
	for _, own := range e.own {
		if !slices.ContainsFunc(slices.Concat(taken, out), func(c slash.Command) bool { return c.Name == own.Name }) {
			out = append(out, slash.Command{Name: own.Name, Help: own.About, Takes: "[…]", Run: func(argument string) part.Intent {
				return message.Message{Text: own.Expand(argument)}
			}})
		}
	}
	return out
}

// showPlan is /plan: the plan that the model wrote last, or plan mode and a prompt to make one. In plan
// mode it asks whether the plan is accepted.
func showPlan(m *app, task string) tea.Cmd {
	hint := m.between("/plan")
	switch {
	case task != "" && hint != "":
		return m.say(hint)
	case task != "":
		if m.modes.Gate != nil {
			m.modes.SetPlan(true)
		}
		return m.submit(message.Message{Text: m.offers.Extras.Plan(task)})
	case m.modes.Plans() && hint == "":
		return m.do(m.modes.AskPlan())
	}
	steps := m.facts.Plan
	if len(steps) == 0 {
		return m.say("the model has made no plan; /plan TASK asks for one")
	}
	return read(m, "Plan", func(t *paint.Theme, w int) []string {
		var out []string
		for _, s := range steps {
			mark, style := paint.Dim.Span("☐ "), paint.Text
			switch s.Status {
			case word.StepCompleted:
				mark, style = paint.Good.Span("☑ "), paint.Dim
			case word.StepInProgress:
				mark, style = paint.Accent.Span("▸ "), paint.Strong
			}
			out = append(out, t.Hang(w, mark, style.Span(s.Step))...)
		}
		return out
	})
}

// review is /review: a prompt with a diff, which is read first.
func (e Extras) review(of string) part.Intent {
	return part.Beside(func(ctx context.Context) func() part.Intent {
		prompt, err := e.Review(ctx, of)
		return func() part.Intent {
			if err != nil {
				return part.Fail(err.Error())
			}
			return message.Message{Text: prompt}
		}
	})
}

// leaving is a command after which the program continues with another session, which do makes.
func leaving(name string, do func(context.Context) error) func(*app, string) tea.Cmd {
	return func(m *app, _ string) tea.Cmd {
		if n := m.facts.Running; n > 0 {
			return m.say(name + " would end " + short.Count(n, "background command") + "; /ps ends them")
		}
		return m.do(part.Beside(func(ctx context.Context) func() part.Intent {
			err := do(ctx)
			return func() part.Intent {
				if err != nil {
					return part.Fail(err.Error())
				}
				return part.Quit{}
			}
		}))
	}
}

// told does something beside the screen, and reports how it ended in a line.
func told(do func(context.Context) (string, error)) part.Intent {
	return part.Beside(func(ctx context.Context) func() part.Intent {
		words, err := do(ctx)
		return func() part.Intent {
			if err != nil {
				return part.Fail(err.Error())
			}
			return part.Note(words)
		}
	})
}

func rename(m *app, title string) tea.Cmd {
	if title == "" {
		return m.say("/rename TITLE gives this session a title")
	}
	saved, id := m.offers.Sessions, m.facts.Session.ID
	return m.do(told(func(ctx context.Context) (string, error) {
		return fmt.Sprintf("this session is called “%s”", title), saved.Rename(ctx, id, title)
	}))
}

func (e Extras) export(file string) part.Intent {
	return told(func(ctx context.Context) (string, error) {
		name, err := e.Export(ctx, file)
		return "this session is written to " + name, err
	})
}

func (e Extras) keep(folder string) part.Intent {
	return told(func(ctx context.Context) (string, error) { return e.Keep(ctx, folder) })
}

func (e Extras) feedback(string) part.Intent {
	return told(func(ctx context.Context) (string, error) {
		name, err := e.Feedback(ctx)
		return "written to " + name + "\nIt has no content of the conversation and no keys. Nothing was sent: read it, and send it yourself.", err
	})
}

// effortOf parts what /model takes: a name, how long to think, or both.
func effortOf(argument string) (name, effort string) {
	words := strings.Fields(argument)
	if n := len(words); n > 0 && slices.Contains(efforts, words[n-1]) {
		return strings.Join(words[:n-1], " "), words[n-1]
	}
	return argument, ""
}
