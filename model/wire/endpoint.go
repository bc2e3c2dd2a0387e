package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"codeagent/model"
)

const (
	// minSecret is the shortest key that is cut out of error texts; a local server's key may
	// be "x".
	minSecret = 6
	// listTime bounds the request for the list of models.
	listTime = 30 * time.Second
	// maxName is the longest accepted name of a model.
	maxName = 512
)

// Options describes a provider.
type Options struct {
	// BaseURL is the URL before "/chat/completions" or "/responses", such as
	// https://api.openai.com/v1. Its query is kept.
	BaseURL string
	// Key is sent as a bearer token; if empty, no token is sent.
	Key string
	// KeyFrom, if set, returns the key instead. It is called for the first request, and again
	// when the provider rejects the key.
	KeyFrom func(context.Context) (string, error)
	// Header is sent with every request.
	Header http.Header
	// HTTP, if set, provides the transport; its other fields are not used.
	HTTP *http.Client
	// Retry is the retry policy; the zero value is the default one.
	Retry Retry
	// SearchTool is the type of the tool by which the provider's models search the web; "": the API's own way.
	SearchTool string
	// IdleTimeout is how long the provider may be silent; 0: 5 minutes.
	IdleTimeout time.Duration
}

// endpoint is the provider of a Client, used through go-openai and a transport.
type endpoint struct {
	api  *openai.Client
	host string
	// searchTool is that of the options.
	searchTool string
	// source is the beginning of the Source of every Opaque from this provider; the model's
	// name follows.
	source string

	retry    Retry
	base     http.RoundTripper
	requests *doer                                    // below api
	listed   atomic.Pointer[map[string]model.Listing] // nil: not asked yet
	invalid  error                                    // why BaseURL cannot be used
}

func newEndpoint(o Options, path string) *endpoint {
	e := &endpoint{retry: o.Retry, base: NewBase(), searchTool: o.SearchTool}
	if o.HTTP != nil && o.HTTP.Transport != nil {
		e.base = o.HTTP.Transport
	}
	base, err := url.Parse(strings.TrimSpace(o.BaseURL))
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		e.invalid = &model.Error{Kind: model.BadRequest, Message: "the base URL must look like https://host/v1"}
		return e
	}
	e.host = base.Hostname()
	e.source = strings.TrimPrefix(path, "/") + " " + base.Host + " "
	d := &doer{header: o.Header, query: base.RawQuery}
	if o.KeyFrom != nil {
		d.keys = &keyring{from: o.KeyFrom}
	}
	d.http.Transport = &transport{Base: e.base, Idle: o.IdleTimeout, Secrets: secrets(o, base), keys: d.keys}
	base.RawQuery, base.Fragment = "", ""
	config := openai.DefaultConfig(o.Key)
	config.BaseURL = strings.TrimSuffix(strings.TrimRight(base.String(), "/"), path)
	config.HTTPClient = d
	e.requests = d
	e.api = openai.NewClientWithConfig(config)
	return e
}

// Close closes idle connections.
func (e *endpoint) Close() {
	if t, ok := e.base.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Models returns the models that the provider lists, in its order, without names that are
// too long. The error is a *model.Error.
func (e *endpoint) Models(ctx context.Context) ([]string, error) {
	if e.invalid != nil {
		return nil, e.invalid
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var whole bytes.Buffer
	if _, err := e.api.ListModels(context.WithValue(ctx, copied{}, &whole)); err != nil {
		return nil, asError(ctx, err)
	}
	return e.readList(whole.Bytes()), nil
}

// Embed returns the embedding of text by the model of that name. The error is a *model.Error.
func (e *endpoint) Embed(ctx context.Context, name, text string) ([]float32, error) {
	if e.invalid != nil {
		return nil, e.invalid
	}
	r, err := e.api.CreateEmbeddings(ctx, openai.EmbeddingRequestStrings{Input: []string{text}, Model: openai.EmbeddingModel(name), EncodingFormat: openai.EmbeddingEncodingFormatFloat})
	switch {
	case err != nil:
		return nil, asError(ctx, err)
	case len(r.Data) != 1:
		return nil, &model.Error{Kind: model.ServerFault, Message: fmt.Sprintf("the provider sent %d embeddings for one text", len(r.Data))}
	}
	return r.Data[0].Embedding, nil
}

// doer adds what go-openai has no option for, and follows no redirect: a redirected POST
// becomes a GET, and the key must not reach another host.
type doer struct {
	http   http.Client
	header http.Header
	query  string
	keys   *keyring // nil: go-openai has set the key
}

func (d *doer) Do(req *http.Request) (*http.Response, error) {
	if err := amend(req); err != nil {
		return nil, err
	}
	req.URL.RawQuery = d.query
	for k, v := range d.header {
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	send := d.http.Do
	if d.keys != nil {
		send = func(req *http.Request) (*http.Response, error) { return d.keys.send(req, d.http.Do) }
	}
	resp, err := send(req)
	if whole, ok := req.Context().Value(copied{}).(*bytes.Buffer); ok && err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, whole), resp.Body}
	}
	return resp, err
}

// secrets returns the texts that no error may show.
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
	for pair := range strings.SplitSeq(base.RawQuery, "&") {
		_, v, _ := strings.Cut(pair, "=")
		add(v) // both as sent and decoded
		if read, err := url.QueryUnescape(v); err == nil && read != v {
			add(read)
		}
	}
	return all
}

type amendment struct{}

// WithAmendment returns a context for one request whose body change may alter, for fields
// that go-openai does not have.
func WithAmendment(ctx context.Context, change func([]byte) ([]byte, error)) context.Context {
	return context.WithValue(ctx, amendment{}, change)
}

func amend(req *http.Request) error {
	change, ok := req.Context().Value(amendment{}).(func([]byte) ([]byte, error))
	if !ok || req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err == nil {
		body, err = change(body)
	}
	if err != nil {
		return fmt.Errorf("amend the request: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	return nil
}
