package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"codeagent/model"
)

const (
	// defaultIdle is how long a provider may be silent: reasoning models are silent for minutes.
	defaultIdle = 5 * time.Minute
	// maxEvent bounds an event, and an answer that is not a stream, in bytes.
	maxEvent = 32 << 20
	// maxErrorBody is how many bytes of a failed answer are read.
	maxErrorBody = 64 << 10
	// maxList bounds a list of models in bytes, and maxMembers its commas: a list of nothing but
	// commas would take a hundred times its size in memory. Any process that listens on a port of
	// this machine may be asked for its models.
	maxList, maxMembers = 8 << 20, 300_000
)

// errPacked is final: the same request would get the same answer.
var errPacked = errors.New("unsupported Content-Encoding")

// transport is an http.RoundTripper for model providers. It returns either an answer whose
// body is a clean event stream, or a *model.Error:
//   - a status of 300 and above is returned as an error and not as a response,
//     because every caller needs the typed error, and the headers it is made from
//     (Retry-After) do not survive the client library above;
//   - gzip is decoded, requested or not; any other Content-Encoding is an error;
//   - the body holds only "data: JSON" lines with a blank line after each, and
//     "data: [DONE]" where the provider sent it. A single JSON answer becomes
//     one event. Reading fails with a *model.Error for an error event, a web
//     page, an event above 32 MiB, a broken connection and silence, and with
//     io.ErrUnexpectedEOF when the stream ends without [DONE].
type transport struct {
	// Base makes the requests, see NewBase.
	Base http.RoundTripper
	// Idle is how long the provider may be silent, before its answer and within it. It may send
	// only comments for three times as long. 0: defaultIdle; negative: no limit.
	Idle time.Duration
	// Secrets are removed from every error's text.
	Secrets []string
	// MaxEvent bounds one event in bytes; 0: 32 MiB.
	MaxEvent int

	keys *keyring // nil: no KeyFrom; its keys count as Secrets too
}

// NewBase returns the http.Transport for model providers: proxies from the
// environment, short dial and TLS limits, no compression (it delays events),
// and a ping that detects a connection that died while the machine slept.
func NewBase() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		TLSHandshakeTimeout:    15 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    4,
		MaxResponseHeaderBytes: 1 << 20,
		DisableCompression:     true,
	}
}

// unsendable returns the error of a header that net/http would not send, as a key of two lines. To
// net/http it is a failed connection, which would be retried.
func unsendable(h http.Header) error {
	for name, values := range h {
		for _, v := range values {
			if !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				continue
			}
			if name == "Authorization" {
				return &model.Error{Kind: model.SignIn, Message: "the API key has a line break or another control character in it, and was not sent"}
			}
			return &model.Error{Kind: model.BadRequest, Message: "the header " + clean(name) + " has a line break or another control character in its value, and was not sent"}
		}
	}
	return nil
}

// RoundTrip sends one request. See transport.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := unsendable(req.Header); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &idleReader{ctx: ctx, cancel: cancel, idle: t.Idle}
	if w.idle == 0 {
		w.idle = defaultIdle
	}
	w.bytes.set(w, 1)
	resp, err := t.Base.RoundTrip(req.WithContext(ctx))
	w.bytes.off()
	if err != nil {
		err = t.typed(req.Context(), w.why(err), "cannot reach the provider")
		cancel(nil)
		return nil, err
	}
	packed := unpack(resp)
	w.body = resp.Body
	if resp.StatusCode >= 300 || resp.StatusCode < 200 {
		err := t.refusal(req, resp, w, packed)
		_ = w.Close()
		return nil, err
	}
	if packed != "" {
		_ = w.Close()
		return nil, &model.Error{Kind: model.ServerFault, Status: resp.StatusCode, Message: packedWords(packed), Err: final{errPacked}}
	}
	limit := t.MaxEvent
	if limit <= 0 {
		limit = maxEvent
	}
	if req.Header.Get("Accept") == "application/json" {
		resp.Body = &limitedBody{ReadCloser: w, limit: min(limit, maxList)} // not a stream: the list of models
		return resp, nil
	}
	resp.Body = &answerBody{t: t, ctx: req.Context(), src: w, status: resp.StatusCode, header: resp.Header, limit: limit}
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	return resp, nil
}

// refusal returns the typed error of an answer that is not a success; packed is its
// Content-Encoding if that is unsupported.
func (t *transport) refusal(req *http.Request, resp *http.Response, w *idleReader, packed string) error {
	body := t.head(w)
	if req.Context().Err() != nil {
		return req.Context().Err()
	}
	f, _ := readFault(body) // without a body the status is enough
	if packed != "" {
		f = fault{message: "the reason is unreadable: " + packedWords(packed)}
	}
	if resp.StatusCode < 400 {
		f.page, f.message = false, fmt.Sprintf("the server does not answer here, it points to %q; set the base URL to the right place", resp.Header.Get("Location"))
	}
	return t.failure(resp.StatusCode, resp.Header, f)
}

// typed converts err to a *model.Error, or to the context's error when ctx is done.
func (t *transport) typed(ctx context.Context, err error, during string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return t.scrubbed(unreachable(err, during, t.hidden))
}

// answerBody is the body of an answer.
type answerBody struct {
	t      *transport
	ctx    context.Context
	src    *idleReader
	status int
	header http.Header
	limit  int

	events *events
	out    []byte // the bytes for the next reads
	rest   []byte // the storage of out
	single []byte // a JSON answer in place of a stream
	done   bool   // [DONE] has been passed on
	err    error
}

func (r *answerBody) Read(p []byte) (int, error) {
	if len(r.out) == 0 {
		r.src.events.set(r.src, commentsOnly)
		defer r.src.events.off()
	}
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.rest = r.rest[:0]
		r.err = r.step()
		if r.err != nil && r.err != io.EOF && r.err != io.ErrUnexpectedEOF {
			r.err = r.t.typed(r.ctx, r.err, "the stream broke")
		}
		r.out = r.rest
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// Close ends the answer.
func (r *answerBody) Close() error {
	if r.done {
		r.src.drain()
	}
	return r.src.Close()
}

// step appends the next event to rest, or returns how the stream ended.
func (r *answerBody) step() error {
	if r.events == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	if r.done {
		return io.EOF
	}
	if r.single != nil {
		r.emit(r.single)
		r.done, r.single = true, nil
		r.emit(done)
		return nil
	}
	ev, err := r.events.next()
	switch {
	case errors.Is(err, errEventSize):
		return &model.Error{Kind: model.ServerFault, Message: fmt.Sprintf("the provider sent an event larger than %d MiB", r.limit>>20), Err: final{err}}
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	data := bytes.TrimSpace(ev.data)
	if len(data) == 0 {
		return nil
	}
	if bytes.Equal(data, done) {
		r.done = true
		r.emit(done)
		return nil
	}
	if err := overfull(data); err != nil {
		return err
	}
	return r.pass(ev.name, data)
}

// pass emits one event's JSON, or returns the error that the event reports. Only events that
// could be errors are parsed here.
func (r *answerBody) pass(name string, data []byte) error {
	if name == "error" || bytes.Contains(data, []byte(`"error"`)) || !(bytes.Contains(data, []byte(`"choices"`)) || bytes.Contains(data, []byte(`"type":"response.`))) {
		if e := r.reported(name, data); e != nil {
			return e
		}
	}
	r.emit(onOneLine(data))
	return nil
}

// onOneLine returns JSON on one line, for a client library that reads line by line, and as
// valid UTF-8, because it may be sent back to the provider unchanged.
func onOneLine(data []byte) []byte {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	for _, end := range [...]byte{'\n', '\r'} {
		if bytes.IndexByte(data, end) >= 0 {
			data = bytes.ReplaceAll(data, []byte{end}, []byte(" "))
		}
	}
	return data
}

// reported returns the error that an event reports, or nil.
func (r *answerBody) reported(name string, data []byte) error {
	if data[0] == '<' {
		data = r.t.bounded(data)
	}
	f, bad := readFault(data)
	isJSON := data[0] == '{' || data[0] == '['
	if name == "error" || bad && (f.failed || isJSON && (bytes.Contains(data, []byte(`"error"`)) || looksFlat(f))) {
		return r.t.failure(0, r.header, f)
	}
	return nil
}

// looksFlat recognises an error without an "error" member: it has a code or a type that
// says so. Other events may contain a text too.
func looksFlat(f fault) bool {
	if f.status != 0 || len(f.codes) == 0 {
		return f.status != 0 || f.message != ""
	}
	return hasAny(strings.Join(f.codes, " "), []string{"error", "exceeded", "invalid", "limit", "failed"})
}

// emit appends an event to rest.
func (r *answerBody) emit(data []byte) {
	r.rest = append(r.rest, "data: "...)
	if bytes.HasPrefix(data, []byte(`{"error":`)) {
		// This event is not an error ("error":null comes first in it), but go-openai checks for
		// exactly these bytes.
		r.rest = append(r.rest, "{ "...)
		data = data[1:]
	}
	r.rest = append(r.rest, data...)
	r.rest = append(r.rest, "\n\n"...)
}

// begin examines the first bytes: providers and proxies send web pages and single JSON
// answers with status 200 and any content type.
func (r *answerBody) begin() error {
	head := make([]byte, 0, 512)
	first := byte(0)
	var err error
	for first == 0 && err == nil && len(head) < cap(head) {
		var n int
		n, err = r.src.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		text := bytes.TrimLeft(bytes.TrimPrefix(head, bom), " \t\r\n")
		if len(text) > 0 && !bytes.HasPrefix(bom, head) {
			first = text[0]
		}
	}
	src := io.MultiReader(bytes.NewReader(head), r.src)
	switch {
	case first == '<', strings.HasPrefix(strings.ToLower(r.header.Get("Content-Type")), "text/html"):
		page := shortened(r.t.hidden(pageText(string(r.t.head(src)))))
		return &model.Error{
			Kind: model.ServerFault, Status: r.status,
			Message: clean("the server answered with " + page + "; is the base URL that of a model API?"),
			Err:     final{errors.New("not a model API")},
		}
	case first == '{', first == '[':
		body, err := io.ReadAll(io.LimitReader(src, int64(r.limit)+1))
		if err != nil {
			return err
		}
		if len(body) > r.limit {
			return tooLarge(r.limit)
		}
		if err := overfull(body); err != nil {
			return err
		}
		if f, bad := readFault(body); bad {
			return r.t.failure(0, r.header, f)
		}
		r.single = onOneLine(bytes.TrimPrefix(body, bom))
		src = bytes.NewReader(nil)
	}
	r.events = newEvents(src, r.limit)
	return nil
}
