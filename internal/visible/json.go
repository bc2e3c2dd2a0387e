package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON encodes v with a \u escape for each character that a terminal would interpret or a
// reader would not see; a decoder gets the same value. All JSON that codeagent prints comes
// from here. indent is empty for one line.
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

// Escaped returns JSON with hidden characters escaped. Characters beyond ASCII occur only in
// strings, where such an escape is valid.
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
