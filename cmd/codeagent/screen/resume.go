package screen

import (
	"strings"

	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"

	"github.com/spf13/cobra"
)

// NewResume returns the command `codeagent resume`.
func NewResume(s cli.Stdio, f *cli.Flags) *cobra.Command {
	return interactiveFrom(s, f, "resume [ID | TITLE | --last] [PROMPT]", "Resume an earlier session", false,
		"resume continues a session on the screen, in its own folder unless --cd names another, and with the\n"+
			"model that it used last unless --model names another. Permissions granted for the session are asked\n"+
			"for again.")
}

// NewFork returns the command `codeagent fork`.
func NewFork(s cli.Stdio, f *cli.Flags) *cobra.Command {
	return interactiveFrom(s, f, "fork [ID | --last] [PROMPT]", "Resume a copy of an earlier session", true,
		"fork is resume with a copy: the session itself stays as it is.")
}

func interactiveFrom(s cli.Stdio, f *cli.Flags, use, short string, fork bool, long string) *cobra.Command {
	r := sessionscmd.Which{Fork: fork}
	var o Options
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.NoScreen(); err != nil {
				return err
			}
			if !s.Dumb() {
				r.Pick = pickSession(s, *f, fork)
			}
			from, rest, err := r.Find(cmd.Context(), s, *f, args)
			if err != nil {
				return err
			}
			o.from = from
			return Run(cmd.Context(), s, *f, o, rest)
		},
	}
	cli.DraftFlag(cmd.Flags(), f)
	attach.Flag(cmd.Flags(), &o.Images)
	r.Add(cmd, strings.Fields(use)[0])
	return cmd
}
