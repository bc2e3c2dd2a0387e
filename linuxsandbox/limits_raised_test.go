//go:build linux

package linuxsandbox

import (
	"os"
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// raiseLimits tries to raise all limits, hard and soft, and ignores errors.
const raiseLimits = "for l in d f l m n s t u v; do ulimit -H -$l unlimited; ulimit -S -$l unlimited; ulimit -S -$l hard; done 2>/dev/null; "

// TestLimitsCannotBeRaised: a command that first tries to raise its limits reaches the same ones.
// Root has the capability for that only outside the sandbox.
func TestLimitsCannotBeRaised(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	for _, row := range limitRows {
		if row.limits.CPUSeconds > 0 || row.notBy0 && os.Getuid() == 0 {
			continue // the soft limit may be raised to the hard one, which is a second later
		}
		t.Run(row.name, func(t *testing.T) {
			ws := t.TempDir()
			p := sandbox.WorkspaceWrite(ws)
			p.Limits = row.limits
			st, out := sandboxtest.Output(t, b, p, sandbox.Command{
				Path: "bash", Args: []string{"bash", "-c", raiseLimits + row.script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"},
			})
			if st.Limit != row.want || st.Signal != int(row.signal) || !strings.Contains(out, row.says) || st.Exit == 0 {
				t.Errorf("uid %d: %+v, want limit %q, signal %d, words %q\n%s", os.Getuid(), st, row.want, row.signal, row.says, out)
			}
		})
	}
}

// TestLimitsCannotBeRaisedAsUser is the same for an ordinary user.
func TestLimitsCannotBeRaisedAsUser(t *testing.T) { tests.AsUser(t, "^TestLimitsCannotBeRaised$") }
