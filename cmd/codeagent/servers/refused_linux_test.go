package servers

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/config/server"
	"codeagent/sandbox"
)

// TestLatestRefusals: harmless refusals do not hide those that follow, and none counts twice.
func TestLatestRefusals(t *testing.T) {
	var r refusalLog
	for i := range mostNoted + 10 {
		for range 2 {
			r.add(sandbox.Denial{Kind: sandbox.KindWrite, Target: fmt.Sprintf("/home/u/g%d", i)})
		}
	}
	r.add(sandbox.Denial{Kind: sandbox.KindRead, Target: "/home/u/.ssh/id_rsa"})
	if n := len(r.list); n != mostNoted || r.list[n-1].Kind != sandbox.KindRead || r.list[0].Target != "/home/u/g11" {
		t.Errorf("%d kept; %v", n, r.list)
	}
}

// TestRefusedInAnotherRun: a start that fails is not blamed on what an earlier run was refused.
func TestRefusedInAnotherRun(t *testing.T) {
	o := testOptions(t)
	outside := filepath.Join(filepath.Dir(o.Workspace.Folder), "outside")
	script := `cd "$CODEAGENT_SERVER_DIR"; [ -e n ] && echo no licence >&2 && exit 9; echo x >n; echo x >"$0"
` + answers
	set := shell(t, script, outside)
	o.Configured = map[string]server.Settings{"t": set}
	s := Open(t.Context(), o)
	defer s.Close()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := s.Status()[0]; st.State != Running || len(st.Refused) != 1 || st.Refused[0].Target != outside {
		t.Fatalf("%+v", st)
	}
	err := s.members[0].restart(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no licence") || strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
	if st := s.Status()[0]; st.State != Failed || len(st.Refused) != 1 {
		t.Errorf("%+v", st)
	}
}
