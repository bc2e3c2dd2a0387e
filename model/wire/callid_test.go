package wire

import (
	"strings"
	"testing"
)

// An id that some provider refuses is sent only to the provider that uses its form.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 41)
	for _, c := range []struct {
		id, model  string
		kept, sent bool
	}{
		{"call_1", "m", true, true},
		{"toolu_01-A", "m", true, true},
		{long[1:], "m", true, true},
		{long, "m", false, false},
		{"a b", "m", false, false},
		{"ü", "m", false, false},
		{"a\n", "m", false, false},
		{"functions.shell:0", "gpt-5", true, false},
		{"functions.shell:0", "moonshotai/Kimi-K2", true, true},
		{"functions.shell:0 " + long, "kimi", false, false},
	} {
		used := CallIDs{}
		kept, sent := used.Unique(c.id), CallID(c.id, c.model, false)
		if (kept == c.id) != c.kept || (sent == c.id) != c.sent {
			t.Errorf("%q of %s: kept as %q, sent as %q", c.id, c.model, kept, sent)
		}
		if again := used.Unique(c.id); again == kept || again == "" {
			t.Errorf("%q is used twice: %q", c.id, again)
		}
		if !c.sent && !anyones().MatchString(sent) || sent != CallID(c.id, c.model, false) || CallID(sent, c.model, false) != sent {
			t.Errorf("%q is sent as %q", c.id, sent)
		}
	}
	for _, id := range []string{"call_1", "call00001", "a b"} {
		if got := CallID(id, "m", true); !strictest().MatchString(got) || (got == id) != (id == "call00001") {
			t.Errorf("%q is sent as %q to a provider that refused an id", id, got)
		}
	}
	if CallID("a b", "m", true) == CallID("a c", "m", true) {
		t.Error("two ids become one")
	}
}
