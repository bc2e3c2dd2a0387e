package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Flags are the values of the flags that every command shares.
type Flags struct {
	Sandbox, Approval, Model, Folder string
	AddDirs, AddFiles                []string
	Hosts, FetchHosts, Settings      []string
	// DenyRead and Sockets are flags of `codeagent sandbox` only.
	DenyRead, Sockets []string
}

// ExplainArguments makes every command say which arguments it takes when it gets too many
// or too few.
func ExplainArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		ExplainArguments(sub)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var known *HintError
		if err == nil || errors.As(err, &known) {
			return err
		}
		return Usage(fmt.Errorf("%s: %w", cmd.CommandPath(), err), "usage: "+cmd.UseLine(), fmt.Sprintf("see %s --help", cmd.CommandPath()))
	}
}
