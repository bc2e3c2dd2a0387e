//go:build linux

package judge

import (
	"testing"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestLaw: a grant opens what was asked for and no more, and only until it is taken back. The judge follows.
func TestLaw(t *testing.T) {
	ws, out := t.TempDir(), t.TempDir()
	declared := sandbox.WorkspaceWrite(ws)
	own := out + "/own"
	declared.Protected.Own = []string{own}
	p := sandboxtest.Resolved(declared)
	file := out + "/file"
	asked := Request{Kind: sandbox.KindWrite, Target: file}
	n := new(notify.Notification)
	for _, row := range []struct {
		name  string
		asked Request
		grant sandbox.Grant
		want  bool
	}{
		{"codeagent's own file", Request{sandbox.KindWrite, own}, sandbox.Grant{Write: []string{own}}, false},
		{"a folder with it, through a name", asked, sandbox.Grant{Write: []string{out + "/x/../own"}}, false},
		{"a path that is not absolute", asked, sandbox.Grant{Write: []string{"file", file}}, false},
		{"a file of the kernel", asked, sandbox.Grant{Write: []string{file, "/proc/sys/kernel/core_pattern"}}, false},
		{"no sandbox", asked, sandbox.Grant{Unsandboxed: true}, false},
		{"something else", asked, sandbox.Grant{Write: []string{out + "/other"}}, false},
		{"a host, for a file", asked, sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "a.example", Port: 1}}}, false},
		{"a socket, for another", Request{sandbox.KindSocket, out + "/s"}, sandbox.Grant{Sockets: []string{out + "/t"}}, false},
		{"the file", asked, sandbox.Grant{Write: []string{file}}, true},
		{"its folder", asked, sandbox.Grant{Write: []string{out}}, true},
		{"the socket", Request{sandbox.KindSocket, out + "/s"}, sandbox.Grant{Sockets: []string{out + "/s"}}, true},
		{"a loss", Request{Kind: sandbox.KindLoss}, sandbox.Grant{}, true},
	} {
		j, law := New(Options{
			Policy: p, Protection: PlanProtection(p, []string{ws}, nil), Files: new(Files), Walk: new(pathwalk.Walker), Sees: func() bool { return true },
		})
		before := law.State()
		if !j.Shut(sandbox.KindWrite, file) || j.AllowsLoss() || j.GrantedAt(file) || law.Allows(row.asked) {
			t.Fatalf("%s: open before it is granted", row.name)
		}
		got := law.Widen(row.asked, row.grant)
		opens := row.want && row.asked == asked
		if got != row.want || j.Shut(sandbox.KindWrite, file) == opens || j.GrantedAt(file) != opens || j.Brokered(file) != opens || j.AllowsLoss() != (row.asked.Kind == sandbox.KindLoss) {
			t.Errorf("%s: %v, open %v", row.name, got, !j.Shut(sandbox.KindWrite, file))
		}
		if d := j.RefusesRest(n, own, nil); d == nil {
			t.Errorf("%s: codeagent's own file is open", row.name)
		}
		law.KeepAll()
		law.Restore(before)
		if !j.Shut(sandbox.KindWrite, file) || j.AllowsLoss() || j.GrantedAt(file) || j.Brokered(file) {
			t.Errorf("%s: open after it is taken back", row.name)
		}
		law.Close()
	}
}
