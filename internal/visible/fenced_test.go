package visible

import (
	"strings"
	"testing"
)

func TestFenced(t *testing.T) {
	long := strings.Repeat("`", 1<<20)
	for s, want := range map[string]string{
		"a": "```text\na\n```", "": "```text\n\n```", "a ``` b": "````text\na ``` b\n````", "`````": "``````text\n`````\n``````", "`` ` ``": "```text\n`` ` ``\n```",
		long: long + "`text\n" + long + "\n" + long + "`",
	} {
		if got := Fenced(s, "text"); got != want {
			t.Errorf("%.20q is %.40q", s, got)
		}
	}
}
