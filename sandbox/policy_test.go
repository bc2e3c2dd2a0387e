package sandbox_test

import (
	"testing"

	"codeagent/sandbox"
)

// A policy that only reads has no right to write.
func TestOnlyRead(t *testing.T) {
	p := sandbox.WorkspaceWrite("/w")
	p.Read = []sandbox.Root{{Path: "/usr"}}
	p.Temp, p.SharedTemp = "/t", true
	p.Network = sandbox.Network{Mode: sandbox.NetworkFull}
	p.Sockets = []string{"/s"}
	q := p.OnlyRead()
	for _, path := range []string{"/w/x", "/t/x", "/tmp/x", "/usr/x"} {
		if q.JudgeWrite(path).Allowed {
			t.Errorf("%s may be written", path)
		}
	}
	for path, want := range map[string]bool{"/w/x": true, "/usr/x": true, "/etc/x": false} {
		if got := q.JudgeRead(path).Allowed; got != want {
			t.Errorf("%s can be read: %v, want %v", path, got, want)
		}
	}
	if len(q.WasWrite) != 1 || q.WasWrite[0].Path != "/w" || len(q.OnlyRead().WasWrite) != 1 {
		t.Errorf("what could be written is forgotten: %v", q.WasWrite)
	}
	if q.Network.Mode != sandbox.NetworkDeny || q.Sockets != nil {
		t.Errorf("network mode %q, sockets %v, want neither", q.Network.Mode, q.Sockets)
	}
}
