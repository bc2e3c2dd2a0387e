// Package docs holds the pages of this folder, so that an installed codeagent can show
// them: `codeagent help config`. It performs no IO. Start with Page.
package docs

import (
	_ "embed"
	"strings"
)

var (
	//go:embed config.md
	config string
	//go:embed exec.md
	exec string
	//go:embed keys.md
	keys string
	//go:embed permissions.md
	permissions string
	//go:embed reading.md
	reading string
	//go:embed rules.md
	rules string
	//go:embed sandbox.md
	sandbox string
	//go:embed sessions.md
	sessions string
	//go:embed writing.md
	writing string
)

// Topics are the names of the pages, sorted.
func Topics() []string {
	return []string{"config", "exec", "exit-codes", "keys", "permissions", "reading", "rules", "sandbox", "sessions", "writing"}
}

// Page returns a page in Markdown; "" if there is no such topic.
func Page(topic string) string {
	switch topic {
	case "config":
		return config
	case "exec":
		return exec
	case "exit-codes":
		return "# Exit statuses\n\n## codeagent and codeagent exec\n\n" + section(exec, "Exit status") +
			"\n## codeagent sandbox\n\n" + section(sandbox, "Exit status")
	case "keys":
		return keys
	case "permissions":
		return permissions
	case "reading":
		return reading
	case "rules":
		return rules
	case "sandbox":
		return sandbox
	case "sessions":
		return sessions
	case "writing":
		return writing
	}
	return ""
}

// section returns what is below a heading of a page.
func section(page, heading string) string {
	_, below, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ := strings.Cut(below, "\n## ")
	return strings.Trim(text, "\n") + "\n"
}
