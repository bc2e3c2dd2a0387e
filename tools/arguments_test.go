package tools

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"codeagent/internal/short"
)

type sample struct {
	Name  string      `json:"name"`
	Count int         `json:"count,omitempty"`
	Flag  bool        `json:"flag,omitempty"`
	List  []string    `json:"list,omitempty"`
	Inner *sampleSub  `json:"inner,omitempty"`
	Rows  []sampleSub `json:"rows,omitempty"`
	Old   bool        `json:"old_name,omitempty" hidden:"accepted and not offered"`
}

type sampleSub struct {
	A string `json:"a"`
	B string `json:"b,omitempty"`
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		text string
		want sample
		err  string
	}{
		{`{"name":"x"}`, sample{Name: "x"}, ""},
		{` {"name":"x"} ` + "\n", sample{Name: "x"}, ""},
		{`{"name":"x","count":3,"flag":true,"list":["a","b"]}`, sample{Name: "x", Count: 3, Flag: true, List: []string{"a", "b"}}, ""},
		{`{"name":"x","count":"3"}`, sample{Name: "x", Count: 3}, ""},
		{`{"name":"x","count":3.0}`, sample{Name: "x", Count: 3}, ""},
		{`{"name":"x","count":3e2}`, sample{Name: "x", Count: 300}, ""},
		{`{"name":"x","count":3.5}`, sample{}, `"count" must be a whole number, not "3.5"`},
		{`{"name":"x","count":99999999999999999999}`, sample{}, `must be a whole number`},
		{`{"name":"x","count":true}`, sample{}, `must be a whole number, not "true"`},
		{`{"name":"x","count":null,"list":null,"inner":null}`, sample{Name: "x"}, ""},
		{`{"name":"x","flag":"true"}`, sample{Name: "x", Flag: true}, ""},
		{`{"name":"x","flag":1}`, sample{}, `"flag" must be true or false, not "1"`},
		{`{"name":"x","list":"one"}`, sample{Name: "x", List: []string{"one"}}, ""},
		{`{"name":"x","list":"[\"a\",\"b\"]"}`, sample{Name: "x", List: []string{"a", "b"}}, ""},
		{`{"name":"x","list":[1]}`, sample{}, `"list[0]" must be a string, not "1"`},
		{`{"name":"x","list":{}}`, sample{}, `"list" must be a list`},
		{`{"name":"x","inner":{"a":"1"}}`, sample{Name: "x", Inner: &sampleSub{A: "1"}}, ""},
		{`{"name":"x","inner":"{\"a\":\"1\"}"}`, sample{Name: "x", Inner: &sampleSub{A: "1"}}, ""},
		{`{"name":"x","inner":{"c":"1"}}`, sample{}, `there is no argument "inner.c"`},
		{`{"name":"x","inner":{}}`, sample{}, `"inner.a" is missing`},
		{`{"name":"x","inner":[]}`, sample{}, `"inner" must be an object`},
		{`{"name":"x","rows":[{"a":"1"},{"a":"2","b":"3"}]}`, sample{Name: "x", Rows: []sampleSub{{A: "1"}, {A: "2", B: "3"}}}, ""},
		{`{"name":"x","rows":[{"a":"1"},{}]}`, sample{}, `"rows[1].a" is missing`},
		{`{"name":"x","rows":["a"]}`, sample{}, `"rows[0]" must be an object`},
		{`{"name":"x","list":[` + strings.Repeat(`"a",`, 1000) + `"a"]}`, sample{}, "1001 entries"},
		{`"{\"name\":\"x\"}"`, sample{Name: "x"}, ""},
		{`{"name":"x","old_name":true}`, sample{Name: "x", Old: true}, ""},
		{``, sample{}, `"name" is missing`},
		{`{}`, sample{}, `"name" is missing. Example: EXAMPLE`},
		{`{"name":null}`, sample{}, `"name" is missing`},
		{`{"name":3}`, sample{}, `"name" must be a string, not "3"`},
		{`{"name":["bash","-c","ls"]}`, sample{}, `"name" must be a string`},
		{`{"name":"x","name":"y"}`, sample{}, `"name" is given twice`},
		{`{"Name":"x"}`, sample{}, `there is no argument "Name"`},
		{`{"name":"x","cuont":1}`, sample{}, `Did you mean "count"? The arguments are name, count`},
		{`{"name":"x","zzzzzz":1}`, sample{}, `there is no argument "zzzzzz"; nothing was done. The arguments are name, count, flag, list, inner, rows. Example: EXAMPLE`},
		{`[]`, sample{}, `the arguments must be an object, not "[]"`},
		{`"x"`, sample{}, `the arguments must be an object`},
		{`null`, sample{}, `the arguments must be an object`},
		{`{"name":"x"} {"name":"y"}`, sample{}, `more text follows the JSON object: "{`},
		{`{"name":"x"}}`, sample{}, `more text follows the JSON object`},
		{`{"name":"x`, sample{}, `were they cut off?`},
		{`{"name":`, sample{}, `were they cut off?`},
		{`{name:"x"}`, sample{}, `the arguments are not JSON`},
		{`{"name":'x'}`, sample{}, `at byte 9`},
		{`<tool>`, sample{}, `the arguments are not JSON`},
		{strings.Repeat(`[`, 20000), sample{}, `the arguments`},
		{`{"name":"` + strings.Repeat("x", maxArguments) + `"}`, sample{}, "bytes; at most"},
	} {
		var got sample
		err := decode(tt.text, &got, "EXAMPLE")
		name := short.Cut(tt.text, 60)
		if (tt.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", name, err, tt.err)
			continue
		}
		if err == nil {
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		} else if len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: the error is not a sentence: %q", name, err)
		}
	}
}

// The decoder accepts everything that the schema accepts. It knows the schema's names and the
// hidden ones.
func TestDecoderFollowsSchema(t *testing.T) {
	for name, v := range argumentTypes {
		s, err := jsonschema.ForType(reflect.TypeOf(v), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fields(reflect.TypeOf(v)) {
			if s.Properties[f.name] == nil {
				t.Errorf("%s: the decoder knows %s, the schema does not", name, f.name)
			}
		}
		if len(s.Properties) != len(fields(reflect.TypeOf(v))) {
			t.Errorf("%s: the schema has arguments that the decoder does not know", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"name":"x","inner":{"a":"1"},"rows":[{"a":"1"}],"list":"[1"}`, `"{\"name\":\"\\u0000\"}"`, `{"name":"x","count":"1e400"}`, `[[[`, `{"a":`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v sample
		if err := decode(text, &v, "EXAMPLE"); err == nil && !strings.Contains(text, "name") && !strings.Contains(text, `\`) {
			t.Errorf("%q was taken without its name", text)
		}
	})
}
