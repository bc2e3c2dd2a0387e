package signin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"codeagent/sandbox"
)

// door sends the requests of a sign-in.
//
// Threat: the MCP server chooses the addresses of the sign-in, and could have codeagent ask services
// of this machine or of its network. The kernel connects to the very address that is judged here:
// Control runs after the name was looked up.
type door struct {
	mu sync.Mutex
	// named may have any address; guarded by mu.
	named []sandbox.HostPort
	// own are the addresses that the server's URL names itself: other servers there are as close as
	// it is. What a name leads to is the choice of who owns the name.
	own []netip.Addr
}

func newDoor(server *url.URL, hosts []sandbox.HostPort) *door {
	d := &door{named: append([]sandbox.HostPort{hostOf(server)}, hosts...)}
	if a, err := netip.ParseAddr(server.Hostname()); err == nil {
		d.own = []netip.Addr{a.Unmap().WithZone("")}
	} else if strings.EqualFold(server.Hostname(), "localhost") {
		d.own = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	return d
}

// hostOf returns host and port of a URL.
func hostOf(u *url.URL) sandbox.HostPort {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	h, _ := sandbox.ParseHostPort(net.JoinHostPort(u.Hostname(), port)) // the zero value is no host's
	return h
}

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 1 << 20

func (d *door) client() *http.Client {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DialContext: d.dial, MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: requestTime, IdleConnTimeout: time.Minute,
	}
	return &http.Client{Transport: boundedTransport{d, t}, CheckRedirect: sameHost, Timeout: requestTime}
}

// sameHost follows a redirect to the same scheme and host alone: a code or a token goes nowhere else.
func sameHost(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if len(before) > 3 || next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
		return errors.New("it redirects to another address, which is not followed")
	}
	return nil
}

func (d *door) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _ := sandbox.ParseHostPort(address)
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, to string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(to)
		if err != nil {
			return err
		}
		return d.judge(host, at.Addr().Unmap().WithZone(""))
	}}
	return dialer.DialContext(ctx, network, address)
}

// judge says whether host may be reached at a.
func (d *door) judge(host sandbox.HostPort, a netip.Addr) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if why := sandbox.NotPublic(a); why != "" && !sandbox.Allowed(d.named, host) && !slices.Contains(d.own, a) {
		return fmt.Errorf("the sign-in leads to %s at %s, %s; if that is right, name it: --allow-host %s", host, a, why, host)
	}
	return nil
}

// allow lets the door reach a host at any address.
func (d *door) allow(h sandbox.HostPort) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.named, h) {
		d.named = append(d.named, h)
	}
}

// boundedTransport sends the requests of a door, and cuts the answers.
type boundedTransport struct {
	door *door
	next http.RoundTripper
}

func (b boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !safe(req.URL) {
		return nil, errors.New("the sign-in leads to an address without https://")
	}
	if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil {
		b.door.allow(hostOf(proxy)) // the user's own, which decides itself where it leads
	}
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}
