//go:build !linux

package keeper

import (
	"fmt"
	"os"

	"codeagent/sandbox"
)

// Main says that there is no helper on this system, and returns 125.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "linux-sandbox-helper: the Linux sandbox needs Linux (Landlock and seccomp)")
	return sandbox.ExitCannotConfine
}
