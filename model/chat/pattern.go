package chat

import (
	"bytes"
	"encoding/json"
)

// pattern recognises chunks that bring only text: the chunks of one answer differ only in
// the text, and comparing bytes is many times cheaper than decoding JSON. If data is
// head + S + tail, head ends in an opening quote, tail begins with the closing one and S
// holds no unescaped quote, then the JSON has the structure of the decoded chunk, with S as
// its text.
type pattern struct{ head, tail []byte }

var content = []byte(`"content":"`)

// learn takes data that was decoded and brought only text.
func (p *pattern) learn(data []byte, text string) {
	at := bytes.Index(data, content)
	if at < 0 || bytes.Contains(data[at+len(content):], []byte(`"content"`)) {
		return // other spacing, or more than one place
	}
	start := at + len(content)
	size := stringEnd(data[start:])
	if size < 0 {
		return
	}
	if s, ok := unquote(data[start : start+size]); !ok || s != text {
		return
	}
	p.head = append(p.head[:0], data[:start]...)
	p.tail = append(p.tail[:0], data[start+size:]...)
}

// match returns the text of data if data is a chunk of the known pattern.
func (p *pattern) match(data []byte) (string, bool) {
	if len(p.head) == 0 || len(data) <= len(p.head)+len(p.tail) || !bytes.HasPrefix(data, p.head) || !bytes.HasSuffix(data, p.tail) {
		return "", false
	}
	s := data[len(p.head) : len(data)-len(p.tail)]
	if stringEnd(data[len(p.head):]) != len(s) {
		return "", false
	}
	return unquote(s)
}

// stringEnd returns the offset of the quote that ends the JSON string in whose inside b
// begins, or -1.
func stringEnd(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return -1
}

// unquote decodes the inside of a JSON string; false when it is invalid.
func unquote(s []byte) (string, bool) {
	for _, c := range s {
		if c < ' ' || c == '\\' || c >= 0x80 { // rare enough to decode in full
			quoted := make([]byte, 0, len(s)+2)
			quoted = append(append(append(quoted, '"'), s...), '"')
			var text string
			err := json.Unmarshal(quoted, &text)
			return text, err == nil
		}
	}
	return string(s), true
}
