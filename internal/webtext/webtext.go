// Package webtext converts responses of web servers to text: any charset becomes UTF-8, and
// HTML becomes lines with headings, lists, tables and links. It is pure, and its input is
// hostile: time and memory are bounded by the size of the input, and the output contains no
// character that a terminal interprets or a reader cannot see. Start reading at webtext.go.
package webtext

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"codeagent/internal/visible"
)

// Decode returns data as UTF-8. The charset comes from the byte order mark, the Content-Type
// header, or the page itself. Without one, the data is UTF-8 if it is valid, and
// Windows-1252 otherwise, as in browsers.
func Decode(data []byte, contentType string) string {
	enc, name, certain := charset.DetermineEncoding(data, contentType)
	if name == "utf-8" || !certain && utf8.Valid(withoutPart(data)) {
		return strings.TrimPrefix(strings.ToValidUTF8(string(data), "\uFFFD"), "\uFEFF")
	}
	decoded, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		decoded = data
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(decoded), "\uFFFD"), "\uFEFF")
}

// Plain reports text that a server sends under a meaningless type, for example a shell
// script: UTF-8 without a NUL.
func Plain(data []byte) bool {
	head := data[:min(len(data), 8<<10)]
	return bytes.IndexByte(head, 0) < 0 && utf8.Valid(withoutPart(head))
}

// withoutPart removes an incomplete character at the end.
func withoutPart(data []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if at := len(data) - n; utf8.RuneStart(data[at]) {
			if !utf8.FullRune(data[at:]) {
				return data[:at]
			}
			break
		}
	}
	return data
}

// Visible returns s with every line break as one newline. Characters that a terminal interprets
// or a reader does not see are replaced by their names.
func Visible(s string) string {
	return visible.Text(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
}
