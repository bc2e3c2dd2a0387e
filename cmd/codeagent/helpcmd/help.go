// Package helpcmd is `codeagent help`: the usage of a command, or a page of docs/, which
// an installed program has no files of. --man writes manual pages to the folder that it names;
// otherwise it writes to the streams alone. Start with New.
package helpcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/docs"
	"codeagent/tui/markdown"
	"codeagent/tui/paint"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// New returns the command. A page comes before a command of the same name, whose usage its
// own --help prints.
func New(s cli.Stdio) *cobra.Command {
	man := ""
	cmd := &cobra.Command{
		Use:   "help [TOPIC or COMMAND]",
		Short: "Help about a topic: " + strings.Join(docs.Topics(), ", "),
		Long: "Prints a page about a topic: " + strings.Join(docs.Topics(), ", ") + ".\n" +
			"For any other command it prints what --help prints.",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := docs.Topics()
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() && !slices.Contains(names, c.Name()) {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if man != "" && len(args) > 0 {
				return cli.Usage(errors.New("--man writes all pages and takes no topic"))
			}
			if man != "" {
				return writeManual(cmd, s, man)
			}
			if len(args) == 1 && docs.Page(args[0]) != "" {
				return page(s, cmd.Root(), args[0])
			}
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 || found == cmd.Root() && len(args) > 0 {
				return cli.Usage(fmt.Errorf("no help on %q", strings.Join(args, " ")), "topics: "+strings.Join(docs.Topics(), ", "), "codeagent --help lists the commands")
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
	cmd.Flags().StringVar(&man, "man", "", "write the manual pages to this `FOLDER` instead")
	return cmd
}

// page prints a page: drawn for a terminal, as Markdown to anything else.
func page(s cli.Stdio, root *cobra.Command, topic string) error {
	text := docs.Page(topic)
	if c, _, err := root.Find([]string{topic}); err == nil && c != root {
		text += fmt.Sprintf("\n`codeagent %s --help` lists the flags of the command.\n", topic)
	}
	if !cli.IsTerminal(s.Out) {
		_, err := fmt.Fprint(s.Text, text)
		return err
	}
	w, _, err := term.GetSize(int(s.Out.Fd()))
	if err != nil || w < 20 {
		w = 80
	}
	var doc markdown.Document
	doc.Set(text)
	doc.Ended = true
	for _, line := range doc.Lines(paint.New(true), min(w-1, 100)) {
		if _, err := fmt.Fprintln(s.Text, strings.TrimRight(ansi.Strip(line), " ")); err != nil {
			return err
		}
	}
	return nil
}
