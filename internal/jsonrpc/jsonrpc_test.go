package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var lines = []string{
	`{nope`, `[]`, `{}`, `{"jsonrpc":"2.0"}`, `null`, `"x"`, ` {"jsonrpc":"2.0","id":1.5,"method":"x"}`, `{"jsonrpc":"2.0","id":{},"method":"x"}`,
	`{"jsonrpc":"2.0","id":1e2,"method":"x","params":[1]}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":null}`,
	`{"jsonrpc":"2.0","id":"a","error":{"code":5,"message":"\u001b"},"result":null}`, "\xff\xfe", `{"a":` + strings.Repeat(`[`, 10000),
	`{"JSONRPC":"2.0","ID":1,"METHOD":"x"}`, `{"jsonrpc":"2.0","method":"` + "\u202e" + `"}`,
}

// FuzzParse: a message that is taken can be handed on and is the same when it is written again.
func FuzzParse(f *testing.F) {
	for _, l := range lines {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, asks, fault := Parse(data)
		if fault != nil {
			if again, _, other := Parse(Answer(m.ID, nil, fault)); other != nil || string(again.ID) != string(m.ID) && m.ID != nil || again.Failure == nil {
				t.Errorf("%q: the answer has id %s, not %s: %v", data, again.ID, m.ID, other)
			}
			return
		}
		if asks != (!m.Response && m.ID != nil) {
			t.Errorf("%q: asks is %t", data, asks)
		}
		if handed, err := m.SDK(); err == nil {
			if _, err := sdk.EncodeMessage(handed); err != nil {
				t.Error(err)
			}
		}
		written := Answer(m.ID, m.Result, m.Failure)
		if !m.Response {
			written = Request(m.ID, m.Method, m.Params)
		}
		again, _, fault := Parse(written)
		if fault != nil || again.Method != m.Method || again.Response != m.Response || (again.Failure == nil) != (m.Failure == nil) {
			t.Errorf("%q became %q: %v", data, written, fault)
		}
	})
}

// TestFaults: what is no message has its code, and its ID where that can be repeated.
func TestFaults(t *testing.T) {
	for line, want := range map[string]struct {
		code int64
		id   string
		asks bool
	}{
		`{"jsonrpc":"2.0","id":7,"method":"a"}`:                                         {0, "7", true},
		`{"jsonrpc":"2.0","method":"a"}`:                                                {0, "", false},
		`{"jsonrpc":"2.0","id":7,"result":1}`:                                           {0, "7", false},
		`{"jsonrpc":"1.0","id":7,"result":1}`:                                           {-32600, "7", false},
		`{"jsonrpc":"1.0","id":"x","method":"a"}`:                                       {-32600, `"x"`, true},
		`{"jsonrpc":"2.0","id":7,"METHOD":"a"}`:                                         {-32600, "7", true},
		`{"jsonrpc":"2.0","id":7.5,"method":"a"}`:                                       {-32600, "null", true},
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", MaxID) + `","method":"a"}`:      {-32600, "null", true},
		`{"id":7,"params":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`: {-32600, "7", true},
		`[{"jsonrpc":"2.0","id":7,"method":"a"}]`:                                       {-32600, "null", true},
		`{"jsonrpc":"2.0","id":7,`:                                                      {-32700, "null", true},
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}":                            {-32700, "null", true},
	} {
		m, asks, fault := Parse([]byte(line))
		code := int64(0)
		if fault != nil {
			code = fault.Code
		}
		if code != want.code || string(m.ID) != want.id || asks != want.asks {
			t.Errorf("%.80s: code %d, id %s, asks %t: %v", line, code, m.ID, asks, fault)
		}
	}
}

// TestFailures: an answer that cannot be read grants nothing.
func TestFailures(t *testing.T) {
	for body, failed := range map[string]bool{
		`"result":{}`: false, `"result":null`: false, `"result":1,"error":null`: false, `"error":null`: true, `"error":5`: true,
		`"error":{"code":"x"}`: true, `"result":1,"error":{}`: true, `"result":1,"error":{"code":1,"message":"no"}`: true,
	} {
		if m, _, fault := Parse(json.RawMessage(`{"jsonrpc":"2.0","id":1,` + body + `}`)); fault != nil || !m.Response || (m.Failure != nil) != failed {
			t.Errorf("%s: %+v %v", body, m, fault)
		}
	}
}
