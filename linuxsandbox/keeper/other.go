//go:build !linux

package keeper

import (
	"fmt"
	"os"

	"codeagent/sandbox"
)

// Main reports that this system has no helper, and returns 125.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "linux-sandbox-helper: the Linux sandbox needs Linux (Landlock and seccomp)")
	return sandbox.ExitCannotConfine
}
