package wire

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"codeagent/model"
)

const (
	// minSecret is the length from which a key is cut out of error texts; a
	// local server's key may be "x".
	minSecret = 6
	// listTime is how long a provider may take to list its models.
	listTime = 30 * time.Second
	// maxName is the longest name of a model that is taken for one.
	maxName = 512
)

// Options say where a provider is.
type Options struct {
	// BaseURL ends where "/chat/completions" or "/responses" follows, such as
	// https://api.openai.com/v1. A query in it is kept.
	BaseURL string
	// Key is sent as a bearer token; empty: nothing is sent.
	Key string
	// KeyFrom, when set, is asked for the key instead: with the first request,
	// and again when the provider refuses what it gave.
	KeyFrom func(context.Context) (string, error)
	// Header is sent with every request.
	Header http.Header
	// HTTP, when set, gives the transport to use; its other fields are not used.
	HTTP *http.Client
	// Retry is the retry policy; the zero value is the default one.
	Retry Retry
	// IdleTimeout is how long the provider may say nothing; 0: 5 minutes.
	IdleTimeout time.Duration
}

// Endpoint is a provider that an adapter speaks to, through go-openai and a
// transport. It is safe for concurrent use.
type Endpoint struct {
	// API makes the requests.
	API *openai.Client
	// Host is the provider's name in the network, without a port.
	Host string
	// Source begins the Source of every Opaque that comes from here; the
	// model's name follows.
	Source string

	retry    Retry
	base     http.RoundTripper
	requests *doer // below API
	invalid  error // why BaseURL cannot be used
}

// NewEndpoint makes the Endpoint of an adapter whose requests go to path, which
// BaseURL may end in; a base URL that cannot be used is reported by Stream.
func NewEndpoint(o Options, path string) *Endpoint {
	e := &Endpoint{retry: o.Retry, base: NewBase()}
	if o.HTTP != nil && o.HTTP.Transport != nil {
		e.base = o.HTTP.Transport
	}
	base, err := url.Parse(strings.TrimSpace(o.BaseURL))
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		e.invalid = &model.Error{Kind: model.BadRequest, Message: "the base URL must look like https://host/v1"}
		return e
	}
	e.Host = base.Hostname()
	e.Source = strings.TrimPrefix(path, "/") + " " + base.Host + " "
	d := &doer{header: o.Header, query: base.RawQuery}
	if o.KeyFrom != nil {
		d.keys = &keyring{from: o.KeyFrom}
	}
	d.http.Transport = &transport{Base: e.base, Idle: o.IdleTimeout, Secrets: secrets(o, base), keys: d.keys, Batch: true}
	base.RawQuery, base.Fragment = "", ""
	config := openai.DefaultConfig(o.Key)
	config.BaseURL = strings.TrimSuffix(strings.TrimRight(base.String(), "/"), path)
	config.HTTPClient = d
	e.requests = d
	e.API = openai.NewClientWithConfig(config)
	return e
}

// Close closes the connections that are kept for later requests.
func (e *Endpoint) Close() {
	if t, ok := e.base.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Stream is Retry.Stream with the endpoint's policy.
func (e *Endpoint) Stream(ctx context.Context, try attempt) func(func(model.Delta, error) bool) {
	return e.retry.Stream(ctx, func(ctx context.Context, yield func(model.Delta) bool) error {
		if e.invalid != nil {
			return e.invalid
		}
		return try(ctx, yield)
	})
}

// Models asks the provider which models it serves, in its own order; what is too
// long to be a name is left out. The error is a *model.Error.
func (e *Endpoint) Models(ctx context.Context) ([]string, error) {
	if e.invalid != nil {
		return nil, e.invalid
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	list, err := e.API.ListModels(ctx)
	if err != nil {
		return nil, asError(ctx, err)
	}
	names := make([]string, 0, len(list.Models))
	for _, m := range list.Models {
		if len(m.ID) <= maxName {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

// doer adds what go-openai has no option for, and follows no redirect: a POST
// that becomes a GET elsewhere helps nobody, and the key is not for elsewhere.
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
	if d.keys != nil {
		return d.keys.send(req, d.http.Do)
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
	for pair := range strings.SplitSeq(base.RawQuery, "&") {
		_, v, _ := strings.Cut(pair, "=")
		add(v) // as it is sent, and as it is read
		if read, err := url.QueryUnescape(v); err == nil && read != v {
			add(read)
		}
	}
	return all
}
