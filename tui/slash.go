package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// command is a / command: one entry here is all there is to one.
type command struct {
	name, help string
	run        func(m *app) tea.Cmd
}

// commands is the table of / commands, in the order they are shown.
func commands() []command {
	return []command{
		{"help", "the keys and commands", func(m *app) tea.Cmd {
			m.panel = &panel{title: "Help", page: helpPage}
			return nil
		}},
		{"status", "model, folder, sandbox, what is not enforced here, tokens", func(m *app) tea.Cmd {
			m.panel = &panel{title: "Status", page: m.facts.page}
			return nil
		}},
		{"permissions", "what was asked for in this session, and the answers", func(m *app) tea.Cmd {
			m.panel = &panel{title: "Permissions", page: m.permissionsPage}
			return nil
		}},
		{"quit", "leave codeagent", func(m *app) tea.Cmd { return m.quit() }},
	}
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
func matching(text string) []command {
	name, ok := slashName(text)
	if !ok {
		return nil
	}
	var out []command
	for _, c := range commands() {
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
		out = append(out, t.row(w-1, mark, span{fmt.Sprintf("/%-13s", c.name), s}, span{c.help, dim}))
	}
	return out
}

func helpPage(t *theme, w int) []string {
	out := []string{t.paint(style{inkAccent, bold}, "Commands"), ""}
	var pairs [][2]string
	for _, c := range commands() {
		pairs = append(pairs, [2]string{"/" + c.name, c.help})
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
