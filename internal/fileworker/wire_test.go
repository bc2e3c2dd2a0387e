package fileworker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"testing"
)

func TestFramesCrossThePipeUnchanged(t *testing.T) {
	q := &request{op: opWrite, path: "/a\xff", to: "/b", paths: []string{"", "/c\x00"}, offset: -1, limit: 1 << 40,
		mode: 0o751, expect: Expect{Absent: true, Content: []byte{}, Version: "v", Parents: true}, flag: true, data: []byte("\x00\xff")}
	got, ok := decoded[request](encode(q))
	if !ok || !reflect.DeepEqual(got, q) {
		t.Errorf("request became %+v, %v", got, ok)
	}
	a := &answer{err: &Error{Op: "op", Path: "/p", Kind: Refused, Text: "text"}, info: Info{File, 0o600, 5, "v"}, data: []byte("d"),
		listings: []Listing{{Entries: []Entry{{"n\xff", Other}}, More: true, Err: &Error{Op: "list", Path: "/x", Kind: Absent, Text: "t"}}},
		contents: []content{{contentBinary, []byte{}}, {contentText, []byte("abc")}}}
	back, ok := decoded[answer](encode(a))
	if !ok || !reflect.DeepEqual(back, a) {
		t.Errorf("answer became %+v, %v", back, ok)
	}
}

func TestMalformedFrames(t *testing.T) {
	huge := binary.BigEndian.AppendUint32(nil, maxFrame+1)
	cut := binary.BigEndian.AppendUint32(nil, 1<<20)
	for name, in := range map[string][]byte{
		"half a length": {0, 0}, "longer than allowed": huge, "cut short": append(cut, "abc"...),
		"not a request": {0, 0, 0, 2, 0xff, 0xff}, "something follows": trailing(),
	} {
		if err := Serve(bytes.NewReader(in), io.Discard); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: Serve ended with %v", name, err)
		}
	}
	if err := Serve(bytes.NewReader(nil), io.Discard); err != nil {
		t.Errorf("end of file: %v", err)
	}
}

func trailing() []byte {
	body := append(encode(&request{op: opStat}), 0)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestUnknownOperation(t *testing.T) {
	_, err := start(t).ask(&request{op: "fly", path: "/x"})
	wantKind(t, err, Invalid)
}

func TestClientAfterTheWorkerEnded(t *testing.T) {
	r, w := io.Pipe()
	w.Close()
	c := NewClient(io.Discard, r)
	for range 2 {
		if _, err := c.Stat("/"); !errors.Is(err, ErrEnded) {
			t.Errorf("error %v, want ErrEnded", err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(&request{op: opStat, path: "/"}))
	f.Add(encode(&answer{contents: []content{{0, []byte("x")}}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, body []byte) {
		if q, ok := decoded[request](body); ok && !reflect.DeepEqual(q, must(decoded[request](encode(q)))) {
			t.Errorf("request %+v changes when sent again", q)
		}
		if a, ok := decoded[answer](body); ok && !reflect.DeepEqual(a, must(decoded[answer](encode(a)))) {
			t.Errorf("answer %+v changes when sent again", a)
		}
	})
}

func must[T any](v T, ok bool) T {
	if !ok {
		panic("what was encoded does not decode")
	}
	return v
}

func decoded[T any, M interface {
	*T
	message
}](body []byte) (*T, bool) {
	m := new(T)
	return m, decode(body, M(m))
}
