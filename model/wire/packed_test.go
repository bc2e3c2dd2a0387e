package wire

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"codeagent/model"
)

func coding(name string) http.Header { return http.Header{"Content-Encoding": {name}} }

const (
	plainStream = "data: {\"choices\":[1]}\n\ndata: {\"choices\":[2]}\n\ndata: [DONE]\n\n"
)

// TestPackedAnswers: a Content-Encoding is a final error.
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
		"identity":             {200, "identity", plainStream, plainStream, "", "", false},
		"gzip":                 {200, "gzip", "\x1f\x8b", "", model.ServerFault, `"gzip"`, false},
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
