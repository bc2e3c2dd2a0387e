package visible

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// obeyed finds what the CI systems take for a command, after they have left out what counts for
// nothing to them.
var obeyed = regexp.MustCompile(`(?m)^[\s\p{Z}]*::|##(vso)?\[`)

func wouldObey(text string) bool {
	return obeyed.MatchString(regexp.MustCompile(`[\p{Cf}\p{Mn}]`).ReplaceAllString(text, ""))
}

var orders = []string{
	"::add-mask::x", "  ::stop-commands::x", "\t::x::", "a\n::error::b", "a\r\n \u00a0::b", "##[add-mask]x", "a ##[group]", "a ##vso[task.setvariable variable=x]y",
	"###[group]", "##[##[a]", "##vso[##vso[a]", "####[a", "#\u200d#[group]", "#\ufe0f#\ufe0fvso[a.b]", ":\u200d:x::", "\u200d::x::", "\\::x\n::y", "#\\##[x]",
}

func TestLogIsNotObeyed(t *testing.T) {
	for _, order := range orders {
		if !wouldObey(order) {
			t.Errorf("%q is no order", order)
		}
		got := Log(order)
		if wouldObey(got) || strings.ReplaceAll(got, `\`, "") != strings.ReplaceAll(order, `\`, "") {
			t.Errorf("%q becomes %q", order, got)
		}
	}
	for _, plain := range []string{"", "a::b", "std::vector", "## [a heading](x)", "# [x]", "[##]", "key: value", ": x", "##vs[o]"} {
		if got := Log(plain); got != plain {
			t.Errorf("%q becomes %q", plain, got)
		}
	}
}

func TestJSONIsNotObeyed(t *testing.T) {
	data, err := JSON(orders, "")
	if err != nil || wouldObey(string(data)) {
		t.Errorf("%s, %v", data, err)
	}
	var back []string
	if err := json.Unmarshal(data, &back); err != nil || strings.Join(back, "|") != strings.Join(orders, "|") {
		t.Errorf("%q, %v", back, err)
	}
}

func FuzzLog(f *testing.F) {
	for _, order := range orders {
		f.Add(order)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := Log(s); wouldObey(got) {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
