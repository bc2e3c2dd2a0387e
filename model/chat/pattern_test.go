package chat

import (
	"encoding/json"
	"testing"

	"codeagent/model"
)

// decoded is the text that a decoder yields for the chunks, with or without
// its pattern.
func decoded(t *testing.T, plain bool, chunks ...string) (string, int) {
	t.Helper()
	text, failed := "", 0
	d := newDecoder(&attempt{Yield: func(delta model.Delta) error {
		if td, ok := delta.(model.TextDelta); ok {
			text += td.Text
		}
		return nil
	}})
	for _, c := range chunks {
		if plain {
			d.known = pattern{}
		}
		if d.Event([]byte(c)) != nil {
			failed++
		}
	}
	return text, failed
}

func TestPatternIsLearnt(t *testing.T) {
	t.Parallel()
	var p pattern
	p.learn([]byte(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`), "a")
	for chunk, want := range map[string]string{
		`{"choices":[{"index":0,"delta":{"content":"b\"c"}}]}`:   `b"c`,
		`{"choices":[{"index":0,"delta":{"content":"\u00fc"}}]}`: "ü",
		`{"choices":[{"index":0,"delta":{"content":"ü"}}]}`:      "ü",
	} {
		if got, ok := p.match([]byte(chunk)); !ok || got != want {
			t.Errorf("%s: %q, %t", chunk, got, ok)
		}
	}
	for _, chunk := range []string{
		`{"choices":[{"index":1,"delta":{"content":"b"}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}`,
		`{"choices":[{"index":0,"delta":{"content":"b","tool_calls":[{"x":"y"}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"b\"}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"}}]}`,
		"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\nb\"}}]}",
	} {
		if got, ok := p.match([]byte(chunk)); ok {
			t.Errorf("%s was taken for %q", chunk, got)
		}
	}
}

// FuzzPattern checks that the pattern never changes what is decoded.
func FuzzPattern(f *testing.F) {
	f.Add(`{"choices":[{"index":0,"delta":{"content":"`, "a", `b\"`, `"}}]}`)
	f.Add(`{"content":"x","choices":[{"delta":{"content":"`, "a", "b", `"}}]}`)
	f.Add(`{"choices":[{"delta":{"content":"`, "a", `b"},"finish_reason":"stop","x":{"y":"`, `"}}]}`)
	f.Add(`{"choices":[{"delta":{"refusal":"r","content":"`, "", "ü\\u00", `"}}]}`)
	f.Fuzz(func(t *testing.T, head, first, second, tail string) {
		quoted, _ := json.Marshal(first)
		chunks := []string{head + string(quoted[1:len(quoted)-1]) + tail, head + second + tail}
		fast, failed := decoded(t, false, chunks...)
		slow, failedSlow := decoded(t, true, chunks...)
		if fast != slow || failed != failedSlow {
			t.Errorf("%q: %q with the pattern, %q without", chunks, fast, slow)
		}
	})
}
