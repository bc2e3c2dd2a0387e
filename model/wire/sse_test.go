package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func collect(r io.Reader, limit int) ([]string, error) {
	var got []string
	e := newEvents(r, limit)
	for {
		ev, err := e.next()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		s := string(ev.data)
		if ev.name != "" {
			s = ev.name + "|" + s
		}
		got = append(got, s)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"lf":                {"data: a\n\ndata: b\n\n", []string{"a", "b"}},
		"crlf":              {"data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		"cr":                {"data: a\r\rdata: b\r\r", []string{"a", "b"}},
		"mixed":             {"data: a\r\n\ndata: b\r\r\ndata: c\n\r", []string{"a", "b", "c"}},
		"bom":               {"\xEF\xBB\xBFdata: a\n\n", []string{"a"}},
		"short":             {"\n", nil},
		"comments":          {": hello\n\n:\ndata: a\n: x\n\n", []string{"a"}},
		"multi-line":        {"data: {\ndata: \"a\":1}\n\n", []string{"{\n\"a\":1}"}},
		"no space":          {"data:a\n\n", []string{"a"}},
		"one space only":    {"data:  a\n\n", []string{" a"}},
		"event name":        {"event: error\ndata: a\n\ndata: b\n\n", []string{"error|a", "b"}},
		"name without data": {"event: ping\n\ndata: b\n\n", []string{"b"}},
		"other fields":      {"id: 1\nretry: 2\nfoo\nbar: x\ndata: a\n\n", []string{"a"}},
		"unended line":      {"data: a\n\ndata: b", []string{"a", "b"}},
		"unended event":     {"data: a\n\ndata: b\n", []string{"a", "b"}},
		"single newlines":   {"data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n", []string{`{"a":1}`, `{"b":2}`, "[DONE]"}},
		"nested lines":      {"data: {\"a\":[{}\ndata: ]}\n\n", []string{"{\"a\":[{}\n]}"}},
		"empty data":        {"data\n\ndata:\n\n", []string{"", ""}},
		"nothing":           {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for way, r := range map[string]io.Reader{
				"whole":                  strings.NewReader(c.in),
				"byte":                   iotest.OneByteReader(strings.NewReader(c.in)),
				"data and error at once": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				got, err := collect(r, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("%s: %s", way, d)
				}
			}
		})
	}
}

func TestEventLimit(t *testing.T) {
	t.Parallel()
	limit := 100_000
	fits := "data: " + strings.Repeat("x", limit) + "\n\n"
	if got, err := collect(strings.NewReader(fits), limit); err != nil || len(got) != 1 || len(got[0]) != limit {
		t.Errorf("an event of exactly the limit: %d events, %v", len(got), err)
	}
	for name, in := range map[string]string{
		"one line":    "data: " + strings.Repeat("x", limit+1) + "\n\n",
		"many lines":  strings.Repeat("data: 0123456789\n", limit/10),
		"no line end": strings.Repeat("x", 2*limit),
	} {
		if _, err := collect(strings.NewReader(in), limit); !errors.Is(err, errEventSize) {
			t.Errorf("%s: error %v, want %v", name, err, errEventSize)
		}
	}
}

func TestEventsKeepTheSourcesError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := collect(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 1<<20)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %q, %v; want one event and the source's error", got, err)
	}
}

func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "data: {}\ndata: {}\r\r", "\xEF\xBB\xBFevent: x\r\ndata: 1\r\n\r\n", ":\n\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err1 := collect(strings.NewReader(in), 1000)
		bytewise, err2 := collect(iotest.OneByteReader(strings.NewReader(in)), 1000)
		if d := cmp.Diff(whole, bytewise); d != "" || (err1 == nil) != (err2 == nil) {
			t.Errorf("the cut of the reads changes the events: %s %v %v", d, err1, err2)
		}
		for _, s := range whole {
			if len(s) > 1000+65 {
				t.Errorf("an event of %d bytes passed a limit of 1000", len(s))
			}
		}
	})
}
