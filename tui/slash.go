package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// command is a / command: one entry here is all there is to one.
type command struct {
	name, help string
	// takes names the words that may follow; "" takes none.
	takes string
	run   func(m *app, argument string) tea.Cmd
	// offered: what it needs was handed in; nil needs nothing.
	offered func(o Options) bool
}

// commands is the table of / commands, in the order they are shown.
func commands() []command {
	page := func(title string, of func(m *app) func(*theme, int) []string) func(*app, string) tea.Cmd {
		return func(m *app, _ string) tea.Cmd {
			m.panel = &panel{title: title, page: of(m)}
			return nil
		}
	}
	return []command{
		{name: "help", help: "the keys and commands", run: page("Help", func(m *app) func(*theme, int) []string { return m.helpPage })},
		{name: "status", help: "model, folder, sandbox, what is not enforced here, tokens",
			run: page("Status", func(m *app) func(*theme, int) []string { return m.facts.page })},
		{name: "permissions", help: "what was asked for in this session, and the answers",
			run: page("Permissions", func(m *app) func(*theme, int) []string { return m.permissionsPage })},
		{name: "model", takes: "[name]", help: "ask another model from now on", run: (*app).model,
			offered: func(o Options) bool { return o.Models != nil }},
		{name: "compact", takes: "[focus]", help: "make the conversation shorter; what the focus names is kept best", run: (*app).compact,
			offered: func(o Options) bool { return o.Compact != nil }},
		{name: "undo", help: "take back what the last turn changed, after a preview", run: (*app).undo,
			offered: func(o Options) bool { return o.Undo != nil }},
		{name: "ps", help: "the commands that run in the background", run: (*app).ps,
			offered: func(o Options) bool { return o.Background != nil }},
		{name: "sessions", help: "go on with an earlier conversation; rename and delete", run: (*app).sessions,
			offered: func(o Options) bool { return o.Sessions != nil }},
		{name: "quit", help: "leave codeagent", run: func(m *app, _ string) tea.Cmd { return m.quit() }},
	}
}

// usage is how the command is written.
func (c command) usage() string { return strings.TrimSpace("/" + c.name + " " + c.takes) }

// typed is what completing its name leaves in the message.
func (c command) typed() string {
	if c.takes != "" {
		return "/" + c.name + " "
	}
	return "/" + c.name
}

// commands are those that are offered here.
func (m *app) commands() []command {
	return slices.DeleteFunc(commands(), func(c command) bool { return c.offered != nil && !c.offered(m.offers) })
}

// called returns the command that a message is, and what follows its name. What
// only begins like one is a message: "/tmp is full".
func (m *app) called(text string) (c command, argument string, ok bool) {
	name, argument, more := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	for _, c := range m.commands() {
		if strings.HasPrefix(text, "/") && c.name == name && (!more || c.takes != "") {
			return c, strings.TrimSpace(argument), true
		}
	}
	return command{}, "", false
}

// slashName returns what is typed of a command's name while the message is
// nothing but that.
func slashName(text string) (string, bool) {
	name, ok := strings.CutPrefix(text, "/")
	if !ok || strings.ContainsAny(name, " \n\t/") {
		return "", false
	}
	return name, true
}

// matching lists the commands whose names begin with what is typed.
func (m *app) matching() []command {
	name, ok := slashName(m.composer.text)
	if !ok {
		return nil
	}
	var out []command
	for _, c := range m.commands() {
		if strings.HasPrefix(c.name, name) {
			out = append(out, c)
		}
	}
	return out
}

// menu is the list of matching commands above the message.
type menu struct{ at int }

func (n *menu) view(t *theme, w int, choices []command) []string {
	n.at = max(min(n.at, len(choices)-1), 0)
	var out []string
	for i, c := range choices {
		mark, s := span{"  ", text}, text
		if i == n.at {
			mark, s = span{"› ", accent}, style{inkAccent, bold}
		}
		out = append(out, t.row(w-1, mark, span{fmt.Sprintf("%-17s", c.usage()), s}, span{c.help, dim}))
	}
	return out
}

func (m *app) helpPage(t *theme, w int) []string {
	out := []string{t.paint(style{inkAccent, bold}, "Commands"), ""}
	var pairs [][2]string
	for _, c := range m.commands() {
		pairs = append(pairs, [2]string{c.usage(), c.help})
	}
	out = append(out, columns(t, w, pairs)...)
	where := scope("")
	pairs = nil
	flush := func() {
		if len(pairs) > 0 {
			out = append(out, "", t.paint(style{inkAccent, bold}, string(where)), "")
			out = append(out, columns(t, w, pairs)...)
		}
		pairs = nil
	}
	for _, b := range bindings() {
		if b.where != where {
			flush()
			where = b.where
		}
		pairs = append(pairs, [2]string{b.keyNames(), b.help})
	}
	flush()
	return out
}

// permissionsPage lists the session's questions and answers, the latest last.
func (m *app) permissionsPage(t *theme, w int) []string {
	if len(m.asked) == 0 {
		return t.wrap(w, span{"Nothing was asked for in this session.", dim})
	}
	c := canvas{theme: t, width: w, home: m.home}
	var out []string
	for i, a := range m.asked {
		if i > 0 {
			out = append(out, "")
		}
		out = append(out, t.wrap(w, span{firstOf(a.request.Title, a.request.Command, "permission"), strong})...)
		if a.request.Command != "" {
			out = append(out, t.row(w, span{"  $ " + a.request.Command, text}))
		}
		if a.answer == nil {
			out = append(out, t.row(w, span{"  waits for your answer", warn}))
			continue
		}
		for _, l := range a.lines(c) {
			out = append(out, "  "+l)
		}
	}
	return out
}
