package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"codeagent/model"
)

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func coding(name string) http.Header { return http.Header{"Content-Encoding": {name}} }

const (
	plainStream = "data: {\"choices\":[1]}\n\ndata: {\"choices\":[2]}\n\ndata: [DONE]\n\n"
	plainFault  = `{"error":{"message":"no such field"}}`
)

// TestPackedAnswers: unrequested gzip is decoded, and any other Content-Encoding is a final
// error.
func TestPackedAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		coding  string
		in      string
		want    string
		kind    model.ErrorKind
		says    string
		retries bool
	}{
		"gzip":                 {200, "gzip", zipped(t, plainStream), plainStream, "", "", false},
		"in capitals":          {200, " GZIP", zipped(t, plainStream), plainStream, "", "", false},
		"its old name":         {200, "x-gzip", zipped(t, plainStream), plainStream, "", "", false},
		"in two members":       {200, "gzip", zipped(t, plainStream[:30]) + zipped(t, plainStream[30:]), plainStream, "", "", false},
		"unpacked on the way":  {200, "gzip", plainStream, plainStream, "", "", false},
		"identity":             {200, "identity", plainStream, plainStream, "", "", false},
		"one JSON answer":      {200, "gzip", zipped(t, `{"choices":[]}`), "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", "", "", false},
		"a refusal":            {400, "gzip", zipped(t, plainFault), "", model.BadRequest, "no such field", false},
		"a web page":           {200, "gzip", zipped(t, "<html><title>Welcome</title></html>"), "", model.ServerFault, "Welcome", false},
		"a damaged head":       {200, "gzip", "\x1f\x8bxxxxxxxxxxxx", "", model.Transport, "gzip: invalid header", true},
		"damaged":              {200, "gzip", zipped(t, plainStream)[:10] + strings.Repeat("\xff", 40), "", model.Transport, "flate", true},
		"brotli":               {200, "br", "\x8b\x00", "", model.ServerFault, `"br"`, false},
		"twice":                {200, "gzip, gzip", "\x8b\x00", "", model.ServerFault, `"gzip, gzip"`, false},
		"a refusal in zstd":    {401, "zstd", "\x28\xb5\x2f\xfd", "", model.SignIn, `"zstd"`, false},
		"overloaded in brotli": {503, "br", "\x28\xb5\x2f\xfd", "", model.ServerFault, `"br"`, true},
	} {
		got, err := body(t, &transport{Base: answers(c.status, coding(c.coding), strings.NewReader(c.in))})
		e := new(model.Error)
		switch {
		case c.kind == "":
			if got != c.want || err != nil {
				t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
			}
		case !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.says):
			t.Errorf("%s: %q, %#v; want %s that says %q", name, got, err, c.kind, c.says)
		case (e.Retryable() && !errors.As(err, &final{})) != c.retries:
			t.Errorf("%s: tried again: %v", name, !c.retries)
		}
	}
}

// TestPackedEventsComeAtOnce: what the server flushes is available before it sends more.
func TestPackedEventsComeAtOnce(t *testing.T) {
	t.Parallel()
	from, to := io.Pipe()
	defer time.AfterFunc(time.Minute, func() { from.CloseWithError(errors.New("nothing came")) }).Stop()
	heard := make(chan bool)
	events := []string{"data: {\"choices\":[1]}\n\n", "data: {\"choices\":[2]}\n\n", "data: [DONE]\n\n"}
	go func() { // ends with the events, or with from
		z := gzip.NewWriter(to)
		for _, event := range events {
			_, _ = io.WriteString(z, event)
			_ = z.Flush()
			<-heard
		}
		_ = z.Close()
		_ = to.Close()
	}()
	resp, err := (&transport{Base: answers(200, coding("gzip"), from)}).RoundTrip(request(t.Context(), t))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, event := range events {
		got := make([]byte, len(event))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != event {
			t.Fatalf("%q, %v; want %q", got, err, event)
		}
		heard <- true
	}
	if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d bytes, %v", n, err)
	}
}

// TestPackedListIsBounded: a small body that decompresses to a large one is bounded.
func TestPackedListIsBounded(t *testing.T) {
	t.Parallel()
	bomb := zipped(t, strings.Repeat(" ", 1<<20))
	req := request(t.Context(), t)
	req.Header.Set("Accept", "application/json")
	for limit, fits := range map[int]bool{1 << 20: true, 1<<20 - 1: false} {
		resp, err := (&transport{Base: answers(200, coding("gzip"), strings.NewReader(bomb)), MaxEvent: limit}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if e := new(model.Error); fits && (err != nil || len(got) != 1<<20) || !fits && (!errors.As(err, &e) || len(got) > limit) {
			t.Errorf("limit %d: %d bytes, %v", limit, len(got), err)
		}
	}
	// A compressed event has the same bound as any other.
	_, err := body(t, &transport{Base: answers(200, coding("gzip"), strings.NewReader(bomb)), MaxEvent: 64 << 10})
	if !errors.Is(err, errEventSize) {
		t.Errorf("an event of a megabyte: %v", err)
	}
}

// TestPackedAndCutOff: wherever a compressed answer ends, the complete events are delivered
// and the end is an error.
func TestPackedAndCutOff(t *testing.T) {
	t.Parallel()
	all := zipped(t, plainStream)
	for n := range len(all) {
		got, err := body(t, &transport{Base: answers(200, coding("gzip"), strings.NewReader(all[:n]))})
		if !strings.HasPrefix(plainStream, got) || err == nil && got != plainStream || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %q, %v", n, len(all), got, err)
		}
	}
}
