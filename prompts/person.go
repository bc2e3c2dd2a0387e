package prompts

import (
	_ "embed"
	"strings"

	"codeagent/internal/visible"
)

// Prompts that the person sends with a command of the screen.
var (
	//go:embed init.md
	initText string
	//go:embed planfirst.md
	planFirst string
	//go:embed reviewing.md
	reviewing string
	//go:embed reporting.md
	reporting string
	//go:embed reportnow.md
	reportNow string
)

// Prompt is a message that is made of a command of the person's. About is a title for it.
type Prompt struct{ Text, About string }

// Init asks for an AGENTS.md.
func Init() Prompt { return Prompt{strings.TrimSpace(initText), "AGENTS.md for this project"} }

// PlanFirst asks for a plan of a task before anything is changed.
func PlanFirst(task string) Prompt {
	task = strings.TrimSpace(task)
	return Prompt{planFirst + "\n" + task, "Plan: " + task}
}

// Reviewing asks for a review of a diff; what says of what it is. cut: its end is left out.
func Reviewing(what, diff string, cut bool) Prompt { return reviewOf(what, diff, cut, "") }

// Report is what a review that is reported with a tool needs beside its diff.
type Report struct {
	// Top is the folder where the paths of the diff start, Also what the user adds.
	Top, Also string
}

// ReviewingToReport is Reviewing for findings that report_findings takes.
func ReviewingToReport(what, diff string, cut bool, r Report) Prompt {
	more := fill(reporting, "top", bounded(r.Top))
	if r.Also != "" {
		more += "\nThe user adds: " + r.Also + "\n"
	}
	return reviewOf(what, diff, cut, more)
}

// ReportNow asks for a report that is missing.
func ReportNow() string { return strings.TrimSpace(reportNow) }

func reviewOf(what, diff string, cut bool, more string) Prompt {
	var b strings.Builder
	b.WriteString("Review " + what + ". " + strings.TrimSpace(reviewing) + "\n\n")
	if more != "" {
		b.WriteString(strings.TrimSpace(more) + "\n\n")
	}
	if cut {
		b.WriteString("The end of the diff is left out here, because it is long: read the rest with git.\n\n")
	}
	return Prompt{b.String() + visible.Fenced(strings.TrimRight(diff, "\n"), "diff"), "Review of " + what}
}
