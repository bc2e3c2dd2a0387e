package sandbox

import "testing"

func TestWho(t *testing.T) {
	for _, c := range []struct {
		d    Denial
		want string
	}{
		{Denial{}, ""},
		{Denial{Program: "touch", Evidence: EvidenceOutput}, "touch"},
		{Denial{Program: "apply_patch", Evidence: EvidenceBackend}, "apply_patch"},
		{Denial{Program: "node", Executable: "/usr/bin/node", PID: 4, Evidence: EvidenceKernel}, "/usr/bin/node"},
		{Denial{Program: "node", Executable: "/usr/bin/node", Comm: "npm", PID: 4, Evidence: EvidenceKernel}, `/usr/bin/node (calls itself "npm")`},
		{Denial{Program: "x", Executable: "/w/x (deleted)", Comm: "a\x1b\"", PID: 4, Evidence: EvidenceKernel}, `/w/x (deleted) (calls itself "a\x1b\"")`},
		{Denial{Comm: "git", PID: 4, Evidence: EvidenceKernel}, `a program that cannot be examined (calls itself "git")`},
		{Denial{PID: 4, Evidence: EvidenceKernel}, "a program that cannot be examined"},
	} {
		if got := c.d.Who(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.d, got, c.want)
		}
	}
	if got := (Ancestor{Comm: "git", PID: 4}).Who(); got != `a program that cannot be examined (calls itself "git")` {
		t.Error(got)
	}
	if got := (Denial{Program: "git-receive-pack", PID: 4}).ProcessName(); got != "git-receive-pac" {
		t.Error(got)
	}
	if got := (Ancestor{Program: "git", Comm: "git-upload-pac"}).ProcessName(); got != "git-upload-pac" {
		t.Error(got)
	}
}
