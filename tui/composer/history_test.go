package composer

import (
	"testing"

	"codeagent/tui/keys"
	"codeagent/tui/message"
)

// TestWantedBeforeItCame: an ↑ before the messages of earlier runs have come shows the latest once
// they come, unless something was written meanwhile; afterwards nothing is awaited.
func TestWantedBeforeItCame(t *testing.T) {
	earlier := []message.Message{{Text: "first"}, {Text: "second"}}
	for _, row := range []struct {
		up    bool
		typed string
		want  string
	}{{true, "", "second"}, {true, "new", "new"}, {false, "", ""}} {
		c := New()
		if row.up {
			c.Edit(keys.Up, 40)
		}
		c.Typed(row.typed)
		c.Recall(earlier)
		if c.Text != row.want {
			t.Errorf("%+v: %q", row, c.Text)
		}
	}
	c := New()
	c.Recall(nil)
	c.Edit(keys.Up, 40)
	if c.Recall(earlier); c.Text != "" {
		t.Errorf("%q after nothing was awaited", c.Text)
	}
}
