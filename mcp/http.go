package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	rpc "codeagent/internal/jsonrpc"
	"codeagent/internal/short"
)

// OverHTTP connects to a server by streamable HTTP, and reads its tools. headers are sent with
// every request to the host of address, and to no other.
//
// Threat: headers hold secrets, so they are not sent in plain text over a network, and no
// redirect leads to another host.
func OverHTTP(ctx context.Context, address string, headers map[string]string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("MCP server %s: its url must be http:// or https:// with a host, and without a password", line(o.Name, maxName))
	}
	if u.Scheme == "http" && len(headers) > 0 && !loopback(u.Hostname()) {
		return nil, fmt.Errorf("MCP server %s: its headers would be sent in plain text; write https:// in its url", line(o.Name, maxName))
	}
	r := newRound(u, headers)
	r.name = line(o.Name, maxName)
	if !authorized(headers) && (u.Scheme == "https" || loopback(u.Hostname())) {
		r.signIn = o.SignIn
	}
	return overHTTP(ctx, u, r, o)
}

// overHTTP connects to the server at an address, over requests that r sends.
func overHTTP(ctx context.Context, at *url.URL, r *round, o Options) (*Client, error) {
	c := newClient(o)
	c.remote, r.forms = true, c.forms
	via := &http.Client{Transport: r, CheckRedirect: sameHost}
	return c.start(ctx, &sdk.StreamableClientTransport{Endpoint: at.String(), HTTPClient: via, MaxEventSize: maxLine})
}

// authorized reports whether headers say themselves who sends them.
func authorized(headers map[string]string) bool {
	for name := range headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// loopback reports a host on this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// errElsewhere ends a request that is redirected to another host.
var errElsewhere = errors.New("it redirects to another address, which is not followed; write that address in its url")

// sameHost follows a redirect to the same scheme and host alone.
func sameHost(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if len(before) > 3 || next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
		return errElsewhere
	}
	return nil
}

// round sends requests with the server's headers, and bounds the answers.
type round struct {
	name    string // of the server, as configured
	at      *url.URL
	headers map[string]string
	signIn  SignIn // nil: no token is sent
	next    http.RoundTripper
	forms   *forms // Client.forms

	rate  meter         // of all answers together
	again *rate.Limiter // of streams that are opened anew: the server says how soon
}

func newRound(at *url.URL, headers map[string]string) *round {
	return &round{at: at, headers: headers, rate: newMeter(), again: rate.NewLimiter(1, 20), next: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
	}}
}

// RoundTrip is part of http.RoundTripper.
func (r *round) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if req.Method == http.MethodGet {
		if err := wait(ctx, r.again.Reserve().Delay()); err != nil {
			return nil, err
		}
	}
	resp, err := r.send(req)
	if err != nil {
		return nil, err
	}
	forbidden := resp.StatusCode == http.StatusForbidden
	switch {
	case resp.StatusCode == http.StatusUnauthorized, forbidden && resp.Header.Get("WWW-Authenticate") != "":
		resp.Body.Close()
		return nil, fmt.Errorf("%w: it answered HTTP %d; codeagent mcp login %s signs in, or set its headers in the settings", ErrSignIn, resp.StatusCode, r.name)
	case forbidden: // often a server on this machine that wants to be called by another name
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxTitle))
		resp.Body.Close()
		return nil, fmt.Errorf("it refused the request (HTTP 403), with the words %q: check its url and headers", line(strings.TrimSpace(string(said)), maxTitle))
	case resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "":
		// Whatever a body says beside it, 404 means that the session is gone.
		resp.Body.Close()
		resp.Body = http.NoBody
	default:
		kind, _, _ := strings.Cut(strings.ToLower(resp.Header.Get("Content-Type")), ";")
		kind = strings.TrimSpace(kind)
		stream := strings.HasPrefix(kind, "text/event-stream")
		if resp.StatusCode == http.StatusOK && !stream && kind != "application/json" && kind != "" && isAnswered(req) {
			resp.Body.Close()
			return nil, fmt.Errorf("%w: unsupported content type %q", errNoServer, line(kind, maxError))
		}
		bounded, end := &body{ReadCloser: resp.Body, round: r, ctx: ctx, stream: stream}, byte(0) // which JSON does not have
		if stream {
			end = '\n'
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{&noting{r: bufio.NewReader(bounded), end: end, forms: r.forms}, bounded}
	}
	return resp, nil
}

// isAnswered reports whether the body of req is a call. What a server says beside anything else, such as "OK" to
// a notification or a page where it has no stream, is of no interest.
func isAnswered(req *http.Request) bool {
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	data, err := io.ReadAll(body)
	_, asks, _ := rpc.Parse(data)
	return err == nil && asks
}

// send sends a request with the headers and the token of the server, if it is one to the server. A
// request with a token that is refused is sent once more with another one.
func (r *round) send(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if req.URL.Host != r.at.Host || req.URL.Scheme != r.at.Scheme {
		return r.next.RoundTrip(req)
	}
	req = req.Clone(ctx)
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	if r.signIn == nil {
		return r.next.RoundTrip(req)
	}
	token, err := r.signIn.Token(ctx, "")
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil || token == "" || resp.StatusCode != http.StatusUnauthorized || req.Body != nil && req.GetBody == nil {
		return resp, err
	}
	other, err := r.signIn.Token(ctx, token)
	if err != nil || other == "" {
		return resp, nil // the server's answer says what is missing
	}
	resp.Body.Close()
	again := req.Clone(ctx)
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	again.Header.Set("Authorization", "Bearer "+other)
	return r.next.RoundTrip(again)
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// body is an answer that is read. One message is at most maxLine bytes and maxDepth deep, after
// it is unpacked; a stream of them has no end, and is read no faster than the rates say.
type body struct {
	io.ReadCloser
	round  *round
	ctx    context.Context
	stream bool
	read   int // of this message
	depth  rpc.Nesting
}

// Read is part of io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	got := p[:n]
	messages := 0
	if b.stream {
		messages = bytes.Count(got, []byte("\n")) / 2 // an event has two at least
	}
	for part := range bytes.Lines(got) {
		if b.read += len(part); b.read > maxLine {
			return 0, fmt.Errorf("its answer has more than %d MiB", maxLine>>20)
		}
		if b.depth.Over(part) {
			return 0, fmt.Errorf("its answer nests deeper than %d", rpc.MaxDepth)
		}
		if b.stream && part[len(part)-1] == '\n' { // a line of an event is JSON by itself
			b.depth, b.read = rpc.Nesting{}, 0
		}
	}
	if stopped := wait(b.ctx, b.round.rate.take(time.Now(), n, messages)); stopped != nil {
		return 0, stopped
	}
	return n, err
}

// cause is why a request was not answered, if err says that. It leaves out the address, which may hold
// a key.
func cause(err error) error {
	if u := new(url.Error); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// unreached is err without what the layers above a request say about one that was not answered.
func unreached(err error) error {
	err = cause(err)
	said := bare(err.Error())
	said = short.Undialed(said)
	for status := http.StatusBadRequest; status <= http.StatusNetworkAuthenticationRequired; status++ {
		switch {
		case said == "" || said != http.StatusText(status):
		case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
			return fmt.Errorf("it answered HTTP %d: no MCP server speaks streamable HTTP at this url; the older HTTP+SSE (often a url with /sse) is not supported", status)
		default:
			return fmt.Errorf("it answered HTTP %d (%s)", status, said)
		}
	}
	if wrong, _, found := strings.Cut(said, " into Go "); found {
		said = "its answer does not have the form of the protocol: " + strings.TrimPrefix(wrong, "json: ")
	}
	if said == err.Error() {
		return err
	}
	return errors.New(said)
}

// bare is an error of the SDK without the layers in front of its cause.
func bare(said string) string {
	for {
		before := said
		for _, layer := range []string{"connection closed: ", "client is closing: ", "rejected by transport: "} {
			said = strings.TrimPrefix(said, layer)
		}
		if method, rest, ok := strings.Cut(said, `": `); ok && (strings.HasPrefix(method, `calling "`) || strings.HasPrefix(method, `sending "`)) {
			said = rest
		}
		if said == before {
			return said
		}
	}
}
