package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// OverHTTP connects to a server by streamable HTTP, and reads its tools. headers are sent with
// every request, and to no other host.
func OverHTTP(ctx context.Context, address string, headers map[string]string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("MCP server %s: its url must be http:// or https:// with a host and without a password", line(o.Name, maxName))
	}
	if u.Scheme == "http" && len(headers) > 0 && !loopback(u.Hostname()) {
		return nil, fmt.Errorf("MCP server %s: its headers would be sent over http:// in plain text; write https:// in its url", line(o.Name, maxName))
	}
	c := newClient(o)
	via := &http.Client{Transport: newRound(u, headers), CheckRedirect: sameHost}
	c.dial = func(ctx context.Context) (*sdk.ClientSession, error) {
		return c.connector().Connect(ctx, &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: via, MaxEventSize: maxLine}, nil)
	}
	return c.start(ctx)
}

func loopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// sameHost follows a redirect to the same scheme and host alone: the headers hold secrets.
func sameHost(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if len(before) > 3 || next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// round sends requests with the server's headers, and bounds the answers.
type round struct {
	host    string
	headers map[string]string
	next    http.RoundTripper
}

func newRound(u *url.URL, headers map[string]string) *round {
	return &round{host: u.Host, headers: headers, next: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
	}}
}

// RoundTrip is part of http.RoundTripper.
func (r *round) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == r.host && len(r.headers) > 0 {
		req = req.Clone(req.Context())
		for name, value := range r.headers {
			req.Header.Set(name, value)
		}
	}
	return r.next.RoundTrip(req)
}

// reconnect opens a new session in place of one that the server has forgotten.
func (c *Client) reconnect(ctx context.Context, old *sdk.ClientSession) error {
	if c.current() != old { // another call was first
		return nil
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	_ = old.Close()
	return c.readTools(ctx)
}
