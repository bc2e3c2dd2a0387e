// Package serverscmd is the commands below `codeagent mcp` about the MCP servers that codeagent
// itself uses: add, list, remove, test, learn, login, logout. It changes config.toml through package workspace, and reads a
// project's servers through package extensions. Start at New.
package serverscmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/mcp/signin"

	"github.com/spf13/cobra"
)

// New returns the commands.
func New(s cli.Stdio, f *cli.Flags) []*cobra.Command {
	return []*cobra.Command{newAdd(s), newList(s, f), newRemove(s), newTest(s, f), newLearn(s, f), newLogin(s, f), newLogout(s)}
}

func newRemove(s cli.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove an MCP server from the settings", Args: cobra.ExactArgs(1),
		Long: "remove takes the tables of the server out of config.toml and leaves all else there as it is.",
		RunE: func(cmd *cobra.Command, args []string) error { return remove(cmd.Context(), s, args[0]) },
	}
}

func remove(ctx context.Context, s cli.Stdio, name string) error {
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return err
	}
	err = workspace.ChangeSettings(ctx, paths, func(text []byte) ([]byte, error) {
		known, err := server.Names(text)
		if err == nil && !slices.Contains(known, name) {
			return nil, unknown(name, known)
		}
		return server.Without(text, name)
	})
	if err != nil {
		return err
	}
	out := fmt.Sprintf("removed the MCP server %s from %s\n", name, visible.Line(paths.File))
	if (signin.Store{Dir: paths.SignIns}).Has(name) {
		out += fmt.Sprintf("  its sign-in stays; codeagent mcp logout %s removes it\n", name)
	}
	_, err = io.WriteString(s.Text, out)
	return err
}

// unknown is the error for a name that no server has.
func unknown(name string, known []string) error {
	return cli.Usage(fmt.Errorf("no MCP server %s%s", short.Quote(name, 40), short.Meant(name, known)), "codeagent mcp list shows the servers")
}

// names are the keys of a table, in order.
func names[T any](table map[string]T) []string { return slices.Sorted(maps.Keys(table)) }
