//go:build linux

package judge

import (
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"
	"codeagent/sandbox/sandboxtest"
)

// TestProtectionByName: the broker's decisions by path alone.
func TestProtectionByName(t *testing.T) {
	p := sandbox.WorkspaceWrite("/ws", "/extra", "/ws/inner")
	p.Temp, p.SharedTemp = "/ws/temp", true
	p.Protected.Paths = []string{"/ws/.git/config", "/ws/conf/secret"}
	p.Protected.Own = []string{"/var/tmp/agent/bin"}
	folders := []string{"/ws", "/extra", "/ws/inner", "/ws/temp", "/tmp", "/var/tmp"}
	g := PlanProtection(sandboxtest.Resolved(p), folders, []string{"/dev/shm"})
	p.DenyRead, p.DenyGlobs = []string{"/ws/keys/one", "/ws/odd*/key", "/home/key"}, []string{"/ws/*.key"}
	denying := PlanProtection(sandboxtest.Resolved(p), folders, nil)
	for _, row := range []struct {
		what string
		got  func(string) bool
		yes  string
		no   string
	}{
		{"brokered", g.brokered, "/ws/a /ws/inner/x /extra/a/b /var/tmp/x /ws/temp /ws/temp/x /tmp/x /dev/shm/x", "/ws /etc/hosts /wsx/a /extra /dev/shm"},
		{"temporary", g.isTemporary, "/ws/temp/x /ws/temp/{shell} /dev/shm/x", "/ws/x /ws/inner/x /tmp/x /etc"},
		{"holds", g.holds, "/ws /ws/.git /ws/.git/config /ws/conf /ws/inner /ws/temp /var/tmp/agent /var", "/ws/.git/hooks /ws/confx /ws/a /extra/a /ws/keys"},
		{"holds for denied reads", denying.holds, "/ws/keys /ws/keys/one /ws/odd*", "/ws/keys/two /ws/* /ws/oddx /home"},
		{"leads", g.leads, "/ws/{editor/} /extra/a/{editor/} /ws/conf /ws/.git", "/ws/x{editor/} /ws/{editor/}x /ws/a /ws/{editor/}/x /ws/temp/{editor/}"},
		{"outside", g.outside, "/etc/hosts /wsx /", "/ws/a /tmp/a /ws/{shell}"},
		{"writable", g.writable, "/ws/x /ws/temp/x /tmp/x /extra/a/x /dev/shm/x", "/ws /etc /etc/x /home/x"},
		{"mayJudge", g.mayJudge, "{shell} {/editor} {agent}", ".git x {editor/}"},
	} {
		for _, path := range strings.Fields(protecttest.In(row.yes)) {
			if !row.got(path) {
				t.Errorf("%s %s: no", row.what, path)
			}
		}
		for _, path := range strings.Fields(protecttest.In(row.no)) {
			if row.got(path) {
				t.Errorf("%s %s: yes", row.what, path)
			}
		}
	}
	git := protect.Git("")
	in := strings.NewReplacer("/{one}", git[0], "/{two}", git[1]).Replace
	for path, want := range map[string][]string{
		"/ws/a/b":                    nil,
		"/ws/sub/.git/{one}":         {"/ws/sub/.git"},
		"/ws/sub/.git/{two}/x/y":     {"/ws/sub/.git"},
		"/ws/{one}/{two}/a":          {"/ws/{one}", "/ws"},
		"/ws/{one}":                  {"/ws"},
		"/ws/.git/worktrees/w/{one}": {"/ws/.git/worktrees/w"},
		"/etc/{one}":                 nil,
	} {
		for i := range want {
			want[i] = in(want[i])
		}
		if got := gitFolders("/ws", in(path)); !slices.Equal(got, want) {
			t.Errorf("%s: in %v, want %v", path, got, want)
		}
	}
	if got := gitFolders("/ws/sub/.git/config", "/ws/sub/.git/config"); got != nil {
		t.Errorf("what was granted lies in %v", got)
	}
	for path, want := range map[string]bool{"/ws/temp/{shell}": true, "/ws/{shell}": false, "/dev/shm/{shell}": true, "/dev/shm2": false, "/ws/temp": true} {
		if _, d := g.judge(protecttest.In(path)); (d == nil) != want {
			t.Errorf("%s may be changed: %v, want %v", path, d == nil, want)
		}
	}
}
