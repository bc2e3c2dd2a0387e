package tools

import (
	"strings"
	"testing"

	"codeagent/event"
	"codeagent/model"
	"codeagent/sandbox"

	"github.com/google/go-cmp/cmp"
)

// TestReportFindings: what a model reports is bounded and complete, and it reads what cannot be right.
func TestReportFindings(t *testing.T) {
	one := `{"file": " a.go ", "line": "3", "severity": "High", "message": "m"}`
	for _, row := range []struct{ arguments, fault string }{
		{`{"findings": [` + one + `]}`, ""},
		{`{"findings": []}`, ""},
		{`{}`, `"findings"`},
		{`{"findings": [{"file": "", "severity": "low", "message": "m"}]}`, "findings[0].file"},
		{`{"findings": [{"file": "a", "severity": "low", "message": " "}]}`, "findings[0].message"},
		{`{"findings": [{"file": "a", "severity": "low", "message": "` + strings.Repeat("x", maxFinding+1) + `"}]}`, "findings[0].message"},
		{`{"findings": [` + one + `, {"file": "a", "severity": "info", "message": "m"}]}`, "findings[1].severity must be one of critical, high, medium, low"},
		{`{"findings": [{"file": "a", "line": -1, "severity": "low", "message": "m"}]}`, "findings[0].line"},
		{`{"findings": [` + strings.Repeat(one+",", maxFindings) + one + `]}`, "report the worst 100"},
	} {
		_, err := All(every).Plan(model.ToolCall{Name: "report_findings", Arguments: row.arguments})
		if (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%.80s: %v, want %q", row.arguments, err, row.fault)
		}
	}
	if _, err := All(Options{}).Plan(model.ToolCall{Name: "report_findings", Arguments: `{"findings": []}`}); err == nil {
		t.Error("it is offered without a review")
	}
	var got []event.Finding
	tool := reportFindingsTool{func(list []event.Finding) { got = list }}
	call, err := tool.plan(reportFindingsArguments{[]findingArguments{{"a.go", 3, "High", "m"}, {"b.go", 9, "low", "n"}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := call.run(t.Context(), sandbox.Policy{}, Stage{})
	want := []event.Finding{{File: "a.go", Line: 3, Severity: "high", Message: "m"}, {File: "b.go", Line: 9, Severity: "low", Message: "n"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v: %s", err, d)
	}
	if !strings.Contains(r.Text, "2 findings") {
		t.Errorf("%q", r.Text)
	}
}
