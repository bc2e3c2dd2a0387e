package visible

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// Every rune decodes to itself, and none that is interpreted or hidden is printed raw.
func TestJSONIsTheSameValueAndHidesNothing(t *testing.T) {
	var b strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r < 0xd800 || r > 0xdfff {
			b.WriteRune(r)
		}
	}
	want := map[string]string{b.String(): "x\u009b31m\u202e\u2028\u200b\U000e0041"}
	for _, indent := range []string{"", "  "} {
		data, err := JSON(want, indent)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range string(data) {
			if r != '\n' && Name(r) != "" {
				t.Fatalf("%s is printed as it is", Codepoint(r))
			}
		}
		var got map[string]string
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		for k, v := range want {
			if got[k] != v {
				t.Error("the value is another after decoding")
			}
		}
	}
}
