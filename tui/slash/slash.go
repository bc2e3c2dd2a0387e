// Package slash is the / commands as the person sees them: a menu while a name is typed, what a
// message calls, and their part of /help. What a command does is an intent of its owner's. It
// performs no IO. Start with Command.
package slash

import (
	"cmp"
	"slices"
	"strings"

	"codeagent/internal/short"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// Command is a / command.
type Command struct {
	Name, Help string
	// Takes names the words that may follow, those in brackets if they can be left out; "": no words.
	Takes string
	Run   func(argument string) part.Intent
	// Waits: it needs no turn running, so one that is sent meanwhile is queued.
	Waits bool
	// Missing: what it needs is not there, so it is not offered.
	Missing bool
}

// Usage is the name with the words that it takes.
func (c Command) Usage() string { return strings.TrimSpace("/" + c.Name + " " + c.Takes) }

// typed is the message after its name was completed.
func (c Command) typed() string {
	if c.Takes != "" {
		return "/" + c.Name + " "
	}
	return "/" + c.Name
}

// Commands are those that are offered, in the order they are shown.
type Commands []Command

// Called returns the command that a message calls, and its argument. A text that
// only begins like a command is a message: "/tmp is full".
func (all Commands) Called(text string) (c Command, argument string, ok bool) {
	name, argument, more := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	if name == "exit" {
		name = "quit"
	}
	for _, c := range all {
		if strings.HasPrefix(text, "/") && c.Name == name && (!more || c.Takes != "") {
			return c, strings.TrimSpace(argument), true
		}
	}
	return Command{}, "", false
}

// Unknown says that a message calls a command that is not there; "": it calls none.
func (all Commands) Unknown(text string) string {
	word, _, _ := strings.Cut(text, " ")
	name, slash := strings.CutPrefix(word, "/")
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	near := ""
	if len(name) > 3 {
		near = short.Nearest(name, names)
	}
	_, alone := partOf(text)
	switch {
	case slash && near != "" && near != name:
		return "no command /" + name + "; /" + near + " is one"
	case alone:
		return "no command /" + name + "; /help lists them"
	}
	return ""
}

// partOf returns the typed part of a command's name, if the message has nothing else.
func partOf(text string) (string, bool) {
	name, ok := strings.CutPrefix(text, "/")
	if !ok || strings.ContainsAny(name, " \n\t/") {
		return "", false
	}
	return name, true
}

// choices are the commands whose names begin with the typed text. all is
// called only if there is such a text: keys and frames come much more often.
func choices(typed string, all func() Commands) (found Commands) {
	name, ok := partOf(typed)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(all(), func(c Command) bool { return !strings.HasPrefix(c.Name, name) })
}

// Menu is the list of commands above the message while a name is typed.
type Menu struct{ at int }

// Written is the message with the chosen command. Send: it is to be sent.
type Written struct {
	Text string
	Send bool
}

// Key takes a key while there are choices for what is typed; false: it has no use for it.
func (n *Menu) Key(k keys.Key, table *keys.Table, typed string, all func() Commands) (part.Intent, bool) {
	if keys.Typed(k) != "" {
		n.at = 0
	}
	choices := choices(typed, all)
	if len(choices) == 0 {
		return nil, false
	}
	n.at = min(n.at, len(choices)-1)
	switch table.Find(k, keys.InSlashMenu) {
	case keys.Up:
		n.at = (n.at + len(choices) - 1) % len(choices)
	case keys.Down:
		n.at = (n.at + 1) % len(choices)
	case keys.Queue:
		return Written{Text: choices[n.at].typed()}, true
	case keys.Send:
		chosen := choices[n.at]
		n.at = 0
		if chosen.Takes != "" && chosen.Takes[0] != '[' {
			return Written{Text: chosen.typed()}, true
		}
		return Written{"/" + chosen.Name, true}, true
	default:
		return nil, false
	}
	return nil, true
}

// View draws the choices; chosen is the row of the selected one.
func (n *Menu) View(t *paint.Theme, w int, typed string, all func() Commands) (rows []string, chosen int) {
	choices := choices(typed, all)
	n.at = max(min(n.at, len(choices)-1), 0)
	left := 17
	for _, c := range choices {
		left = max(left, min(paint.Width(c.Usage()), w/3))
	}
	for i, c := range choices {
		mark, s := paint.Text.Span("  "), paint.Text
		if i == n.at {
			mark, s = paint.Accent.Span("› "), paint.Accent.With(paint.Bold)
		}
		usage := paint.Cut(c.Usage(), left)
		usage += strings.Repeat(" ", left+1-paint.Width(usage))
		rows = append(rows, t.Row(w-1, mark, s.Span(usage), paint.Dim.Span(c.Help)))
	}
	return rows, n.at
}

// Help draws the commands, and the keys by where they hold.
func Help(t *paint.Theme, w int, all Commands, more [][2]string, table *keys.Table) (out []string) {
	section := func(title string, pairs [][2]string) {
		if len(out) > 0 {
			out = append(out, "")
		}
		out = append(out, t.Paint(paint.Accent.With(paint.Bold), title), "")
		out = append(out, t.Columns(w, pairs)...)
	}
	var pairs [][2]string
	for _, c := range all {
		pairs = append(pairs, [2]string{c.Usage(), c.Help})
	}
	section("Commands", append(pairs, more...))
	for at := 0; at < len(table.Bindings); {
		where := table.Bindings[at].Where
		for pairs = nil; at < len(table.Bindings) && table.Bindings[at].Where == where; at++ {
			pairs = append(pairs, [2]string{table.Bindings[at].KeyNames(), table.Bindings[at].Help})
		}
		section(string(where), pairs)
	}
	return out
}

// Names draws the keys, with the names by which the settings change them.
func Names(t *paint.Theme, w int, table *keys.Table) (out []string) {
	where := keys.Scope("")
	w = min(w, 76) // a name far from its keys is hard to follow
	for _, b := range table.Bindings {
		if b.Where != where {
			where = b.Where
			out = append(out, "", t.Paint(paint.Accent.With(paint.Bold), string(where)), "")
		}
		name := cmp.Or(b.KeyNames(), "(no key)")
		out = append(out, t.Justify(w, []paint.Span{paint.Accent.Span(name)}, []paint.Span{paint.Dim.Span(b.Setting())}))
		out = append(out, t.Hang(w, paint.Text.Span("  "), paint.Text.Span(b.Help))...)
	}
	return out[min(1, len(out)):]
}
