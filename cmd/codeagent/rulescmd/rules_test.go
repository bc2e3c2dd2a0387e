package rulescmd

import (
	"errors"
	"strings"
	"testing"
	"time"

	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
)

// TestStatusOf: a script tells "no rule" from "a rule is against it".
func TestStatusOf(t *testing.T) {
	for decision, want := range map[rules.Decision]int{rules.Allow: cli.ExitOK, rules.None: cli.ExitFailed, rules.Ask: cli.ExitRefused, rules.Forbid: cli.ExitRefused} {
		if code, _, _ := cli.ExitOf(statusOf(decision)); code != want {
			t.Errorf("%s: %d, want %d", decision, code, want)
		}
	}
}

// TestProjectList: what narrows applies; what widens has an ID until it is adopted, and a rule that is over says so.
func TestProjectList(t *testing.T) {
	parse := func(text string) []*rules.Rule {
		t.Helper()
		list, err := rules.Parse("/p/.codeagent/rules.toml", []byte(text), "/home/a")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	wide := parse("[[command]]\nwords = [\"make\"]\ndecision = \"allow\"\n")
	p := workspace.ProjectRules{Narrower: parse("[[command]]\nwords = [\"rm\"]\ndecision = \"forbid\"\nreason = \"no\"\n"), Wider: wide, Faults: []error{errors.New("bad\x1bfile")}}
	out := projectList(p)
	for _, want := range []string{"-  forbid", "not adopted " + workspace.ProjectID(wide[0]), "(project, /p/.codeagent/rules.toml:1)"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("an escape of a file's name is printed: %q", out)
	}
	over := *wide[0]
	if over.Expires = time.Now().Add(-time.Hour); !strings.Contains(where(&over), ", ended ") {
		t.Error(where(&over))
	}
	if over.Expires = time.Now().Add(time.Hour); !strings.Contains(where(&over), ", until ") {
		t.Error(where(&over))
	}
}
