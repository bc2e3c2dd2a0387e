package prompts

import (
	_ "embed"
	"fmt"
	"strings"

	"codeagent/event"
	"codeagent/internal/short"
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

// Digest is what codeagent knows of the conversation for certain: it is added to a
// summary, whatever the model wrote.
type Digest struct {
	// Messages are those of the user, word for word, oldest first; Omitted counts the
	// messages left out after the first.
	Messages []string
	Omitted  int
	// Plan is the plan as it was last updated.
	Plan []event.PlanStep
	// Changes say "add /w/a.go", one for each file that was changed.
	Changes []string
	// Granted and Refused are what was asked for and how it was answered, Denied
	// what the sandbox refused: "write /etc/hosts".
	Granted, Refused, Denied []string
}

// maxFact bounds what is said of one thing, in characters.
const maxFact = 500

// Compacted is the text that replaces a conversation: the summary by the model and what
// is known for certain.
func Compacted(summary string, c Digest) string {
	var b strings.Builder
	b.WriteString(fill(compacted, "summary", quoted(summary)))
	b.WriteString(messages(c))
	var plan []string
	for _, s := range c.Plan {
		plan = append(plan, string(s.Status)+": "+s.Step)
	}
	var known strings.Builder
	for _, part := range []struct {
		title string
		facts []string
	}{
		{"Your plan, as last updated", plan},
		{"Files changed so far by your tools and commands", named(c.Changes)},
		{"Granted in this session", c.Granted},
		{"Refused, by the user or because nobody could be asked", c.Refused},
		{"Refused by the sandbox", named(c.Denied)},
	} {
		if len(part.facts) == 0 {
			continue
		}
		fmt.Fprintf(&known, "%s:\n", part.title)
		for _, f := range part.facts {
			fmt.Fprintf(&known, "- %s\n", short.Cut(line(f), maxFact))
		}
	}
	if known.Len() > 0 {
		b.WriteString("\n# Known for certain\ncodeagent kept this itself.\n" + known.String())
	}
	return b.String()
}

// lineEnds are all that a reader may take for the end of a line.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// quoted marks each line of a text as a quote: no heading, rule or tag in it can look
// like codeagent's own words.
func quoted(text string) string {
	return "> " + strings.ReplaceAll(lineEnds.Replace(strings.TrimSpace(text)), "\n", "\n> ")
}

// named writes each thing as its kind and its name. The name is quoted: whoever chose
// it can add nothing else.
func named(things []string) []string {
	var out []string
	for _, t := range things {
		kind, name, _ := strings.Cut(t, " ")
		out = append(out, kind+" "+bounded(name))
	}
	return out
}

// messages quotes the person.
func messages(c Digest) string {
	if len(c.Messages) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n# What the user said\nWord for word, oldest first. What is done already is not to be done again.\n")
	for i, m := range c.Messages {
		b.WriteString(quoted(m) + "\n\n")
		if i == 0 && c.Omitted > 0 {
			fmt.Fprintf(&b, "(%d messages are left out here)\n\n", c.Omitted)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
