package prompts

import (
	_ "embed"
	"fmt"
	"strings"
)

var (
	//go:embed compact.md
	compact string
	//go:embed compacted.md
	compacted string
)

// Compact asks the model for a summary of the conversation. focus is what the
// person wants it to keep above all; it may be empty.
func Compact(focus string) string {
	if focus = strings.TrimSpace(focus); focus == "" {
		return compact
	}
	return compact + "\nThe user wants this kept above all: " + focus + "\n"
}

// Carried is what codeagent knows of the conversation for certain: it goes into
// a summary as it is, whatever the model wrote.
type Carried struct {
	// Messages are the person's, word for word, oldest first; Omitted counts
	// those that are left out behind the first.
	Messages []string
	Omitted  int
	// Plan is the plan as it was last updated.
	Plan []PlanStep
	// Changes say "add /w/a.go", one for each file that was changed.
	Changes []string
	// Granted and Refused are what the person and the policy answered, Denied
	// what the sandbox refused.
	Granted, Refused, Denied []string
}

// PlanStep is one line of the plan.
type PlanStep struct{ Step, Status string }

// Compacted is the item that stands for a conversation: the model's summary and
// what is known for certain.
func Compacted(summary string, c Carried) string {
	var b strings.Builder
	b.WriteString(fill(compacted, "summary", strings.TrimSpace(summary)))
	b.WriteString(messages(c))
	var plan []string
	for _, s := range c.Plan {
		plan = append(plan, s.Status+": "+line(s.Step))
	}
	var known strings.Builder
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"Your plan, as last updated", plan},
		{"Files changed so far by your tools", c.Changes},
		{"Granted in this session", c.Granted},
		{"Refused by the user or the policy; do not ask for it again", c.Refused},
		{"Refused by the sandbox", c.Denied},
	} {
		if len(part.lines) == 0 {
			continue
		}
		fmt.Fprintf(&known, "%s:\n", part.title)
		for _, l := range part.lines {
			fmt.Fprintf(&known, "- %s\n", line(l))
		}
	}
	if known.Len() > 0 {
		b.WriteString("\n# Known for certain\ncodeagent kept this itself.\n" + known.String())
	}
	return b.String()
}

// messages quotes the person.
func messages(c Carried) string {
	if len(c.Messages) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n# What the user said\nWord for word, oldest first. What is done already is not to be done again.\n")
	for i, m := range c.Messages {
		for l := range strings.Lines(strings.TrimSpace(m)) {
			b.WriteString("> " + l)
		}
		b.WriteString("\n\n")
		if i == 0 && c.Omitted > 0 {
			fmt.Fprintf(&b, "(%d messages are left out here)\n\n", c.Omitted)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
