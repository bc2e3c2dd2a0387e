package main

import "testing"

// TestOtherBuild: only codeagent of the same build is served.
func TestOtherBuild(t *testing.T) {
	defer delete(commands, "answer")
	commands["answer"] = func(args []string) int { return len(args) }
	for _, c := range []struct {
		args []string
		want int
	}{{[]string{version, "answer", "a", "b", "c"}, 3}, {[]string{"another", "answer", "a"}, wrongUse}, {[]string{version, "unknown"}, wrongUse}, {nil, 0}} {
		if got := run(c.args); got != c.want {
			t.Errorf("%q: status %d, want %d", c.args, got, c.want)
		}
	}
}
