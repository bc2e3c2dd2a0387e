// Package mcpcmd is `codeagent mcp`: codeagent as a server of the Model Context Protocol. It joins
// rooms and acts on the host only through them. Start at New.
package mcpcmd

import (
	"codeagent/cmd/codeagent/cli"

	"github.com/spf13/cobra"
)

// New returns the command `codeagent mcp`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Offer codeagent to other programs as an MCP server",
		Long: "mcp serves the Model Context Protocol on stdin and stdout, for programs that start it as a\n" +
			"server. Its tools are shell, apply_patch, agent and undo. They work in the folder where it was\n" +
			"started, or that --cd names, under your settings; commands run in the sandbox. A\n" +
			"permission is asked for in the client if that can show questions; otherwise it is refused,\n" +
			"and the result says what would allow it. All that it has started ends with stdin.\n\n" +
			"The commands below it are about the MCP servers that codeagent itself uses.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveStdio(cmd.Context(), s, *f) },
	}
}
