package extensions

import (
	"cmp"
	"fmt"
	"strings"

	"codeagent/internal/short"
)

// Page lists the skills, the hooks, and what is left out, for a person.
func (f Found) Page() string {
	var b strings.Builder
	section := func(title, none string, count int) {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", title)
		if count == 0 {
			fmt.Fprintf(&b, "  %s\n", none)
		}
	}
	section("Skills", "none: a folder with a SKILL.md, such as ~/.config/codeagent/skills/NAME (codeagent help skills)", len(f.Skills))
	for _, s := range f.Skills {
		fmt.Fprintf(&b, "  %s\n    %s\n    %s\n", s.Name, s.Description, s.File)
	}
	section("Hooks", "none", len(f.Hooks))
	for _, h := range f.Hooks {
		fmt.Fprintf(&b, "  %s %s\n    %s\n    %s\n", h.Event, cmp.Or(h.Match, "*"), short.Cut(h.Command, 200), h.Place)
	}
	left := f.Left
	if f.Untrusted != "" {
		left = append(left[:len(left):len(left)], f.Untrusted)
	}
	if len(left) > 0 {
		section("Left out", "", len(left))
		for _, why := range left {
			fmt.Fprintf(&b, "  %s\n", why)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
