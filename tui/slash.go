package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/lists"
	"codeagent/tui/mention"
	"codeagent/tui/paint"
)

// command is a / command. An entry in the table is all that it needs.
type command struct {
	name, help string
	// takes names the words that may follow; "": no words.
	takes string
	run   func(m *app, argument string) tea.Cmd
	// waits: it needs no turn running, so one that is sent meanwhile is queued.
	waits bool
	// offered reports whether o has what it needs; nil: it needs nothing.
	offered func(o Options) bool
}

// commands is the table of / commands, in the order they are shown.
func commands() []command {
	page := func(title string, draw func(m *app, t *paint.Theme, w int) []string) func(*app, string) tea.Cmd {
		return func(m *app, _ string) tea.Cmd {
			return read(m, title, func(t *paint.Theme, w int) []string { return draw(m, t, w) })
		}
	}
	return slices.Concat([]command{
		{name: "help", help: "the keys and commands",
			run: page("Help", func(m *app, t *paint.Theme, w int) []string { return helpPage(t, w, offeredCommands(m.offers), m.keys) })},
		{name: "status", help: "model, folder, sandbox, what is not enforced here, tokens",
			run: page("Status", func(m *app, t *paint.Theme, w int) []string { return m.facts.Page(t, w, policyOf(m), modeOf(m)) })},
		{name: "permissions", takes: "[policy]", help: "what is open and why, revoke it; or change the policy, such as to read-only", run: showPermissions},
		{name: "model", takes: "[name] [effort]", help: "switch to another model; the effort says how long it may think: low, medium, high", run: showModels,
			offered: func(o Options) bool { return o.Models != nil }},
		{name: "effort", takes: "[effort]", help: "how long the model may think", run: showEfforts,
			offered: func(o Options) bool { return o.Extras.Effort != nil }},
		{name: "compact", takes: "[focus]", help: "summarize the conversation; the focus says what to keep", run: compact, waits: true,
			offered: func(o Options) bool { return o.Compact != nil }},
		{name: "copy", takes: "[N]", help: "copy the last answer, or its N-th block of code", run: copyAnswer},
		{name: "find", takes: "[text]", help: "find a text in the whole transcript", run: findText},
		{name: "undo", help: "undo what the last turn changed, after a preview", run: showUndo,
			offered: func(o Options) bool { return o.Undo != nil }},
		{name: "ps", help: "show background commands and their output; end them", run: func(m *app, _ string) tea.Cmd { return open(m, lists.OfJobs(m.setting(), m.offers.Background)) },
			offered: func(o Options) bool { return o.Background != nil }},
		{name: "sessions", help: "resume, rename or delete an earlier session", run: listSessions,
			offered: func(o Options) bool { return o.Sessions != nil }},
		{name: "theme", takes: "[name]", help: "other colours", run: showThemes},
	}, moreCommands(), []command{
		{name: "quit", help: "leave codeagent; so does /exit", run: func(m *app, _ string) tea.Cmd { return tea.Quit }},
	})
}

func (c command) usage() string { return strings.TrimSpace("/" + c.name + " " + c.takes) }

// typed is the message after its name was completed.
func (c command) typed() string {
	if c.takes != "" {
		return "/" + c.name + " "
	}
	return "/" + c.name
}

func offeredCommands(o Options) []command {
	all := slices.DeleteFunc(commands(), func(c command) bool { return c.offered != nil && !c.offered(o) })
	return slices.Concat(all, ownCommands(o, commands()), servedCommands(o))
}

// called returns the command that a message calls, and its argument. A text that
// only begins like a command is a message: "/tmp is full".
func called(text string, all []command) (c command, argument string, ok bool) {
	name, argument, more := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	if name == "exit" {
		name = "quit"
	}
	for _, c := range all {
		if strings.HasPrefix(text, "/") && c.name == name && (!more || c.takes != "") {
			return c, strings.TrimSpace(argument), true
		}
	}
	return command{}, "", false
}

// slashName returns the typed part of a command's name, if the message has nothing
// else.
func slashName(text string) (string, bool) {
	name, ok := strings.CutPrefix(text, "/")
	if !ok || strings.ContainsAny(name, " \n\t/") {
		return "", false
	}
	return name, true
}

// meant says which command a name that none has may mean.
func meant(name string, o Options) string {
	if c := nearest(name, o); c != "" {
		return "/" + c + " is one"
	}
	return "/help lists them"
}

// nearest is the command whose name of four letters or more differs from name in one letter, or in the order
// of two; "": none.
func nearest(name string, o Options) string {
	for _, c := range offeredCommands(o) {
		a, b := c.name, name
		for a != "" && b != "" && a[0] == b[0] {
			a, b = a[1:], b[1:]
		}
		for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
		if n := len(a) + len(b); len(name) > 3 && (n == 1 || n == 2 && len(a) == 1 || n == 4 && len(a) == 2 && a[0] == b[1] && a[1] == b[0]) {
			return c.name
		}
	}
	return ""
}

// choices are the commands whose names begin with the typed text.
func (n *menu) choices(typed string, o Options) []command {
	name, ok := slashName(typed)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(offeredCommands(o), func(c command) bool { return !strings.HasPrefix(c.name, name) })
}

// menuRows is how many choices are shown at most; the others scroll.
const menuRows = 10

// menu is the list of choices above the message: commands, or files.
type menu struct {
	at     int
	files  mention.Menu
	served served
}

// draw draws the choices; chosen is the row of the selected one.
func (n *menu) draw(t *paint.Theme, w int, typed string, o Options) (rows []string, chosen int) {
	if rows := n.files.View(t, w); rows != nil {
		return rows, n.files.At
	}
	rows = n.view(t, w, n.choices(typed, o))
	return rows, n.at
}

// press takes a key while there are choices. send: the message is now the chosen command, to be sent.
func (n *menu) press(do keys.Action, choices []command, c *composer.Composer) (send, handled bool) {
	n.at = max(min(n.at, len(choices)-1), 0)
	switch do {
	case keys.Up:
		n.at = (n.at + len(choices) - 1) % len(choices)
	case keys.Down:
		n.at = (n.at + 1) % len(choices)
	case keys.Queue:
		c.Set(choices[n.at].typed())
	case keys.Send:
		c.Set("/" + choices[n.at].name)
		n.at, send = 0, true
	default:
		return false, false
	}
	return send, true
}

func (n *menu) view(t *paint.Theme, w int, choices []command) []string {
	n.at = max(min(n.at, len(choices)-1), 0)
	var out []string
	left := 17
	for _, c := range choices {
		left = max(left, min(paint.Width(c.usage()), w/3))
	}
	for i, c := range choices {
		mark, s := paint.Text.Span("  "), paint.Text
		if i == n.at {
			mark, s = paint.Accent.Span("› "), paint.Accent.With(paint.Bold)
		}
		out = append(out, t.Row(w-1, mark, s.Span(padded(paint.Cut(c.usage(), left), left+1)), paint.Dim.Span(c.help)))
	}
	return out
}

func helpPage(t *paint.Theme, w int, commands []command, table *keys.Table) []string {
	out := []string{t.Paint(paint.Accent.With(paint.Bold), "Commands"), ""}
	var pairs [][2]string
	for _, c := range commands {
		pairs = append(pairs, [2]string{c.usage(), c.help})
	}
	out = append(out, t.Columns(w, pairs)...)
	where := keys.Scope("")
	pairs = nil
	flush := func() {
		if len(pairs) > 0 {
			out = append(out, "", t.Paint(paint.Accent.With(paint.Bold), string(where)), "")
			out = append(out, t.Columns(w, pairs)...)
		}
		pairs = nil
	}
	for _, b := range table.Bindings {
		if b.Where != where {
			flush()
			where = b.Where
		}
		pairs = append(pairs, [2]string{b.KeyNames(), b.Help})
	}
	flush()
	return out
}

// padded fills a text with spaces.
func padded(s string, w int) string { return s + strings.Repeat(" ", max(w-paint.Width(s), 0)) }
