package rulescmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"codeagent/approvals/rules"
	"codeagent/approvals/rules/foreign"
	"codeagent/cmd/codeagent/cli"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/spf13/cobra"
)

// reader translates a file of another tool; name is its name in messages.
type reader func(name string, data []byte, home string) (foreign.Result, error)

func newImport(s cli.Stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import claude|codex FILE", Short: "Read the permission rules of another tool",
		Long: "import prints what a file of another tool says as rules.toml, and says line by line what could not be\n" +
			"carried over. What it prints is never wider than the file.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return cli.Usage(errors.New("codeagent rules import: name the tool and its file"), "codeagent rules import claude|codex FILE")
		},
	}
	add := func(use, about string, of func(file string) reader) {
		var append bool
		sub := &cobra.Command{
			Use: use + " FILE", Short: about, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return importFile(cmd.Context(), s, args[0], of(args[0]), append)
			},
		}
		sub.Flags().BoolVar(&append, "add", false, "add the rules to rules.toml instead of printing them")
		cmd.AddCommand(sub)
	}
	add("claude", "Read the permissions of a settings.json of Claude Code", func(string) reader { return foreign.Claude })
	add("codex", "Read a file of rules, or the config.toml, of Codex", func(file string) reader {
		if filepath.Ext(file) == ".toml" {
			return foreign.CodexConfig
		}
		return foreign.Codex
	})
	return cmd
}

// maxFile limits a rules file, in bytes.
const maxFile = 1 << 20

func importFile(ctx context.Context, s cli.Stdio, file string, read reader, add bool) error {
	full, err := filepath.Abs(file)
	if err != nil {
		return cli.Usage(err)
	}
	data, err := hostfile.Read(ctx, full, maxFile)
	if err != nil {
		return cli.Usage(err)
	}
	got, err := read(file, data, s.Env("HOME"))
	if err != nil {
		return cli.Usage(err, "nothing was imported")
	}
	for _, n := range got.Notes {
		fmt.Fprintln(s.Err, visible.Line(n))
	}
	fmt.Fprintf(s.Err, "%s imported from %s; an allow runs a command inside the sandbox\n", short.Count(got.Rules, "rule"), visible.Line(filepath.Base(file)))
	if got.Rules == 0 {
		return nil
	}
	if add {
		return change(ctx, s, func(text []byte, _ []*rules.Rule) ([]byte, error) { return append(text, got.TOML...), nil })
	}
	_, err = fmt.Fprint(s.Text, strings.TrimPrefix(visible.Text(string(got.TOML)), "\n"))
	return err
}
