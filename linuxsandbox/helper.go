//go:build linux

package linuxsandbox

import (
	"fmt"
	"os"

	"codeagent/hostfile"
	"codeagent/linuxsandbox/keeper"
	"codeagent/linuxsandbox/plan"
	"codeagent/linuxsandbox/program"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// openHelper returns the descriptor of a sealed copy of the helper.
func (o Options) openHelper() (int, error) { return program.Open(o.Helper, o.HelperSum) }

// HelperMain runs when codeagent is started under the helper's name. It does what the helper does,
// and it runs linux-sandbox-helper CWD POLICY-JSON -- CMD [ARG]... for a user. args is os.Args; the
// result is the exit status.
func HelperMain(args []string) int {
	if !keeper.IsByHand(args) {
		return keeper.Main(args)
	}
	code, err := byHand(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", HelperName, err)
		return sandbox.ExitCannotConfine
	}
	return code
}

// byHand runs a command without a broker and without namespaces. The command keeps the caller's
// terminal, process group and three standard files. Its environment is what the policy lets
// through. It is killed when the caller ends.
func byHand(args []string) (int, error) {
	policy, err := sandbox.DecodePolicy([]byte(args[2]))
	if err != nil {
		return 0, err
	}
	exact, err := resolved.On(hostfile.OS{}, policy)
	if err != nil {
		return 0, fmt.Errorf("policy: %w", err)
	}
	ready, err := plan.New(exact, plan.Facts{Facts: spec.Facts{LandlockABI: keeper.LandlockABI(), Root: asRoot()}, NamespacesWhy: "only codeagent makes namespaces"})
	if err != nil {
		return 0, fmt.Errorf("policy: %w", err)
	}
	order := ready.Spec
	order.Command = spec.Command{Path: args[4], Args: args[4:], Env: policy.Env.Apply(os.Environ()), Dir: args[1], Foreground: true}
	if err := order.Validate(); err != nil {
		return 0, err
	}
	holders, err := createAbsent(ready.Absent)
	if err != nil {
		return 0, fmt.Errorf("policy: %w", err)
	}
	code := keeper.ByHand(&order)
	removeUnused(holders, code != 0)
	return code, nil
}
