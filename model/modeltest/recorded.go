package modeltest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/model"
)

// recordings holds answers in the shapes that providers document, one folder per
// wire: NAME.sse is the stream, NAME.json the expected result.
//
//go:embed testdata
var recordings embed.FS

var update = flag.Bool("update-recorded", false, "rewrite what the recorded streams lead to")

// Connect makes an adapter over a transport. It must try Attempts times without a pause
// between attempts.
type Connect func(t *testing.T, base http.RoundTripper) Model

// cannedAnswers answers the requests in order with bodies, repeats the last one, and records the
// requests.
type cannedAnswers struct {
	bodies []io.Reader
	again  []byte

	mu    sync.Mutex
	asked [][]byte
}

func (c *cannedAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	asked, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, asked)
	var body io.Reader = bytes.NewReader(c.again)
	if len(c.bodies) > 0 {
		body, c.bodies = c.bodies[0], c.bodies[1:]
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body), Request: req}, nil
}

// broken returns err at the end of its text.
type broken struct {
	text io.Reader
	err  error
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

// streams returns the recorded answers of a wire by name.
func (w Wire) streams(t testing.TB) map[string][]byte {
	t.Helper()
	folder := path.Join("testdata", w.name)
	files, err := fs.Glob(recordings, folder+"/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", folder, err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		data, err := recordings.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(path.Base(file), ".sse")] = data
	}
	return all
}

// Recorded plays the recorded answers, and continues the conversation after
// each.
func Recorded(t *testing.T, w Wire, connect Connect) {
	for name, stream := range w.streams(t) {
		t.Run(name, func(t *testing.T) {
			c := &cannedAnswers{again: stream}
			m := connect(t, c)
			got, err := Collect(t, m.Stream(unhung(t), question()))
			if err != nil || got.Retries != 0 {
				t.Fatalf("%d retries, %v", got.Retries, err)
			}
			checkRecorded(t, w, name, got)
			w.goesOn(t, t.Context(), m, c, got)
		})
	}
}

// checkRecorded compares an answer with NAME.json.
func checkRecorded(t *testing.T, w Wire, name string, got Answer) {
	t.Helper()
	data, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	file := path.Join("testdata", w.name, name+".json")
	if *update {
		// Tests run in the adapter's folder.
		if err := os.WriteFile(filepath.Join("..", "modeltest", filepath.FromSlash(file)), data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := recordings.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(data)); d != "" {
		t.Error(d)
	}
}

// goesOn continues the conversation after got, as accepts does, and checks the requests that c
// recorded.
func (w Wire) goesOn(t *testing.T, ctx context.Context, m Model, c *cannedAnswers, got Answer) {
	t.Helper()
	next := question()
	next.Items = Continued(next.Items, got)
	before := len(c.asked)
	if _, err := Collect(t, m.Stream(ctx, next)); err != nil {
		t.Errorf("the conversation cannot go on: %v", err)
	}
	for _, body := range c.asked[before:] {
		if err := w.Valid(body); err != nil {
			t.Errorf("a strict provider refuses what follows: %v\n%.4000s", err, body)
		}
	}
}

// Switch continues the conversation after each recorded answer over another wire: it must
// hold nothing that only the first wire understands.
func Switch(t *testing.T, from Wire, connectFrom Connect, to Wire, connectTo Connect) {
	for name, stream := range from.streams(t) {
		t.Run(name, func(t *testing.T) {
			got, err := Collect(t, connectFrom(t, &cannedAnswers{again: stream}).Stream(unhung(t), question()))
			if err != nil {
				t.Fatal(err)
			}
			c := &cannedAnswers{again: to.streams(t)["minimal"]}
			to.goesOn(t, t.Context(), connectTo(t, c), c, got)
			for _, it := range got.Items {
				if it.Opaque == nil {
					continue
				}
				for _, m := range secret.FindAllSubmatch(it.Opaque.Data, -1) {
					if bytes.Contains(c.asked[0], m[1]) {
						t.Errorf("the other provider got %s", m[0])
					}
				}
			}
		})
	}
}

// secret matches what only the provider that sent it can read.
var secret = regexp.MustCompile(`"(?:encrypted_content|signature|thought_signature)":"([^"]+)"`)

// sparse is the distance between two cuts in bytes. It is a prime, so that cuts fall everywhere.
// The answer named minimal is cut after each byte instead. Every resets-th cut also breaks the
// connection.
const (
	sparse = 53
	resets = 3
)

// Cuts ends recorded answers early, by a regular end and by a broken connection: the answer
// is then the same, after a retry if it was not complete.
func Cuts(t *testing.T, w Wire, connect Connect) {
	for name, stream := range w.streams(t) {
		t.Run(name, func(t *testing.T) {
			step := sparse
			if name == "minimal" {
				step = 1
			}
			whole, err := Collect(t, connect(t, &cannedAnswers{again: stream}).Stream(t.Context(), question()))
			if err != nil {
				t.Fatal(err)
			}
			cuts, retried := 0, 0
			for n := 0; n < len(stream); n += step {
				ends := []error{io.EOF}
				if cuts%resets == 0 {
					ends = append(ends, errors.New("connection reset by peer"))
				}
				for _, end := range ends {
					c := &cannedAnswers{bodies: []io.Reader{&broken{bytes.NewReader(stream[:n]), end}}, again: stream}
					m := connect(t, c)
					got, err := Collect(t, m.Stream(t.Context(), question()))
					cuts++
					retried += got.Retries
					sameAnswer(t, fmt.Sprintf("cut after %d bytes, then %v", n, end), whole, got, err)
					if cuts%7 == 0 {
						w.goesOn(t, t.Context(), m, c, got)
					}
					if t.Failed() {
						return
					}
				}
			}
			if retried < cuts/3 { // the last events are long, and losing them is allowed
				t.Errorf("only %d of %d cuts were noticed", retried, cuts)
			}
		})
	}
}

// sameAnswer compares everything except what a cut after the end of the answer may lose:
// its usage and its Opaque values.
func sameAnswer(t *testing.T, what string, want, got Answer, err error) {
	t.Helper()
	if err != nil || got.Retries > 1 {
		t.Errorf("%s: %d retries, %v", what, got.Retries, err)
		return
	}
	want.Usage, got.Usage, want.Retries, got.Retries = model.Usage{}, model.Usage{}, 0, 0
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// Fuzz mutates and cuts recorded answers: the rules for deltas must hold, and the
// conversation must remain valid.
func Fuzz(f *testing.F, w Wire, connect Connect) {
	for _, stream := range w.streams(f) {
		f.Add(stream, uint16(len(stream)), uint16(0), []byte{})
		f.Add(stream, uint16(len(stream)/2), uint16(len(stream)/3), []byte("null"))
		f.Add(stream, uint16(len(stream)), uint16(len(stream)/2), []byte("\r\n\r\n"))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut, at uint16, junk []byte) {
		stream = bytes.Clone(stream[:min(int(cut), len(stream))])
		copy(stream[min(int(at), len(stream)):], junk)
		c := &cannedAnswers{again: stream}
		m := connect(t, c)
		got, err := Collect(t, m.Stream(t.Context(), question()))
		if errors.Is(err, context.DeadlineExceeded) {
			t.Error("it hung")
		}
		next := question()
		next.Items = Continued(next.Items, got)
		before := len(c.asked)
		_, _ = Collect(t, m.Stream(t.Context(), next))
		for _, body := range c.asked[before:] {
			if err := w.Valid(body); err != nil {
				t.Errorf("a strict provider refuses what follows: %v\n%.4000s", err, body)
			}
		}
	})
}

// dripReader returns its text in pieces of these sizes, repeated.
type dripReader struct {
	text  io.Reader
	sizes []byte
	n     int
}

func (d *dripReader) Read(p []byte) (int, error) {
	size := 1 + int(d.sizes[d.n%len(d.sizes)])
	d.n++
	return d.text.Read(p[:min(len(p), size)])
}

// FuzzPieces sends recorded answers, mutated or not, in pieces: the answer must not depend
// on how the bytes arrive.
func FuzzPieces(f *testing.F, w Wire, connect Connect) {
	for _, stream := range w.streams(f) {
		f.Add(stream, []byte{0})
		f.Add(stream, []byte{2, 0, 200, 7})
	}
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		if len(sizes) == 0 {
			return
		}
		again := w.streams(t)["minimal"]
		var got [2]Answer
		var errs [2]string
		for i, body := range []io.Reader{bytes.NewReader(stream), &dripReader{text: bytes.NewReader(stream), sizes: sizes}} {
			m := connect(t, &cannedAnswers{bodies: []io.Reader{body}, again: again})
			answer, err := Collect(t, m.Stream(t.Context(), question()))
			got[i], errs[i] = answer, fmt.Sprint(err)
		}
		if d := cmp.Diff(got[0], got[1]); d != "" || errs[0] != errs[1] {
			t.Errorf("the answer differs when it arrives in pieces: %s\n%s\n%s", d, errs[0], errs[1])
		}
	})
}
