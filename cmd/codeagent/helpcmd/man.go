package helpcmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/docs"
	"codeagent/hostfile"
	"codeagent/tui/markdown"
	"codeagent/tui/paint"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manWidth is the width of the pages of docs/ in a manual page, which indents them.
const manWidth = 72

// writeManual writes the manual pages to dir: one for each command, with the page of docs/ of
// its name, and one for each other page.
func writeManual(cmd *cobra.Command, s cli.Stdio, dir string) error {
	var ground hostfile.Ground
	if s.Env("HOME") != "" || s.Env("CODEAGENT_HOME") != "" { // an installer may have neither, and then no session was here
		var err error
		if _, ground, err = workspace.Places(cmd.Context(), s); err != nil {
			return err
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	ground = ground.With(here)
	if err := makeFolder(ground, dir); err != nil {
		return cli.Usage(fmt.Errorf("--man: %w", err))
	}
	pages := manual(cmd.Root(), cmd.Root().Version)
	names := make([]string, 0, len(pages))
	for name := range pages {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		file, err := cli.OpenOutput(ground, "--man", filepath.Join(dir, name), 0o644)
		if err != nil {
			return err
		}
		err = file.Write(func(w io.Writer) error {
			_, err := io.WriteString(w, pages[name])
			return err
		})
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes the folder dir where it is missing, through no link that a command may have made.
func makeFolder(ground hostfile.Ground, dir string) error {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = ground.Resolve("/", dir)
	}
	if err != nil {
		return err
	}
	return hostfile.MkdirAll(dir, 0o755)
}

// manual returns the pages by the names of their files.
func manual(root *cobra.Command, version string) map[string]string {
	out := map[string]string{}
	rest := docs.Topics()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		topic := strings.TrimPrefix(name, root.Name()+"-")
		out[name+".1"] = commandPage(cmd, name, docs.Page(topic), version)
		rest = slices.DeleteFunc(rest, func(t string) bool { return t == topic })
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(root)
	for _, topic := range rest {
		name := root.Name() + "-" + topic
		title, sections := split(docs.Page(topic))
		m := begin(name, "7", title, version)
		m.sections(sections)
		m.section("SEE ALSO", root.Name()+"(1)")
		out[name+".7"] = m.String()
	}
	return out
}

// commandPage is the manual page of a command.
func commandPage(cmd *cobra.Command, name, text, version string) string {
	m := begin(name, "1", cmd.Short, version)
	synopsis := []string{cmd.UseLine()}
	var subs []*cobra.Command
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			subs = append(subs, sub)
		}
	}
	if len(subs) > 0 {
		synopsis = append(synopsis, cmd.CommandPath()+" COMMAND")
	}
	m.section("SYNOPSIS", synopsis...)
	_, sections := split(text)
	if cmd.Long != "" {
		m.section("DESCRIPTION", strings.Split(cmd.Long, "\n")...)
		if len(sections) > 0 && sections[0].title == "DESCRIPTION" {
			m.WriteString(".PP\n")
			m.page(sections[0].text)
			sections = sections[1:]
		}
	}
	if len(subs) > 0 {
		m.head("COMMANDS")
		for _, sub := range subs {
			m.item(sub.Name(), sub.Short)
		}
	}
	cmd.InitDefaultHelpFlag()
	if flags := cmd.LocalFlags(); flags.HasAvailableFlags() {
		m.head("OPTIONS")
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			words := "--" + f.Name
			if f.Shorthand != "" {
				words = "-" + f.Shorthand + ", " + words
			}
			kind, usage := pflag.UnquoteUsage(f)
			m.item(strings.TrimSpace(words+" "+strings.ToUpper(strings.TrimSuffix(kind, "Array"))), usage)
		})
	}
	m.sections(sections)
	see := cmd.Root().Name() + "(1)"
	if cmd.HasParent() {
		m.section("SEE ALSO", see+", whose options apply too")
	} else {
		for _, topic := range docs.Topics() {
			see += ", " + cmd.Root().Name() + " help " + topic
		}
		m.section("SEE ALSO", strings.TrimPrefix(see, cmd.Root().Name()+"(1), "))
	}
	return m.String()
}

// section is a part of a page of docs/, below a heading.
type section struct{ title, text string }

// split returns the title of a page, and its sections.
func split(page string) (title string, sections []section) {
	fenced := false
	current := section{title: "DESCRIPTION"}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if t, ok := strings.CutPrefix(line, "# "); ok && !fenced && title == "" {
			title = strings.TrimSpace(t)
			continue
		}
		if t, ok := strings.CutPrefix(line, "## "); ok && !fenced {
			sections = append(sections, current)
			current = section{title: strings.TrimSpace(t)}
			continue
		}
		current.text += line
	}
	sections = append(sections, current)
	return title, slices.DeleteFunc(sections, func(s section) bool { return strings.TrimSpace(s.text) == "" })
}

// roff is a manual page in the language of man(7).
type roff struct{ strings.Builder }

func begin(name, part, about, version string) *roff {
	m := &roff{}
	fmt.Fprintf(m, ".TH \"%s\" \"%s\" \"\" \"%s\" \"\"\n", quoted(strings.ToUpper(name)), part, quoted("codeagent "+version))
	m.section("NAME", name+" - "+about)
	return m
}

func (m *roff) head(title string) {
	fmt.Fprintf(m, ".SH \"%s\"\n", quoted(strings.ToUpper(strings.ReplaceAll(title, "`", ""))))
}

// section adds a section whose lines stay as they are.
func (m *roff) section(title string, lines ...string) {
	m.head(title)
	m.WriteString(".nf\n")
	for _, line := range lines {
		m.WriteString(escaped(line) + "\n")
	}
	m.WriteString(".fi\n")
}

// sections adds sections of docs/.
func (m *roff) sections(list []section) {
	for _, s := range list {
		m.head(s.title)
		m.page(s.text)
	}
}

// page adds Markdown, drawn as on a terminal. Lines of code are not wrapped.
func (m *roff) page(text string) {
	var prose strings.Builder
	drawn := func() {
		var doc markdown.Document
		doc.Set(prose.String())
		doc.Ended = true
		for _, line := range doc.Lines(paint.New(true), manWidth) {
			m.WriteString(escaped(strings.TrimRight(ansi.Strip(line), " ")) + "\n")
		}
		prose.Reset()
	}
	fenced := false
	m.WriteString(".nf\n")
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		switch fence := strings.HasPrefix(line, "```"); {
		case fence && !fenced:
			drawn()
			m.WriteString("\n")
			fenced = true
		case fence:
			m.WriteString("\n")
			fenced = false
		case fenced:
			m.WriteString(escaped("    "+strings.TrimSuffix(line, "\n")) + "\n")
		default:
			prose.WriteString(line)
		}
	}
	drawn()
	m.WriteString(".fi\n")
}

// item adds a word and what it means.
func (m *roff) item(word, about string) {
	fmt.Fprintf(m, ".TP\n.B \"%s\"\n%s\n", quoted(word), escaped(about))
}

// escaped returns a line of text that roff prints as it is.
func escaped(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}

// quoted returns text between the quotes of an argument.
func quoted(text string) string { return strings.ReplaceAll(escaped(text), `"`, `\(dq`) }
