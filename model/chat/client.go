// Package chat speaks Chat Completions, streamed, with any provider that
// offers it.
//
//	model.Request -> request.go -> go-openai -> wire.Transport -> provider
//	model.Delta   <- decode.go  <- RecvRaw   <- (repaired stream)
//
// go-openai builds and sends the request. The answer is decoded here, from its
// raw chunks, because providers send shapes that its types refuse.
package chat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"codeagent/model"
	"codeagent/model/wire"
)

const (
	// afterFinish is how long the usage may take once the answer is complete,
	// and afterUsage how long [DONE] may take after it; some servers keep the
	// connection open instead.
	afterFinish = 3 * time.Second
	afterUsage  = 200 * time.Millisecond
	// minSecret is the length from which a key is cut out of error texts; a
	// local server's key may be "x".
	minSecret = 6
)

// Options say where the provider is.
type Options struct {
	// BaseURL ends where "/chat/completions" follows, such as
	// https://api.openai.com/v1. A query in it is kept.
	BaseURL string
	// Key is sent as a bearer token; empty: nothing is sent.
	Key string
	// Header is sent with every request.
	Header http.Header
	// HTTP, when set, gives the transport to use; its other fields are not used.
	HTTP *http.Client
	// Retry is the retry policy; the zero value is the default one.
	Retry wire.Retry
	// IdleTimeout is how long the provider may say nothing; 0: 5 minutes.
	IdleTimeout time.Duration
}

// Client asks one provider. It is safe for concurrent use.
type Client struct {
	api     *openai.Client
	base    http.RoundTripper
	host    string
	retry   wire.Retry
	invalid error // why BaseURL cannot be used

	mu     sync.Mutex
	quirks quirks // guarded by mu; what this provider has refused so far
}

// New makes a Client; a base URL that cannot be used is reported by Stream.
func New(o Options) *Client {
	c := &Client{retry: o.Retry, base: wire.NewBase()}
	if o.HTTP != nil && o.HTTP.Transport != nil {
		c.base = o.HTTP.Transport
	}
	base, err := url.Parse(strings.TrimSpace(o.BaseURL))
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		c.invalid = &model.Error{Kind: model.BadRequest, Message: "the base URL must look like https://host/v1"}
		return c
	}
	c.host = base.Hostname()
	d := &doer{header: o.Header, query: base.RawQuery}
	d.http.Transport = &wire.Transport{Base: c.base, Idle: o.IdleTimeout, Secrets: secrets(o, base), Batch: true}
	base.RawQuery, base.Fragment = "", ""
	config := openai.DefaultConfig(o.Key)
	config.BaseURL = strings.TrimSuffix(strings.TrimRight(base.String(), "/"), "/chat/completions")
	config.HTTPClient = d
	c.api = openai.NewClientWithConfig(config)
	return c
}

// Close closes the connections that are kept for later requests.
func (c *Client) Close() {
	if t, ok := c.base.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Stream asks the model and yields its answer. The last delta of an answer is
// model.Finished; after a model.Retrying the answer begins anew. It yields at
// most one error, last: a *model.Error, or the context's own error when ctx is
// done.
func (c *Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return c.retry.Stream(ctx, func(ctx context.Context, yield func(model.Delta) bool) error {
		if c.invalid != nil {
			return c.invalid
		}
		return c.attempt(ctx, req, yield)
	})
}

// attempt asks once, but for refusals that name a field the provider does not
// know: then it asks again without it.
func (c *Client) attempt(ctx context.Context, req model.Request, yield func(model.Delta) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		q := c.known()
		stream, err := c.api.CreateChatCompletionStream(ctx, c.request(req, q))
		if err != nil {
			if next, ok := q.after(err); ok {
				c.learn(next)
				continue
			}
			return err
		}
		defer stream.Close()
		return read(stream, newDecoder(req, yield), cancel)
	}
}

// read decodes the stream to its end. cancel gives up on a server that keeps
// the stream open after the answer is complete.
func read(stream *openai.ChatCompletionStream, d *decoder, cancel func()) error {
	var patience *time.Timer
	for {
		data, err := stream.RecvRaw()
		if err != nil {
			return d.end(err)
		}
		for more := true; more; {
			var event []byte
			if event, data, more = bytes.Cut(data, []byte{wire.Separator}); len(event) == 0 {
				continue
			}
			if err := d.chunk(event); err != nil {
				return err
			}
		}
		if d.reason == "" {
			continue
		}
		if patience == nil {
			patience = time.AfterFunc(afterFinish, cancel)
			defer patience.Stop()
		}
		if d.usage != (model.Usage{}) {
			patience.Reset(afterUsage)
		}
	}
}

func (c *Client) known() quirks {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quirks
}

func (c *Client) learn(q quirks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quirks = q
}

// doer adds what go-openai has no option for, and follows no redirect: a POST
// that becomes a GET elsewhere helps nobody, and the key is not for elsewhere.
type doer struct {
	http   http.Client
	header http.Header
	query  string
}

func (d *doer) Do(req *http.Request) (*http.Response, error) {
	req.URL.RawQuery = d.query
	for k, v := range d.header {
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	return d.http.Do(req)
}

// secrets are the texts that no error may show.
func secrets(o Options, base *url.URL) []string {
	var all []string
	add := func(s string) {
		if len(s) >= minSecret {
			all = append(all, s)
		}
	}
	add(o.Key)
	for k, values := range o.Header {
		if k = strings.ToLower(k); strings.Contains(k, "key") || strings.Contains(k, "auth") || strings.Contains(k, "token") || strings.Contains(k, "secret") || k == "cookie" {
			for _, v := range values {
				add(v)
				if _, token, ok := strings.Cut(v, " "); ok {
					add(token)
				}
			}
		}
	}
	if p, ok := base.User.Password(); ok {
		add(p)
	}
	for _, values := range base.Query() {
		for _, v := range values {
			add(v)
		}
	}
	return all
}

// eof reports whether err is the stream's own end, and whether it said so.
func eof(err error) (end, said bool) {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF)
}
