package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

const reportFindingsExample = `{"findings": [{"file": "cmd/main.go", "line": 42, "severity": "high", "message": "The error of Close is lost, so a full disk goes unnoticed. Return it."}]}`

type reportFindingsArguments struct {
	Findings []findingArguments `json:"findings" jsonschema:"All findings, the worst first. Empty: there is nothing to report."`
}

type findingArguments struct {
	File     string `json:"file" jsonschema:"The path from the top of the repository: as the diff has it, without a/ or b/."`
	Line     int    `json:"line,omitempty" jsonschema:"The line in the new version of the file. Leave it out if the finding is about the whole file or about a line that is gone."`
	Severity string `json:"severity" jsonschema:"How bad it is."`
	Message  string `json:"message" jsonschema:"What is wrong, for which input or in which situation it fails, and how to mend it."`
}

// severities, the worst first.
var severities = []string{"critical", "high", "medium", "low"}

// Bounds of a review.
const (
	maxFindings    = 100
	maxFindingFile = 4096
	maxFinding     = 4000
)

type reportFindingsTool struct {
	findings func([]event.Finding)
}

func (t *reportFindingsTool) plan(a reportFindingsArguments) (*call, error) {
	list, err := a.list()
	if err != nil {
		return nil, err
	}
	title := "report " + short.Count(len(list), "finding")
	return &call{action: approvals.Action{Tool: "report_findings", Kind: word.KindRead, Title: title}, run: func(context.Context, sandbox.Policy, Stage) (Result, error) {
		t.findings(list)
		return done(fmt.Sprintf("The report has %s now.", short.Count(len(list), "finding")), title), nil
	}}, nil
}

// list returns the findings if they are within the bounds.
func (a *reportFindingsArguments) list() ([]event.Finding, error) {
	if len(a.Findings) > maxFindings {
		return nil, fmt.Errorf("there are %d findings; report the worst %d", len(a.Findings), maxFindings)
	}
	var out []event.Finding
	for i, f := range a.Findings {
		f.File, f.Message = strings.TrimSpace(f.File), strings.TrimSpace(f.Message)
		f.Severity = strings.ToLower(strings.TrimSpace(f.Severity))
		switch {
		case f.File == "" || len(f.File) > maxFindingFile:
			return nil, fmt.Errorf("findings[%d].file must have 1 to %d characters", i, maxFindingFile)
		case f.Message == "" || len(f.Message) > maxFinding:
			return nil, fmt.Errorf("findings[%d].message must have 1 to %d characters", i, maxFinding)
		case f.Line < 0:
			return nil, fmt.Errorf("findings[%d].line must be 1 or more", i)
		case !slices.Contains(severities, f.Severity):
			return nil, fmt.Errorf("findings[%d].severity must be one of %s, not %s", i, strings.Join(severities, ", "), show(f.Severity))
		}
		out = append(out, event.Finding{File: f.File, Line: f.Line, Severity: f.Severity, Message: f.Message})
	}
	return out, nil
}
