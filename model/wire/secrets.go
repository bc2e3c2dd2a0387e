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

// hidden converts hostile text to one line without the secrets. It must run before
// any cut: the rest of a cut secret would not be found.
func (t *transport) hidden(text string) string {
	// Search the text as it came, and again without its invisible characters: these could
	// split a secret that is whole once they are removed.
	return t.replaced(oneLine(t.replaced(text)))
}

// replaced returns text with a mark for each secret, the longest first, since one may be the
// beginning of another.
func (t *transport) replaced(text string) string {
	for _, s := range t.secrets() {
		text = strings.ReplaceAll(text, s, "[secret]")
	}
	return text
}

// secrets returns all secrets, the longest first.
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

// bounded returns the beginning of body. It cuts before a secret, not inside one.
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

// failure returns the typed error of f.
func (t *transport) failure(status int, h http.Header, f fault) *model.Error {
	f.message = t.hidden(f.message)
	return t.scrubbed(classify(status, h, f, time.Now()))
}

// scrubbed drops an inner error that shows a secret; the text of e itself comes from hidden.
func (t *transport) scrubbed(e *model.Error) *model.Error {
	e.Message = t.replaced(e.Message)
	if e.Err != nil && t.replaced(e.Err.Error()) != e.Err.Error() {
		e.Err = nil
	}
	return e
}
