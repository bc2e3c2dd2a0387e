package agent

import (
	"errors"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/prompts"
)

// TestFill: the parts are those of the request that is sent, and together what the budget counts.
func TestFill(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	files := strings.Repeat("a rule of the project\n", 400)
	r.cfg.Instructions = func() string {
		return prompts.System(prompts.Session{Workspace: "/w", Instructions: []prompts.Instruction{{Path: "/w/AGENTS.md", Text: files, Size: int64(len(files))}}})
	}
	before, err := r.Fill()
	if err != nil || before.Conversation != 0 || before.Results != 0 || before.Gain != 0 || before.System == 0 {
		t.Fatalf("empty: %+v, %v", before, err)
	}
	if n := before.Instructions; n < len(files)/bytesPerToken*9/10 || n > len(files)/bytesPerToken*11/10 {
		t.Errorf("%d tokens of instructions", n)
	}
	r.turning.Lock()
	if _, err := r.Fill(); !errors.Is(err, ErrBusy) {
		t.Errorf("beside a turn: %v", err)
	}
	r.turning.Unlock()
	r.talk(t, 6, 800)
	f, err := r.Fill()
	items, b := r.now()
	sum := f.System + f.Instructions + f.Tools + f.Servers + f.Results + f.Conversation
	if err != nil || f.Conversation != b.tokens(weighAll(items)) || f.Gain <= 0 || f.Gain > f.Conversation || sum < b.used()-8 || sum > b.used()+8 {
		t.Errorf("%+v, together %d, the budget counts %d: %v", f, sum, b.used(), err)
	}
}
