//go:build linux

package plan

import (
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// What is said about /tmp names the setting, or what lies there: the workspace of the user may
// be elsewhere.
func TestRemediesAboutTemporaryFolders(t *testing.T) {
	shared := sandbox.WorkspaceWrite("/home/ada/app")
	shared.SharedTemp = true
	all := append(those(recordWeaknesses(sandboxtest.Resolved(shared), Facts{})), pathWeaknesses(Facts{}, nil, []string{"/tmp/tools/key"}, []string{"/tmp/tools"})...)
	want := map[string]string{"shared-temp": "sandbox.tmp", "deny-read-later": "before the session starts", "temp-pipes": "move these out of /tmp"}
	for _, w := range all {
		if strings.Contains(w.Remedy, "workspace") || !strings.Contains(w.Remedy, want[w.ID]) {
			t.Errorf("%s: what to do is %q", w.ID, w.Remedy)
		}
		delete(want, w.ID)
	}
	if len(want) > 0 {
		t.Errorf("not reported: %v", want)
	}
}
