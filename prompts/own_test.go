package prompts

import "testing"

// TestOwn: where the arguments of a prompt go.
func TestOwn(t *testing.T) {
	for _, c := range []struct{ text, argument, want string }{
		{"Fix $ARGUMENTS now", "the  parser", "Fix the  parser now"},
		{"Compare $1 with $2.", `a "b c" d`, "Compare a with b c."},
		{"Compare $1 with $2.", "a", "Compare a with ."},
		{"It costs $5 or $", "", "It costs  or $"},
		{"Fix it\n", "in main.go", "Fix it\n\nin main.go"},
		{"Fix it\n", "", "Fix it\n"},
		{"$1 $ARGUMENTS", "$2 $ARGUMENTS", "$2 $2 $ARGUMENTS"},
		{"$1", `''`, ""},
	} {
		if got := (Own{Text: c.text}).Prompt(c.argument).Text; got != c.want {
			t.Errorf("%q with %q is %q, want %q", c.text, c.argument, got, c.want)
		}
	}
}
