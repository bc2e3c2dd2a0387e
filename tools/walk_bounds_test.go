package tools

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"codeagent/exec/worker"
	"codeagent/sandbox"
)

// endsAfter is a context that ends after it was checked so many times.
type endsAfter struct {
	context.Context
	left int
}

func (e *endsAfter) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// A walk with many rules and long names can end in the middle of a folder.
func TestWalkEndsInTheMiddleOfAFolder(t *testing.T) {
	rules := (*ignores)(nil).withRules("/w", []byte(strings.Repeat("*b\n", maxRules)))
	entries := make([]worker.Entry, 10_000)
	for i := range entries {
		entries[i] = worker.Entry{Name: strings.Repeat("a", 200) + strconv.Itoa(i), Type: fileType}
	}
	told := 0
	w := &walker{policy: sandbox.FullAccess(), depth: 1, visit: func(entry) bool { told++; return true }}
	if _, ok := w.folder(&endsAfter{t.Context(), 100}, level{"/w", rules}, entries, 1); ok || told > 100 {
		t.Errorf("after the context ended the walk went on: ok %v, %d entries told", ok, told)
	}
}

// The rules of one file are bounded, and the tools report it.
func TestManyRulesAreCut(t *testing.T) {
	rules := (*ignores)(nil).withRules("/w", []byte(strings.Repeat("*b\n", maxRules)+"*c\n"))
	below := rules.withRules("/w/d", []byte("x\n"))
	if len(rules.rules) != maxRules || !rules.cut || !below.cut {
		t.Errorf("%d rules, cut %v, below %v", len(rules.rules), rules.cut, below.cut)
	}
	if exact := (*ignores)(nil).withRules("/w", []byte(strings.Repeat("*b\n", maxRules))); exact.cut {
		t.Error("rules within the bound are called cut")
	}
	if w := (&walker{rulesCut: true}); !strings.Contains(w.rulesNote(), "4000 rules") {
		t.Errorf("note %q", w.rulesNote())
	}
}
