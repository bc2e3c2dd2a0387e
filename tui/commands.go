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
	"codeagent/tui/keys"
	"codeagent/tui/lists"
	"codeagent/tui/message"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
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

// moreCommands are the commands of Extras.
func moreCommands() []command {
	text := func(title string, of func(Extras) func(context.Context) (string, error), style func(string) paint.Style) func(*app, string) tea.Cmd {
		return func(m *app, _ string) tea.Cmd {
			return open(m, page.Text(m.keys, title, of(m.offers.Extras), style))
		}
	}
	plain := func(string) paint.Style { return paint.Text }
	diff := func(e Extras) func(context.Context) (string, error) { return e.Diff }
	confines := func(e Extras) func(context.Context) (string, error) { return e.Sandbox }
	doctor := func(e Extras) func(context.Context) (string, error) { return e.Doctor }
	skills := func(e Extras) func(context.Context) (string, error) { return e.Skills }
	return []command{
		{name: "sandbox", help: "what commands may touch now", run: text("Sandbox", confines, plain), offered: func(o Options) bool { return o.Extras.Sandbox != nil }},
		{name: "diff", help: "what differs from the last commit", run: text("Changes since the last commit", diff, paint.DiffLine), offered: func(o Options) bool { return o.Extras.Diff != nil }},
		{name: "mcp", help: "the MCP servers: state, tools, what their sandboxes open; restart one", run: func(m *app, _ string) tea.Cmd { return open(m, lists.OfServers(m.setting(), m.offers.Extras.Servers)) }, offered: func(o Options) bool { return o.Extras.Servers != nil }},
		{name: "skills", help: "the skills and hooks in use, and which are left out", run: text("Skills and hooks", skills, plain), offered: func(o Options) bool { return o.Extras.Skills != nil }},
		{name: "plan", takes: "[task]", help: "show the model's plan; or have it plan a task, and change nothing until you accept", run: showPlan, offered: func(o Options) bool { return o.Extras.Plan != nil }},
		{name: "review", takes: "[base BRANCH | commit ID]", help: "have the model review what is uncommitted, a branch or a commit", run: review, waits: true, offered: func(o Options) bool { return o.Extras.Review != nil }},
		{name: "init", help: "have the model write AGENTS.md for this project", run: func(m *app, _ string) tea.Cmd { return m.submit(message.Message{Text: m.offers.Extras.Init()}) },
			offered: func(o Options) bool { return o.Extras.Init != nil }},
		{name: "new", help: "begin a new session; this one can be resumed", run: leaving("/new", func(e Extras) func(context.Context) error { return e.Fresh }), waits: true, offered: func(o Options) bool { return o.Extras.Fresh != nil }},
		{name: "clear", help: "the same as /new", run: leaving("/clear", func(e Extras) func(context.Context) error { return e.Fresh }), waits: true, offered: func(o Options) bool { return o.Extras.Fresh != nil }},
		{name: "resume", help: "resume an earlier session", run: listSessions, offered: func(o Options) bool { return o.Sessions != nil }},
		{name: "fork", help: "continue in a copy of this session", run: leaving("/fork", func(e Extras) func(context.Context) error { return e.Fork }), waits: true, offered: func(o Options) bool { return o.Extras.Fork != nil }},
		{name: "rename", takes: "[title]", help: "give this session a title", run: rename, offered: func(o Options) bool { return o.Sessions != nil && o.Extras.Fork != nil }},
		{name: "export", takes: "[file]", help: "write this session as a page, .md or .html", run: export, offered: func(o Options) bool { return o.Extras.Export != nil }},
		{name: "keep", takes: "[folder]", help: "copy the files of the session's own /tmp to the workspace, or to a folder", run: keep, offered: func(o Options) bool { return o.Extras.Keep != nil }},
		{name: "keys", help: "the keys, and their names for [keys] in the settings", run: showKeys},
		{name: "doctor", help: "what this machine enforces, found by trying it", run: text("Doctor", doctor, plain), offered: func(o Options) bool { return o.Extras.Doctor != nil }},
		{name: "feedback", help: "write a file with version, doctor and settings, without secrets and content", run: feedback, offered: func(o Options) bool { return o.Extras.Feedback != nil }},
	}
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
func ownCommands(o Options, taken []command) []command {
	var out []command
	for _, own := range o.Extras.own {
		if slices.ContainsFunc(slices.Concat(taken, out), func(c command) bool { return c.name == own.Name }) {
			continue
		}
		out = append(out, command{name: own.Name, help: own.About, takes: "[…]", run: func(m *app, argument string) tea.Cmd {
			return m.submit(message.Message{Text: own.Expand(argument)})
		}})
	}
	return out
}

// showKeys is /keys: the table, with the names by which the settings change it.
func showKeys(m *app, _ string) tea.Cmd {
	return read(m, "Keys", func(t *paint.Theme, w int) []string {
		var out []string
		where := keys.Scope("")
		w = min(w, 76) // a name far from its keys is hard to follow
		for _, b := range m.keys.Bindings {
			if b.Where != where {
				where = b.Where
				out = append(out, "", t.Paint(paint.Accent.With(paint.Bold), string(where)), "")
			}
			name := b.KeyNames()
			if name == "" {
				name = "(no key)"
			}
			out = append(out, t.Justify(w, []paint.Span{paint.Accent.Span(name)}, []paint.Span{paint.Dim.Span(b.Setting())}))
			out = append(out, t.Hang(w, paint.Text.Span("  "), paint.Text.Span(b.Help))...)
		}
		return out[min(1, len(out)):]
	})
}

// showPlan is /plan: the plan that the model wrote last, or plan mode and a prompt to make one. In plan
// mode it asks whether the plan is accepted.
func showPlan(m *app, task string) tea.Cmd {
	hint := m.between("/plan")
	switch {
	case task != "" && hint != "":
		return m.say(hint)
	case task != "":
		if p := m.offers.Approvals; p != nil {
			p.SetPlan(true)
		}
		return m.submit(message.Message{Text: m.offers.Extras.Plan(task)})
	case plans(m) && hint == "":
		return askPlan(m)
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
func review(m *app, of string) tea.Cmd {
	read := m.offers.Extras.Review
	return m.aside(func(ctx context.Context) then {
		prompt, err := read(ctx, of)
		return func(m *app) tea.Cmd {
			if err != nil {
				return m.do(part.Fail(err.Error()))
			}
			return m.submit(message.Message{Text: prompt})
		}
	})
}

// leaving is a command after which the program continues with another session.
func leaving(name string, of func(Extras) func(context.Context) error) func(*app, string) tea.Cmd {
	return func(m *app, _ string) tea.Cmd {
		if n := m.facts.Running; n > 0 {
			return m.say(name + " would end " + short.Count(n, "background command") + "; /ps ends them")
		}
		do := of(m.offers.Extras)
		return m.aside(func(ctx context.Context) then {
			err := do(ctx)
			return func(m *app) tea.Cmd {
				if err != nil {
					return m.do(part.Fail(err.Error()))
				}
				return tea.Quit
			}
		})
	}
}

// told does something beside the screen, and reports how it ended in a line.
func told(m *app, do func(context.Context) (string, error)) tea.Cmd {
	m.transcript.End()
	return m.aside(func(ctx context.Context) then {
		words, err := do(ctx)
		return func(m *app) tea.Cmd {
			if err != nil {
				m.transcript.Note(word.LevelError, err.Error())
			} else {
				m.transcript.Note(word.LevelInfo, words)
			}
			return nil
		}
	})
}

func rename(m *app, title string) tea.Cmd {
	if title == "" {
		return m.say("/rename TITLE gives this session a title")
	}
	saved, id := m.offers.Sessions, m.facts.Session.ID
	return told(m, func(ctx context.Context) (string, error) {
		return fmt.Sprintf("this session is called “%s”", title), saved.Rename(ctx, id, title)
	})
}

func export(m *app, file string) tea.Cmd {
	write := m.offers.Extras.Export
	return told(m, func(ctx context.Context) (string, error) {
		name, err := write(ctx, file)
		return "this session is written to " + name, err
	})
}

func keep(m *app, folder string) tea.Cmd {
	copies := m.offers.Extras.Keep
	return told(m, func(ctx context.Context) (string, error) { return copies(ctx, folder) })
}

func feedback(m *app, _ string) tea.Cmd {
	write := m.offers.Extras.Feedback
	return told(m, func(ctx context.Context) (string, error) {
		name, err := write(ctx)
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
