package permissionscmd

import (
	"testing"

	"codeagent/cmd/codeagent/cli"
)

// TestRevokeRules: an answer of a session is no rule, and no file is read to say so.
func TestRevokeRules(t *testing.T) {
	err := revoke(t.Context(), cli.Stdio{}, "s1")
	if code, _, hints := cli.ExitOf(err); code != cli.ExitUsage || len(hints) != 1 {
		t.Errorf("%v: %d %q", err, code, hints)
	}
}
