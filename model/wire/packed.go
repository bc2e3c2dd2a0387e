package wire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"codeagent/model"
)

// No compression is requested, because it delays events. But a request without
// Accept-Encoding allows any (RFC 9110, 12.5.3), and some proxies compress.

// unpack decodes the Content-Encoding of resp as it is read, or returns the name of an
// unsupported one.
func unpack(resp *http.Response) (unknown string) {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header.Values("Content-Encoding"), ", ")))
	switch {
	case coding == "", coding == "identity", resp.Body == http.NoBody:
		return ""
	case coding != "gzip" && coding != "x-gzip":
		return coding
	}
	resp.Body = &gzipBody{Closer: resp.Body, packed: bufio.NewReader(resp.Body)}
	resp.ContentLength = -1
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	return ""
}

// packedWords says what to do about an unsupported Content-Encoding.
func packedWords(coding string) string {
	return clean(fmt.Sprintf("unsupported Content-Encoding %.40q from the server, or from a proxy before it; "+
		"set the header Accept-Encoding: identity (headers in providers.NAME)", coding))
}

// gzipMagic begins every gzip file (RFC 1952, 2.3.1).
var gzipMagic = []byte{0x1f, 0x8b}

// gzipBody is a body that claims to be gzip. What the server flushes is available at once. A
// proxy may have decompressed the body and kept the header: no text begins like gzip, so such
// a body is passed through unchanged.
type gzipBody struct {
	io.Closer // of the compressed body
	packed    *bufio.Reader
	plain     io.Reader // nil before the first read
	err       error     // why plain is nil
}

func (u *gzipBody) Read(p []byte) (int, error) {
	if u.plain == nil && u.err == nil {
		u.begin()
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.plain.Read(p)
}

func (u *gzipBody) begin() {
	magic, err := u.packed.Peek(len(gzipMagic))
	switch {
	case bytes.Equal(magic, gzipMagic):
		z, err := gzip.NewReader(u.packed)
		if err != nil {
			u.err = err
			return
		}
		u.plain = z
	case err != nil && err != io.EOF:
		u.err = err
	default:
		u.plain = u.packed
	}
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
