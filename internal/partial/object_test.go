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

func TestObject(t *testing.T) {
	for _, c := range []struct {
		text  string
		state state
	}{
		{``, open},
		{` `, open},
		{`{`, open},
		{`{"path`, open},
		{`{"path":`, open},
		{`{"path":"a\"`, open},
		{`{"path":"a\\"`, open},
		{`{"path":"a"`, open},
		{`{"path":"a" , "off`, open},
		{`{"path":"ü\u00`, open},
		{`{"path":"{\"x\":1}"`, open},
		{`{"offset":1`, open},
		{`{"offset":1,`, open},
		{`{"offset": 1 }`, closed},
		{`{"a":true,"b":[1,{"c":"]"}]`, open},
		{`{"a":{"b":"c"}`, open},
		{`{"a":{"b":"c"`, open},
		{`{"a":"b","a":"c"`, open},
		{`{}`, closed},
		{` { }`, closed},
		{`{"a":1}`, closed},
		{`{"a":]}`, broken},
		{`{"a":1]`, broken},
		{`{"a":}`, broken},
		{"{\"a\":\"\n\"}", broken},
		{`[1]`, broken},
		{`"{\"a\":1}"`, broken},
		{`null`, broken},
		{`}`, broken},
	} {
		var o Object
		if taken := write(&o, c.text); taken != c.text || o.Text() != c.text || o.Len() != len(c.text) {
			t.Errorf("%s: took %q, holds %q", c.text, taken, o.Text())
		}
		if o.state != c.state || o.Closed() != (c.state == closed) {
			t.Errorf("%s: state %d, want %d", c.text, o.state, c.state)
		}
	}
}

func TestWhatFollowsIsNotPartOfIt(t *testing.T) {
	var o Object
	if taken := write(&o, ` {"a":1} {"a":2}`, 8); taken != ` {"a":1}` || o.Text() != taken || !o.Closed() {
		t.Errorf("took %q, holds %q", taken, o.Text())
	}
}

// However a text is cut, the result is the same; and an object closes exactly where encoding/json
// sees its end.
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
		if want := text[:dec.InputOffset()]; whole.Text() != want {
			t.Fatalf("%q: holds %q", text, whole.Text())
		}
	})
}
