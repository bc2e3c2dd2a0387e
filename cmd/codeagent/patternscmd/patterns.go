// Package patternscmd is the command `codeagent patterns`: it shows and forgets what earlier sessions in a folder learned
// of which call follows which step. Start at New.
package patternscmd

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/patterns"

	"github.com/spf13/cobra"
)

// New returns the command `codeagent patterns`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use: "patterns", Short: "Show which calls codeagent expects here after which step",
		Long: "patterns shows what sessions in this folder learned: after which step which call came last, how often\n" +
			"something followed that step, how sure it is (from 0 to 1), and whether it runs ahead while the model\n" +
			"answers. codeagent help work-ahead has more.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return show(cmd.Context(), s, *f, plain) },
	}
	cmd.Flags().BoolVar(&plain, "json", false, "print one JSON object a line")
	cmd.AddCommand(&cobra.Command{
		Use: "clear", Short: "Forget what sessions in this folder learned", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := workspace.Enter(s, *f)
			if err != nil {
				return err
			}
			if err := workspace.ForgetPatterns(cmd.Context(), s, f.Process, folder); err != nil {
				return cli.StorageError(err)
			}
			_, err = fmt.Fprintf(s.Text, "forgot what sessions in %s learned\n", visible.Line(folder))
			return err
		},
	})
	return cmd
}

// shown is a line of `patterns --json`.
type shown struct {
	patterns.Pattern
	Bound float64 `json:"bound"`
	Ahead bool    `json:"runs_ahead"`
}

func show(ctx context.Context, s cli.Stdio, f cli.Flags, plain bool) error {
	folder, err := workspace.Enter(s, f)
	if err != nil {
		return err
	}
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return err
	}
	book, notice := workspace.ReadPatterns(ctx, paths)
	if notice != "" {
		fmt.Fprintf(s.Err, "codeagent: %s\n", visible.Line(notice))
	}
	table, n := tabwriter.NewWriter(s.Text, 0, 0, 2, ' ', 0), 0
	for _, p := range book.Patterns(time.Now()) {
		if p.Project != folder {
			continue
		}
		line := shown{p, p.Bound(), p.Predicts(time.Now())}
		if n++; plain {
			if err := cli.PrintJSON(s.Out, line, ""); err != nil {
				return err
			}
			continue
		}
		if n == 1 {
			fmt.Fprintln(table, "ahead\tseen\tsure\tlast\tafter\tcall")
		}
		step, call := p.Step, p.Call
		if p.Skill != "" {
			step += " (skill " + p.Skill + ")"
		}
		if call == "" {
			call = "(none that can run ahead)"
		}
		const most = 100
		fmt.Fprintf(table, "%s\t%d\t%.2f\t%s\t%s\t%s\n", map[bool]string{true: "yes", false: "no"}[line.Ahead], p.Seen, line.Bound,
			p.At.Local().Format("2006-01-02 15:04"), visible.Line(short.Cut(step, most)), visible.Line(short.Cut(call, most)))
	}
	if n == 0 && !plain {
		fmt.Fprintln(s.Err, "nothing is known of this folder")
	}
	return table.Flush()
}
