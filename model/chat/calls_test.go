package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"codeagent/model"
)

// heard returns what a decoder yields for chunks, in short words, and its calls.
func heard(t testing.TB, deltas ...string) (words []string, calls []model.ToolCall) {
	t.Helper()
	d := newDecoder(&attempt{Source: "s", Learn: func(func(*quirks)) {}, Yield: func(d model.Delta) error {
		switch d := d.(type) {
		case model.CallStarted:
			words = append(words, "start "+d.ID)
		case model.CallDelta:
			words = append(words, d.Arguments)
		case model.CallDone:
			words = append(words, "done "+d.Call.ID)
			if d.Opaque != nil {
				words = append(words, strings.TrimSuffix(strings.TrimPrefix(string(d.Opaque.Data), `{"reasoning_details":`), "}"))
			}
			calls = append(calls, d.Call)
		default:
			words = append(words, fmt.Sprintf("%T", d))
		}
		return nil
	}})
	for _, delta := range append(deltas, `{},"finish_reason":"tool_calls"`) {
		if !strings.Contains(delta, `"finish_reason"`) {
			delta += `,"finish_reason":null`
		}
		if err := d.Event([]byte(`{"choices":[{"index":0,"delta":` + delta + `}]}`)); err != nil {
			t.Fatal(err)
		}
		words = append(words, "|")
	}
	if err := d.End(nil); err != nil {
		t.Fatal(err)
	}
	return words, calls
}

func piece(index int, id, name, arguments string) string {
	text, _ := json.Marshal(arguments)
	return fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"function":{"name":%q,"arguments":%s}}]}`, index, id, name, text)
}

// A call is done with the chunk that closes its object, in its order.
func TestWhenCallsAreDone(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []string
		want   string
	}{
		{"at its end", []string{piece(0, "a", "f", `{"x":`), piece(0, "", "", `1}`), piece(1, "b", "f", `{"y":2}`)},
			`start a {"x": | 1} done a | start b {"y":2} done b | |`},
		{"nothing comes behind it", []string{piece(0, "a", "f", `{"x":1} `), piece(0, "", "", ` {"x":1}`)},
			`start a {"x":1} done a | | |`},
		{"another is not done", []string{piece(0, "a", "f", `{"x":`), piece(1, "b", "f", `{"y":2}`), piece(0, "", "", `1}`)},
			`start a {"x": | start b {"y":2} | 1} done a done b | |`},
		{"no object", []string{piece(0, "a", "f", `{"x":"`+"\n"+`"}`), piece(1, "b", "f", `{"y":2}`)},
			`start a {"x":"` + "\n" + `"} | start b {"y":2} | | done a done b`},
		{"no arguments", []string{piece(0, "a", "f", `{}`), piece(1, "b", "f", ``)}, `start a | done a | | start b done b`},
		{"no name yet", []string{piece(0, "a", "", `{"x":1}`), piece(0, "", "f", "")}, `| | | start a {"x":1} done a`},
		{"signed thinking goes along", []string{`{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}`, piece(0, "a", "f", `{"x":1}`)},
			`| start a {"x":1} done a [{"data":"x","type":"reasoning.encrypted"}] | |`},
		{"signed thinking without a call", []string{`{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}`}, `| | model.Sealed`},
	} {
		words, _ := heard(t, c.chunks...)
		got := strings.TrimSuffix(strings.Join(words, " "), " model.Finished")
		if want := strings.TrimSuffix(c.want, " "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

// However the arguments of two calls are split, the calls are the same.
func FuzzCutArguments(f *testing.F) {
	f.Add(`{"command":"echo 'ü\u00fc' \\"}`, `{"path":"a","offset":12}`, []byte{1, 4, 0, 200, 3})
	f.Add(`{}{"x":1}`, `{"x":1}{"x":2}`, []byte{2, 2})
	f.Add(`{"x":1} </call>`, ` [1]`, []byte{7, 0, 0})
	f.Fuzz(func(t *testing.T, one, two string, cuts []byte) {
		one, two = strings.ToValidUTF8(one, "?"), strings.ToValidUTF8(two, "?")
		_, want := heard(t, piece(0, "a", "f", one), piece(1, "b", "f", two))
		rest := []string{one, two}
		// The heads come first, so that no other call is inferred.
		chunks := []string{piece(0, "a", "f", ""), piece(1, "b", "f", "")}
		for _, c := range cuts {
			i, n := int(c)&1, 0
			for n = min(int(c)>>1, len(rest[i])); n < len(rest[i]) && !utf8.RuneStart(rest[i][n]); n++ {
			}
			chunks = append(chunks, piece(i, "", "", rest[i][:n]))
			rest[i] = rest[i][n:]
		}
		chunks = append(chunks, piece(0, "", "", rest[0]), piece(1, "", "", rest[1]))
		_, got := heard(t, chunks...)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("cut:\n%q\nwhole:\n%q", got, want)
		}
	})
}
