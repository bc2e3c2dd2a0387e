package wire

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"codeagent/model"
)

// endless is begin and then the same again and again; given counts its bytes.
type endless struct {
	begin, again string
	at, given    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.begin)
	e.begin = e.begin[n:]
	for ; n < len(p); n++ {
		p[n] = e.again[e.at%len(e.again)]
		e.at++
	}
	e.given += n
	return n, nil
}

func lists(body io.Reader) *endpoint {
	return newEndpoint(Options{
		BaseURL: "http://provider.invalid/v1",
		HTTP:    &http.Client{Transport: answers(200, http.Header{}, body)},
	}, "/chat/completions")
}

// TestAListOfModelsHasAnEnd: any process that listens on a port of this machine may be asked
// for one, and must not fill codeagent's memory.
func TestAListOfModelsHasAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		body endless
		most int // bytes that may be asked for
	}{
		"one name":     {endless{begin: `{"data":[{"id":"`, again: strings.Repeat("a", 1<<10)}, maxList},
		"blanks":       {endless{begin: `{"data":[`, again: strings.Repeat(" ", 1<<10)}, maxList},
		"small models": {endless{begin: `{"data":[`, again: "{},"}, 3 * maxMembers},
		"no models":    {endless{begin: `{"data":[`, again: "0,"}, 2 * maxMembers},
	} {
		_, err := lists(&c.body).Models(t.Context())
		e := new(model.Error)
		if !errors.As(err, &e) || !errors.Is(err, errEventSize) || !strings.Contains(e.Message, "the provider sent an answer") {
			t.Errorf("%s: %v", name, err)
		}
		// The last read may be as large as all before it.
		if most := min(2*c.most, maxList) + 1; c.body.given > most {
			t.Errorf("%s: %d bytes were read, want at most %d", name, c.body.given, most)
		}
	}
}

func TestNamesOfModels(t *testing.T) {
	got, err := lists(strings.NewReader(`{"data":[{"id":"a"},{"id":"` + strings.Repeat("x", maxName+1) + `"},{"id":"b"}]}`)).Models(t.Context())
	if err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%.200q, %v", got, err)
	}
}

// TestEmbed: one vector for one text, or an error; any process that listens may answer, without end too.
func TestEmbed(t *testing.T) {
	v, err := lists(strings.NewReader(`{"data":[{"index":0,"embedding":[0.5,-1]}]}`)).Embed(t.Context(), "m", "text")
	if err != nil || !slices.Equal(v, []float32{0.5, -1}) {
		t.Errorf("%v, %v", v, err)
	}
	for name, body := range map[string]io.Reader{
		"none": strings.NewReader(`{"data":[]}`), "two": strings.NewReader(`{"data":[{"embedding":[1]},{"embedding":[2]}]}`),
		"a page": strings.NewReader("<html>sign in</html>"), "no end": &endless{begin: `{"data":[{"embedding":[0`, again: ",1"},
	} {
		e := new(model.Error)
		if v, err := lists(body).Embed(t.Context(), "m", "text"); !errors.As(err, &e) || v != nil {
			t.Errorf("%s: %d numbers, %v", name, len(v), err)
		}
	}
}
