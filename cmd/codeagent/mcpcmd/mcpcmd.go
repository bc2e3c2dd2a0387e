// Package mcpcmd is `codeagent mcp`: codeagent as a server of the Model Context Protocol, and
// the commands about the servers that codeagent itself uses. It joins rooms and acts on the
// host only through them. Start at New.
package mcpcmd

import (
	"codeagent/cmd/codeagent/cli"

	"github.com/spf13/cobra"
)

// New returns the command `codeagent mcp`.
func New(_ cli.Stdio, _ *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Offer codeagent to other programs as an MCP server",
		Args:  cobra.NoArgs,
	}
}
