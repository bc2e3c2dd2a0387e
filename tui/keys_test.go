package tui

import (
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

// docs/keys.md is made from the table; a stale one fails.
func TestKeysPage(t *testing.T) { golden.CheckFile(t, "../docs/keys.md", keysPage()) }

// In a scope a key stands for one thing, and each key can be pressed.
func TestKeysAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, b := range bindings() {
		for _, k := range b.keys {
			id := string(b.where) + " " + k
			if other, ok := seen[id]; ok {
				t.Errorf("%s is bound to %q and %q", id, other, b.help)
			}
			seen[id] = b.help
			if got := keyOf(k).Keystroke(); got != k {
				t.Errorf("the key %q is called %q when it is pressed", k, got)
			}
		}
		if b.help == "" || b.do == keys.None {
			t.Errorf("%v does nothing or has no description", b.keys)
		}
	}
}

// Every action of the table does something: no key is listed that is dead.
func TestNoDeadKeys(t *testing.T) {
	for _, b := range bindings() {
		if b.where != everywhere {
			continue
		}
		for _, other := range bindings() {
			if other.where != inComposer {
				continue
			}
			for _, k := range b.keys {
				for _, o := range other.keys {
					if k == o {
						t.Errorf("%s of %q is taken by %q while writing", k, b.help, other.help)
					}
				}
			}
		}
	}
}

func TestHelpListsEveryKeyAndCommand(t *testing.T) {
	page := tuitest.Stripped(helpPage(paint.New(true), 100, offeredCommands(everythingOffered(t).offers)))
	for _, b := range bindings() {
		if !strings.Contains(page, b.keyNames()) {
			t.Errorf("help lacks %s", b.keyNames())
		}
	}
	for _, c := range commands() {
		if !strings.Contains(page, "/"+c.name) || c.help == "" {
			t.Errorf("help lacks /%s", c.name)
		}
	}
	golden.Check(t, "help-80.txt", tuitest.Stripped(helpPage(paint.New(true), 77, offeredCommands(everythingOffered(t).offers))))
}

// keysPage is docs/keys.md.
func keysPage() string {
	var b strings.Builder
	b.WriteString("# Keys\n\nMade from the table in `tui/keys.go` by `go test ./tui -run TestKeysPage -update`.\n")
	where := scope("")
	for _, k := range bindings() {
		if k.where != where {
			where = k.where
			b.WriteString("\n## " + string(where) + "\n\n| key | does |\n|---|---|\n")
		}
		b.WriteString("| " + k.keyNames() + " | " + k.help + " |\n")
	}
	b.WriteString("\nWhere the mouse is captured the wheel scrolls, a drag selects and copies through the terminal's clipboard, and Shift+drag is the terminal's own.\n")
	return b.String()
}
