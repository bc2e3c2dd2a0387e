package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"codeagent/model"
)

// packed returns the Content-Encoding of an answer, or "" without one. doer asks for none, because compression
// delays events, but some proxies compress all the same.
func packed(resp *http.Response) string {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header.Values("Content-Encoding"), ", ")))
	if coding == "identity" || resp.Body == http.NoBody {
		return ""
	}
	return coding
}

// packedWords says what an unsupported Content-Encoding is.
func packedWords(coding string) string {
	return clean(fmt.Sprintf("unsupported Content-Encoding %.40q from the server, or from a proxy before it, which was asked for none", coding))
}

// limitedBody fails when an answer that is not a stream exceeds limit bytes or maxMembers: its
// reader keeps all of it in memory.
type limitedBody struct {
	io.ReadCloser
	limit, read, members int
}

func (c *limitedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p[:min(len(p), c.limit-c.read+1)])
	c.members += bytes.Count(p[:n], []byte(","))
	switch c.read += n; {
	case c.read > c.limit:
		return 0, tooLarge(c.limit)
	case c.members > maxMembers:
		return 0, &model.Error{Kind: model.ServerFault, Message: fmt.Sprintf("the provider sent an answer of more than %d parts", maxMembers), Err: final{errEventSize}}
	}
	return n, err
}

func tooLarge(limit int) *model.Error {
	return &model.Error{Kind: model.ServerFault, Message: fmt.Sprintf("the provider sent an answer larger than %d MiB", limit>>20), Err: final{errEventSize}}
}

const (
	// smallEvent is the size below which any event is cheap to decode, in bytes.
	smallEvent = 64 << 10
	// maxEventMembers bounds the members of one event's lists and objects: each may
	// become a struct of some hundred bytes, so that 30 MB of "{}," would take 5 GB.
	maxEventMembers = 100_000
)

// overfull returns an error for JSON with more members than an answer needs; nil otherwise.
// It does not count commas in strings.
func overfull(data []byte) error {
	if len(data) <= smallEvent {
		return nil
	}
	members, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			members++
		}
	}
	if members <= maxEventMembers {
		return nil
	}
	return &model.Error{Kind: model.ServerFault, Message: fmt.Sprintf("the provider sent an event of more than %d members", maxEventMembers), Err: final{errEventSize}}
}
