package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"codeagent/sandbox"
)

// Limits of one fetch.
const (
	maxRedirects = 5
	// maxBody bounds what is read of a page, after it is unpacked: a small answer
	// that unpacks to a huge one is cut there.
	maxBody = 5 << 20
	// maxHead is what is read of a page that is not text: enough to say what it is.
	maxHead = 512
	// maxHeader bounds the header of an answer.
	maxHeader = 64 << 10
	// fetchTime bounds a fetch with all its redirects, from the lookup to the
	// last byte.
	fetchTime = 30 * time.Second
	// proxiedLookup bounds the lookup of a name that a proxy will look up again.
	proxiedLookup = 3 * time.Second
)

// errSlow is why a fetch ends that took too long.
var errSlow = fmt.Errorf("it took longer than %d seconds", fetchTime/time.Second)

// Fetcher fetches pages. It keeps no cookie, no connection and no state from one
// request to the next, and signs in nowhere. It is safe for concurrent use.
type Fetcher struct {
	agent string
	// proxy says which proxy of the environment a request takes; nil: none.
	proxy  func(*http.Request) (*url.URL, error)
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	own    func() ([]net.Addr, error)
	roots  *x509.CertPool // nil: the system's
	time   time.Duration
}

// New returns a Fetcher for this machine's network. It uses the proxies of the
// environment, because there may be no other way out. A proxy looks names up itself,
// and codeagent cannot judge the result; codeagent still judges what the name means
// here, where it can be looked up. version is all that servers learn about the sender.
func New(version string) *Fetcher {
	return &Fetcher{
		agent: "codeagent/" + version, proxy: http.ProxyFromEnvironment, lookup: net.DefaultResolver.LookupNetIP,
		own: net.InterfaceAddrs, time: fetchTime,
	}
}

// Fetch gets the page at a under p: every connection goes to a host and port that p
// allows. The error is a *RefusedError when p does not allow it, the cause of ctx when
// that is done, or a text in codeagent's own words: of a server's words it has host
// names and nothing else.
func (f *Fetcher) Fetch(ctx context.Context, p sandbox.Policy, a Address) (Page, error) {
	limited, cancel := context.WithTimeoutCause(ctx, f.time, errSlow)
	defer cancel()
	page, err := f.follow(limited, p, a)
	var refused *RefusedError
	switch {
	case ctx.Err() != nil: // also where a part of the page is there
		return Page{}, context.Cause(ctx)
	case err == nil:
		return page, nil
	case errors.As(err, &refused):
		return Page{}, refused
	case limited.Err() != nil:
		return Page{}, errSlow
	}
	return Page{}, plain(err)
}

// follow gets the page, through redirects that p allows.
func (f *Fetcher) follow(ctx context.Context, p sandbox.Policy, asked Address) (Page, error) {
	at := asked
	for range maxRedirects + 1 {
		resp, done, err := f.request(ctx, p, asked, at)
		if err != nil {
			return Page{}, err
		}
		next, elsewhere, err := redirect(p, at, resp)
		if err == nil && next == nil {
			page, err := read(ctx, at, resp)
			page.Elsewhere = elsewhere
			done()
			return page, err
		}
		done()
		if err != nil {
			return Page{}, err
		}
		at = *next
	}
	return Page{}, failure(fmt.Sprintf("it redirects more than %d times", maxRedirects))
}

// request sends one request to at, over a connection of its own; done ends it.
func (f *Fetcher) request(ctx context.Context, p sandbox.Policy, asked, at Address) (resp *http.Response, done func(), err error) {
	if j := p.JudgeHost(at.Host); !j.Allowed {
		why := ""
		if j.Final {
			why = ": " + j.Rule
		}
		return nil, nil, &RefusedError{fmt.Sprintf("the sandbox does not allow to reach %s%s", at.Host, why)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.URL, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header = http.Header{
		"User-Agent": {f.agent},
		"Accept":     {"text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.5"},
	}
	t := &http.Transport{
		ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader,
		TLSClientConfig: &tls.Config{RootCAs: f.roots, MinVersion: tls.VersionTLS12},
	}
	r := &route{policy: p, asked: asked, at: at, lookup: f.lookup, own: sync.OnceValues(f.own)}
	if err := f.connect(ctx, t, r, req); err != nil {
		return nil, nil, err
	}
	// Below a client: it would keep cookies, follow redirects and send where it
	// came from.
	resp, err = t.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	return resp, func() {
		resp.Body.Close() // what is left of it is not wanted
		t.CloseIdleConnections()
	}, nil
}

// connect has t connect by r, or through a proxy of the environment.
func (f *Fetcher) connect(ctx context.Context, t *http.Transport, r *route, req *http.Request) error {
	proxy, err := f.proxy(req)
	if err != nil {
		// Its text may hold the proxy's password.
		return failure("the proxy that the environment names cannot be used")
	}
	if proxy == nil {
		t.DialContext = r.dial
		return nil
	}
	t.Proxy, t.OnProxyConnectResponse = http.ProxyURL(proxy), proxyAnswered
	t.DialContext = (&net.Dialer{Timeout: dialTime}).DialContext
	// Where only the proxy can look names up, asking here takes until this ends.
	ctx, cancel := context.WithTimeout(ctx, proxiedLookup)
	defer cancel()
	var refused *RefusedError
	if _, err := r.addresses(ctx); errors.As(err, &refused) {
		return refused
	}
	return nil // a name that only the proxy knows is the proxy's to judge
}

// redirect reads where resp leads: next if codeagent follows it, elsewhere if not; both
// are empty when resp is the page.
func redirect(p sandbox.Policy, at Address, resp *http.Response) (next *Address, elsewhere string, err error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, "", nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, "", nil
	}
	base, err := url.Parse(at.URL)
	if err != nil {
		return nil, "", err
	}
	if len(location) <= maxURL {
		base, err = base.Parse(location)
	}
	if err != nil || len(location) > maxURL {
		return nil, "", failure("it redirects to something that is not a URL")
	}
	to, err := canonical(base)
	if err != nil {
		// The reason would quote what the server wrote.
		return nil, "", failure("it redirects to a URL that is not fetched: only http:// and https:// URLs with a host and without a user or password are")
	}
	// What was fetched over TLS is not fetched without it because a server says so.
	if at.Secure && !to.Secure || !p.JudgeHost(to.Host).Allowed {
		return nil, to.URL, nil
	}
	return &to, "", nil
}
