package permissionscmd

import (
	"strings"
	"testing"

	"codeagent/approvals/without"
	"codeagent/cmd/codeagent/cli"
)

// TestWriteWithout: only what programs did without is listed, under one head.
func TestWriteWithout(t *testing.T) {
	var out strings.Builder
	writeWithout(&out, []without.Entry{
		{Kind: "read", Target: "/a\x1b", Program: "/bin/x", Last: without.Survived, Survived: 2},
		{Kind: "read", Target: "/needed", Program: "/bin/x", Last: without.Mattered, Survived: 1},
		{Kind: "read", Target: "/b", Program: "/bin/x", Last: without.Survived, Survived: 1},
	})
	text := out.String()
	if strings.Count(text, "not asked about") != 1 || strings.Contains(text, "/needed") || strings.Contains(text, "\x1b") || !strings.Contains(text, "(2 times)") || !strings.Contains(text, "read /b, by /bin/x (1 time)") {
		t.Errorf("%q", text)
	}
	out.Reset()
	if writeWithout(&out, nil); out.String() != "" {
		t.Errorf("%q", out.String())
	}
}

// TestRevokeRules: an answer of a session is no rule, and no file is read to say so.
func TestRevokeRules(t *testing.T) {
	err := revoke(t.Context(), cli.Stdio{}, "s1")
	if code, _, hints := cli.ExitOf(err); code != cli.ExitUsage || len(hints) != 1 {
		t.Errorf("%v: %d %q", err, code, hints)
	}
}
