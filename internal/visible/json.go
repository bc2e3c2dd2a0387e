package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON encodes v in ASCII wherever a terminal would obey a character or a reader
// would not see it: each of those is a \u escape, which is the same value to
// whoever decodes it. All JSON that codeagent prints comes from here. indent is
// empty for one line.
func JSON(v any, indent string) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", indent)
	if indent == "" {
		data, err = json.Marshal(v)
	}
	if err != nil {
		return nil, err
	}
	return Escaped(data), nil
}

// Escaped is JSON with hidden characters escaped. Beyond ASCII there is nothing but
// strings in JSON, where such an escape may stand.
func Escaped(data []byte) []byte {
	hides := func(r rune) bool { return r >= 0x7f && Name(r) != "" }
	if bytes.IndexFunc(data, hides) < 0 {
		return data
	}
	var b []byte
	for _, r := range string(data) {
		if !hides(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	return b
}
