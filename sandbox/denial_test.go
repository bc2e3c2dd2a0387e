package sandbox

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDenialKeepsBytes: a name that is not text stays distinguishable from the replacement that is
// shown.
func TestDenialKeepsBytes(t *testing.T) {
	for target, want := range map[string]string{"/w/a": "", "/w/ä\n": "", "/w/\xff": "/w/\xff"} {
		data, err := json.Marshal([]Denial{{Target: target, Count: 2}})
		if err != nil {
			t.Fatal(err)
		}
		var got []struct {
			Count       int    `json:"count"`
			TargetBytes []byte `json:"target_bytes"`
		}
		if err := json.Unmarshal(data, &got); err != nil || len(got) != 1 || got[0].Count != 2 || string(got[0].TargetBytes) != want {
			t.Errorf("%q: %s, %v", target, data, err)
		}
		if strings.Contains(string(data), "target_bytes") != (want != "") {
			t.Errorf("%q: %s", target, data)
		}
	}
}

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
