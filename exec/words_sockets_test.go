package exec_test

import (
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
)

// TestJudgeSockets: a denied connect suggests the socket, a denied bind its folder; a socket
// without a path cannot be granted.
func TestJudgeSockets(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	for _, row := range []struct {
		d    sandbox.Denial
		want string
	}{
		{sandbox.Denial{Kind: sandbox.KindSocket, Operation: "connect", Target: "/run/user/1000/bus"}, "socket /run/user/1000/bus"},
		{sandbox.Denial{Kind: sandbox.KindSocket, Operation: "connect", Target: "@/tmp/.X11-unix/X0"}, ""},
		{sandbox.Denial{Kind: sandbox.KindSocket, Operation: "connect", Target: "connect"}, ""},
		{sandbox.Denial{Kind: sandbox.KindSocket, Operation: "bind", Target: "@name"}, ""},
		{sandbox.Denial{Kind: sandbox.KindWrite, Operation: "bind", Target: "/home/u/run/s"}, "write /home/u/run"},
		{sandbox.Denial{Kind: sandbox.KindProtected, Operation: "bind", Target: "/home/u/ws/.envrc"}, "write /home/u/ws/.envrc"},
	} {
		row.d.Evidence, row.d.Errno, row.d.Count = sandbox.EvidenceKernel, "EPERM", 1
		o := exec.Outcome{Status: sandbox.Status{Exit: 1}, Trace: sandbox.Trace{Denials: []sandbox.Denial{row.d}}}
		v := judged(p, o)
		if !v.Denied || suggestion(v.Suggest) != row.want {
			t.Errorf("%+v: suggested %q, want %q", row.d, suggestion(v.Suggest), row.want)
		}
	}
}
