package wire

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"codeagent/model"
)

// hidden is hostile text in one line and without the secrets. It comes before
// any cut: a cut through a secret would leave a part that no search finds.
func (t *transport) hidden(text string) string {
	// Once as it came and once without the characters that are not seen: those
	// must not hold a secret apart until it is shown without them.
	return t.replaced(oneLine(t.replaced(text)))
}

// replaced is text with a mark for each secret, the longest first: one may be
// the beginning of another.
func (t *transport) replaced(text string) string {
	for _, s := range t.secrets() {
		text = strings.ReplaceAll(text, s, "[secret]")
	}
	return text
}

// secrets are all there are, the longest first.
func (t *transport) secrets() []string {
	all := slices.DeleteFunc(slices.Concat(t.keys.secrets(), t.Secrets), func(s string) bool { return s == "" })
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}

// head reads the beginning of a failed answer.
func (t *transport) head(src io.Reader) []byte {
	body, _ := io.ReadAll(io.LimitReader(src, maxErrorBody+1))
	return t.bounded(body)
}

// bounded is the beginning of body. Where it is cut, it ends before a secret that
// begins there.
func (t *transport) bounded(body []byte) []byte {
	if len(body) <= maxErrorBody {
		return body
	}
	body = body[:maxErrorBody]
	end := len(body)
	for _, s := range t.secrets() {
		for n := min(len(s), len(body)); n > 0; n-- {
			if bytes.HasSuffix(body, []byte(s[:n])) {
				end = min(end, len(body)-n)
				break
			}
		}
	}
	return body[:end]
}

// failure is the typed error of f.
func (t *transport) failure(status int, h http.Header, f fault) *model.Error {
	f.message = t.hidden(f.message)
	return t.scrubbed(classify(status, h, f, time.Now()))
}

// scrubbed drops an inner error that shows a secret; what e says itself comes
// from hidden.
func (t *transport) scrubbed(e *model.Error) *model.Error {
	e.Message = t.replaced(e.Message)
	if e.Err != nil && t.replaced(e.Err.Error()) != e.Err.Error() {
		e.Err = nil
	}
	return e
}
