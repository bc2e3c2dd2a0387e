// Package docs holds the pages of this folder, so that an installed codeagent can show
// them: `codeagent help config`. It performs no IO. Start with Page.
package docs

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.md
var pages embed.FS

// exitCodes is the topic that is made from parts of pages.
const exitCodes = "exit-codes"

// Topics are the names of the pages, sorted.
func Topics() []string {
	files, err := pages.ReadDir(".")
	if err != nil {
		return nil // cannot happen: the files are part of the program
	}
	out := []string{exitCodes}
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".md"))
	}
	slices.Sort(out)
	return out
}

// Page returns a page in Markdown; "" if there is no such topic.
func Page(topic string) string {
	if topic == exitCodes {
		return "# Exit statuses\n\n## codeagent and codeagent exec\n\n" + section(Page("exec"), "Exit status") +
			"\n## codeagent sandbox\n\n" + section(Page("sandbox"), "Exit status")
	}
	text, err := pages.ReadFile(topic + ".md")
	if err != nil {
		return ""
	}
	return string(text)
}

// section returns what is below a heading of a page.
func section(page, heading string) string {
	_, below, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ := strings.Cut(below, "\n## ")
	return strings.Trim(text, "\n") + "\n"
}
