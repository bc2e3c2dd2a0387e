package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"codeagent/event"
	"codeagent/internal/golden"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/slash"
	"codeagent/tui/tuitest"
)

// docs/keys.md is made from the table; a stale one fails.
func TestKeysPage(t *testing.T) { golden.CheckFile(t, "../docs/keys.md", keysPage()) }

// In a scope a key stands for one thing, and each key can be pressed.
func TestKeysAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, b := range keys.Standard().Bindings {
		for _, k := range b.Keys {
			id := string(b.Where) + " " + k
			if other, ok := seen[id]; ok {
				t.Errorf("%s is bound to %q and %q", id, other, b.Help)
			}
			seen[id] = b.Help
			if got := keyOf(k).Keystroke(); got != k {
				t.Errorf("the key %q is called %q when it is pressed", k, got)
			}
		}
		if b.Help == "" || b.Do == keys.None {
			t.Errorf("%v does nothing or has no description", b.Keys)
		}
	}
}

// Every action of the table does something: no key is listed that is dead.
func TestNoDeadKeys(t *testing.T) {
	for _, b := range keys.Standard().Bindings {
		if b.Where != keys.Everywhere {
			continue
		}
		for _, other := range keys.Standard().Bindings {
			if other.Where != keys.InComposer {
				continue
			}
			for _, k := range b.Keys {
				for _, o := range other.Keys {
					if k == o {
						t.Errorf("%s of %q is taken by %q while writing", k, b.Help, other.Help)
					}
				}
			}
		}
	}
}

func TestHelpListsEveryKeyAndCommand(t *testing.T) {
	page := tuitest.Stripped(slash.Help(paint.New(true), 100, everythingOffered(t).callable(), nil, keys.Standard()))
	for _, b := range keys.Standard().Bindings {
		if !strings.Contains(page, b.KeyNames()) {
			t.Errorf("help lacks %s", b.KeyNames())
		}
	}
	for _, c := range newApp(newMailbox(), time.Now).commands() {
		if !strings.Contains(page, "/"+c.Name) || c.Help == "" {
			t.Errorf("help lacks /%s", c.Name)
		}
	}
	golden.Check(t, "help-80.txt", tuitest.Stripped(slash.Help(paint.New(true), 77, everythingOffered(t).callable(), nil, keys.Standard())))
}

// keysPage is docs/keys.md.
func keysPage() string {
	var b strings.Builder
	b.WriteString("# Keys\n\nMade from the table in `tui/keys/standard.go` by `go test ./tui -run TestKeysPage -update`.\n\n" +
		"Each action can get other keys in `[keys]` of config.toml, by the name in the last column: `message-newline = [\"ctrl+j\", \"f2\"]`. " +
		"An empty list takes its keys away. A key that then means two things in one place is an error.\n")
	where := keys.Scope("")
	for _, k := range keys.Standard().Bindings {
		if k.Where != where {
			where = k.Where
			b.WriteString("\n## " + string(where) + "\n\n| key | does | setting |\n|---|---|---|\n")
		}
		b.WriteString("| " + k.KeyNames() + " | " + k.Help + " | " + setting(k) + " |\n")
	}
	b.WriteString("\nWhere the mouse is captured the wheel scrolls, a drag selects and copies what was written: tabs, no margins, no breaks that only the width made. Shift+drag is the terminal's own.\n")
	return b.String()
}

func setting(b keys.Binding) string {
	if b.Setting() == "" {
		return ""
	}
	return "`" + b.Setting() + "`"
}

// TestReboundKeys: a key of the person's does what it stands for, the old one does not, and
// help and hints name the new one.
func TestReboundKeys(t *testing.T) {
	r := newRig(t, 80, 24)
	table, err := keys.Rebind([]keys.Change{{Setting: "message-newline", Keys: []string{"f2"}}, {Setting: "back", Keys: []string{"f4", "esc"}}, {Setting: "end", Keys: []string{"f6"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.app.keys = table
	r.typeText("a")
	r.press("f2", "b", "ctrl+j", "c")
	if got := r.app.composer.Text; got != "a\nbc" {
		t.Errorf("the text is %q", got)
	}
	r.app.work.running = true
	r.press("d")
	r.has("F4 interrupts")
	r.press("f4")
	if r.stops != 1 {
		t.Error("F4 interrupts nothing")
	}
	r.app.work.running = false
	for i := range 40 {
		r.emit(event.MessageFinished{Text: fmt.Sprintf("message %d", i)})
	}
	r.press("pgup")
	r.has("F6 follows")
	if page := tuitest.Stripped(slash.Help(paint.New(true), 100, nil, nil, table)); !strings.Contains(page, "F4, Esc") || strings.Contains(page, "Ctrl+J") {
		t.Errorf("help shows other keys:\n%s", page)
	}
}
