package exec_test

import (
	"reflect"
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
)

// TestClassifyRecorded: what the kernel told of a target is not told once more
// from the words of the output, whatever kind these make of it.
func TestClassifyRecorded(t *testing.T) {
	recorded := sandbox.Denial{
		Kind: sandbox.KindProtected, Operation: "openat", Target: "/home/u/ws/.envrc", Program: "bash",
		Errno: "EACCES", Evidence: sandbox.EvidenceKernel, Count: 1,
	}
	o := exec.Outcome{
		Status: sandbox.Status{Exit: 1}, Trace: sandbox.Trace{Denials: []sandbox.Denial{recorded}},
		Output: exec.Printed("bash: .envrc: Permission denied\nbash: /etc/hosts: Permission denied\n"),
	}
	v := classify(sandbox.WorkspaceWrite("/home/u/ws"), o)
	if len(v.Denials) != 2 || !reflect.DeepEqual(v.Denials[0], recorded) || v.Denials[1].Target != "/etc/hosts" || v.Denials[1].Evidence != sandbox.EvidenceOutput {
		t.Errorf("denials %+v, want the recorded one and the guess about /etc/hosts", v.Denials)
	}
}
