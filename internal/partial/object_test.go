package partial

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// write passes the pieces of text between the cuts to o.
func write(o *Object, text string, cuts ...int) (taken string) {
	from := 0
	for _, to := range append(cuts, len(text)) {
		piece := text[from:to]
		taken += piece[:o.Write(piece)]
		from = to
	}
	return taken
}

func TestFieldsAreClosed(t *testing.T) {
	for _, c := range []struct {
		text  string
		soon  string
		n     int
		state state
	}{
		{``, `{}`, 0, open},
		{` `, `{}`, 0, open},
		{`{`, `{}`, 0, open},
		{`{"path`, `{}`, 0, open},
		{`{"path":`, `{}`, 0, open},
		{`{"path":"a\"`, `{}`, 0, open},
		{`{"path":"a\\"`, `{"path":"a\\"}`, 1, open},
		{`{"path":"a"`, `{"path":"a"}`, 1, open},
		{`{"path":"a" , "off`, `{"path":"a"}`, 1, open},
		{`{"path":"ü\u00`, `{}`, 0, open},
		{`{"path":"{\"x\":1}"`, `{"path":"{\"x\":1}"}`, 1, open},
		{`{"offset":1`, `{}`, 0, open}, // may become 12
		{`{"offset":1,`, `{"offset":1}`, 1, open},
		{`{"offset": 1 }`, `{"offset": 1 }`, 1, closed},
		{`{"a":true,"b":[1,{"c":"]"}]`, `{"a":true,"b":[1,{"c":"]"}]}`, 2, open},
		{`{"a":{"b":"c"}`, `{"a":{"b":"c"}}`, 1, open},
		{`{"a":{"b":"c"`, `{}`, 0, open},
		{`{"a":"b","a":"c"`, `{"a":"b","a":"c"}`, 2, open},
		{`{}`, `{}`, 0, closed},
		{` { }`, `{}`, 0, closed},
		{`{"a":1}`, `{"a":1}`, 1, closed},
		{`{"a":]}`, `{}`, 1, broken},
		{`{"a":1]`, `{"a":1}`, 1, broken},
		{`{"a":}`, `{}`, 1, broken},
		{"{\"a\":\"\n\"}", "{\"a\":\"\n\"}", 1, broken},
		{`[1]`, `{}`, 0, broken},
		{`"{\"a\":1}"`, `{}`, 0, broken},
		{`null`, `{}`, 0, broken},
		{`}`, `{}`, 0, broken},
	} {
		var o Object
		if taken := write(&o, c.text); taken != c.text || o.Text() != c.text || o.Len() != len(c.text) {
			t.Errorf("%s: took %q, holds %q", c.text, taken, o.Text())
		}
		if o.state != c.state || o.Fields() != c.n || o.Closed() != (c.state == closed) {
			t.Errorf("%s: state %d with %d fields, want %d with %d", c.text, o.state, o.Fields(), c.state, c.n)
		}
		if c.state != broken && o.Soon() != c.soon {
			t.Errorf("%s: soon %s, want %s", c.text, o.Soon(), c.soon)
		}
	}
}

func TestWhatFollowsIsNotPartOfIt(t *testing.T) {
	var o Object
	if taken := write(&o, ` {"a":1} {"a":2}`, 8); taken != ` {"a":1}` || o.Text() != taken || !o.Closed() {
		t.Errorf("took %q, holds %q", taken, o.Text())
	}
}

// However a text is cut, the result is the same; an object closes exactly where encoding/json
// sees its end; and the closed fields are JSON if the whole text is.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{"path":"a\"b","offset":12}`, `{"a":[{"b":"}"}],"ü":"\ud83d\ude00"} x`, `{}`, `{}{"a":1}`, ` {"a" : null }`, `{"a":]}`, `[{"a":1}]`} {
		f.Add(s, uint(3))
	}
	f.Fuzz(func(t *testing.T, text string, step uint) {
		var whole, cut Object
		a := write(&whole, text)
		var cuts []int
		for at := 1 + int(step%7); at < len(text); at += 1 + int(step%7) {
			cuts = append(cuts, at)
		}
		b := write(&cut, text, cuts...)
		if a != b || fmt.Sprintf("%+v", whole) != fmt.Sprintf("%+v", cut) {
			t.Fatalf("whole %q %+v\ncut %q %+v", a, whole, b, cut)
		}
		dec := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if object := dec.Decode(&raw) == nil && raw[0] == '{'; object != whole.Closed() {
			t.Fatalf("%q: an object %t, closed %t", text, object, whole.Closed())
		}
		if !whole.Closed() {
			return
		}
		if want := text[:dec.InputOffset()]; whole.Text() != want || !json.Valid([]byte(whole.Soon())) {
			t.Fatalf("%q: holds %q, soon %q", text, whole.Text(), whole.Soon())
		}
		var now, soon map[string]json.RawMessage
		if json.Unmarshal([]byte(whole.Text()), &now) != nil || json.Unmarshal([]byte(whole.Soon()), &soon) != nil || fmt.Sprint(now) != fmt.Sprint(soon) {
			t.Fatalf("%q: soon %q", text, whole.Soon())
		}
	})
}
