package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"codeagent/sandbox"
)

// RefusedError says that the policy, or the place that a name leads to, keeps a
// page from being fetched. Nothing was sent there.
type RefusedError struct{ Words string }

func (e *RefusedError) Error() string { return e.Words }

// Limits of one connection.
const (
	maxAddresses = 8
	dialTime     = 7 * time.Second
)

// route is the way to one host for one request: it looks the name up, judges each
// address, and dials only addresses that it has judged. A later change of the name has
// no effect.
type route struct {
	policy sandbox.Policy
	// asked is the address that the model wrote and the gate judged, at the one
	// to be reached now: another one after a redirect.
	asked, at Address
	lookup    func(ctx context.Context, network, host string) ([]netip.Addr, error)
	own       func() ([]net.Addr, error)
}

// dial connects to r.at and ignores its arguments: its transport serves one request to
// one host.
func (r *route) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	addrs, err := r.addresses(ctx)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTime}
	var errs []error
	for _, a := range addrs[:min(len(addrs), maxAddresses)] {
		conn, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(a, r.at.Host.Port).String())
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, failure(errors.Join(errs...).Error()) // addresses, and words of the system
}

// addresses are those of r.at's that may be reached: at least one, or an error.
func (r *route) addresses(ctx context.Context) ([]netip.Addr, error) {
	name := r.at.Host.Host
	if a, err := netip.ParseAddr(name); err == nil {
		if why := r.refused(a); why != "" {
			return nil, &RefusedError{fmt.Sprintf("%s is %s; it is fetched from only when a URL names it and it is granted as %s", name, why, r.at.Host)}
		}
		return []netip.Addr{a}, nil
	}
	if strings.Contains(name, ".") {
		name += "." // exactly this name, and none that a search list makes of it
	}
	found, err := r.lookup(ctx, "ip", name)
	if err != nil {
		return nil, failure(fmt.Sprintf("the name %s cannot be looked up: %v", r.at.Host.Host, err))
	}
	var open []netip.Addr
	var closed error
	for _, a := range found {
		a = a.Unmap().WithZone("")
		if j := r.policy.JudgeHost(sandbox.HostPort{Host: a.String(), Port: r.at.Host.Port}); j.Final {
			closed = &RefusedError{fmt.Sprintf("the name %s leads to %s: %s", r.at.Host.Host, a, j.Rule)}
			continue
		}
		if why := r.refused(a); why != "" {
			closed = &RefusedError{fmt.Sprintf("the name %s leads to %s, %s; names are not followed there unless the settings allow that very address (sandbox.allow_fetch: %s)",
				r.at.Host.Host, a, why, sandbox.HostPort{Host: a.String(), Port: r.at.Host.Port})}
			continue
		}
		open = append(open, a)
	}
	if len(open) == 0 && closed == nil {
		closed = failure(fmt.Sprintf("the name %s has no address", r.at.Host.Host))
	}
	if len(open) == 0 {
		return nil, closed
	}
	return open, nil
}

// refused says why an address is not reached, "" when it is. What a name or a
// redirect of a stranger's leads to must have been named: by the policy, or by the
// very URL that was judged.
func (r *route) refused(a netip.Addr) string {
	named := sandbox.Policy{Network: r.policy.Network}
	named.Network.Mode, named.Network.Hosts = sandbox.NetworkAllow, append(slices.Clone(named.Network.Hosts), r.asked.Host)
	return r.at.Host.ClosedTo(a, r.isOwn, named.JudgeHost)
}

// isOwn reports an address of this machine's interfaces. One that cannot be
// asked for counts as foreign: sandbox.NotPublic has judged it already.
func (r *route) isOwn(a netip.Addr) bool {
	all, _ := r.own()
	return slices.ContainsFunc(all, func(n net.Addr) bool {
		prefix, err := netip.ParsePrefix(n.String())
		return err == nil && prefix.Addr().Unmap().WithZone("") == a
	})
}
