package composer

import "testing"

// TestLinesAfterAName: the space behind a file that was named goes when lines of it follow.
func TestLinesAfterAName(t *testing.T) {
	for _, row := range []struct{ typed, want string }{
		{"#20-45 and", "see @rows.txt#20-45 and"}, {":20", "see @rows.txt:20"}, {"and", "see @rows.txt and"},
	} {
		c := New()
		c.Typed("see @ro")
		c.Name(4, "rows.txt", "")
		c.Typed(row.typed)
		if c.Text != row.want {
			t.Errorf("%q, want %q", c.Text, row.want)
		}
	}
}
