package rulescmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/spf13/cobra"
)

// maxFile limits a rules file, in bytes.
const maxFile = 1 << 20

func newTest(s cli.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "test [FILE]", Short: "Run the examples of the rules, and report each",
		Long: "test judges each example of match and not_match by its rule alone. Without FILE it tests your rules. The\n" +
			"status is 1 if an example does not hold.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return test(cmd.Context(), s, args) },
	}
}

// readFile reads a file that the user names.
func readFile(ctx context.Context, name string) ([]byte, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, cli.Usage(err)
	}
	data, err := hostfile.Read(ctx, full, maxFile)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return data, nil
}

func test(ctx context.Context, s cli.Stdio, args []string) error {
	file := strings.Join(args, "")
	if len(args) == 0 {
		paths, _, err := workspace.Places(ctx, s)
		if err != nil {
			return err
		}
		file = paths.Rules
	}
	data, err := readFile(ctx, file)
	if err != nil {
		return err
	}
	all, err := rules.ParseUntested(file, data, s.Env("HOME"))
	if err != nil {
		return cli.Usage(err, "codeagent help rules has the form of rules")
	}
	var out strings.Builder
	tested, failed, without := 0, 0, 0
	for _, r := range all {
		examples := r.Examples()
		if len(examples) == 0 && len(r.Words) > 0 {
			without++
		}
		for _, e := range examples {
			result := "ok  "
			if tested++; e.Problem != "" {
				result, failed = "FAIL", failed+1
			}
			fmt.Fprintf(&out, "%s  line %d  %s  %s %s\n", result, r.Line, visible.Line(r.String()), e.Key, visible.Line(short.Quote(e.Line, 200)))
			if e.Problem != "" {
				fmt.Fprintf(&out, "      %s\n", visible.Line(e.Problem))
			}
		}
	}
	fmt.Fprintf(&out, "%s, %d failed; %s for commands without an example\n", short.Count(tested, "example"), failed, short.Count(without, "rule"))
	if _, err := io.WriteString(s.Text, out.String()); err != nil {
		return err
	}
	if failed > 0 {
		return cli.StatusError(cli.ExitFailed)
	}
	return nil
}
