// Package acpcmd is `codeagent acp`: codeagent as the agent of an editor, over the Agent Client
// Protocol on stdin and stdout. Each session of the editor is a conversation with a workspace, a
// gate and a record of its own. Read New first, then host.go.
package acpcmd

import (
	"os"
	"os/signal"
	"syscall"

	"codeagent/acp"
	"codeagent/cmd/codeagent/cli"

	"github.com/spf13/cobra"
)

// New returns the command `codeagent acp`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "acp",
		Short: "Be the agent of an editor: the Agent Client Protocol on stdin and stdout",
		Long: "acp speaks the Agent Client Protocol (https://agentclientprotocol.com) on stdin and stdout,\n" +
			"for editors that start an agent as a program. Each session works in the folder that the\n" +
			"editor names, under your settings; its commands run in the sandbox, and questions appear in\n" +
			"the editor. It ends, with everything that it has started, when stdin does. How editors are set\n" +
			"up: codeagent help acp.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// If the editor goes away, that must not end codeagent before its commands have ended.
			// Notify and not Ignore: every command would inherit an ignored signal.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			return acp.Serve(cmd.Context(), s.In, s.Out, acp.Options{Host: &host{stdio: s, flags: *f}, Version: f.Process.Version})
		},
	}
}
