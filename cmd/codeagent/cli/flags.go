package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Flags are what the command line sets for every way of running.
type Flags struct {
	Sandbox, Approval, Model, Folder string
	AddDirs, AddFiles                []string
	Hosts, FetchHosts, Settings      []string
	// DenyRead and Sockets are flags of `codeagent sandbox` alone.
	DenyRead, Sockets []string
}

// ExplainArguments has every command say what it takes when it is given too much
// or too little.
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
		var usage *UsageError
		if err == nil || errors.As(err, &usage) {
			return err
		}
		return &UsageError{Err: fmt.Errorf("%s: %w", cmd.CommandPath(), err), Hints: []string{"usage: " + cmd.UseLine(), fmt.Sprintf("see %s --help", cmd.CommandPath())}}
	}
}
