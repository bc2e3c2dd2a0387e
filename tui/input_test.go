package tui

import (
	"testing"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// TestInputQuestion: every character that would be typed is seen for what it is,
// with what it goes to and what that may do.
func TestInputQuestion(t *testing.T) {
	r := newRig(t, 80, 26)
	r.put(approvals.Request{
		ID: "q", Title: `type "rm -rf ~\n" to background command 2 (bash)`, Grant: sandbox.Grant{Unsandboxed: true},
		Action:  approvals.Action{Kind: word.KindInput, Input: "rm -rf ~\n\x1b[2J\u202e\x03", Running: approvals.Running{ID: 2, Command: "bash -i"}},
		Options: []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "this once, exactly this"}, {Key: "n", Decision: approvals.Deny, Label: "no"}},
	})
	r.has(`"rm -rf ~\n\x1b[2J\u202e\x03"`, "into     │ $ bash -i", "may      + outside the sandbox", "this once, exactly this")
}
