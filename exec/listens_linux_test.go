package exec_test

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
)

// listenAt is a listener, and its address.
func listenAt(t *testing.T, address string) (net.Listener, netip.AddrPort) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, netip.MustParseAddrPort(l.Addr().String())
}

func TestListens(t *testing.T) {
	l, at := listenAt(t, "127.0.0.1:0")
	six := netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
	other := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), at.Port())
	if !(exec.OS{}).Listens(at) || (exec.OS{}).Listens(six) || (exec.OS{}).Listens(other) {
		t.Errorf("a server at %s: %v, at %s: %v, at %s: %v", at, exec.OS{}.Listens(at), six, exec.OS{}.Listens(six), other, exec.OS{}.Listens(other))
	}
	l.Close()
	if (exec.OS{}).Listens(at) {
		t.Errorf("%s: closed, and still there", at)
	}
	_, all := listenAt(t, "0.0.0.0:0")
	if at := netip.AddrPortFrom(other.Addr(), all.Port()); !(exec.OS{}).Listens(at) {
		t.Errorf("a server at %s is not seen at %s", all, at)
	}
}

// TestConfinedConnectIsJudged: a connection to a server of the host is a denial,
// and one to a server of the session's own that is not up is none.
func TestConfinedConnectIsJudged(t *testing.T) {
	r, p, ws, _ := confined(t)
	l, at := listenAt(t, "127.0.0.1:0")
	connect := exec.Command{Argv: []string{"/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + at.String()[len("127.0.0.1:"):]}, Dir: ws}
	o, err := r.Run(context.Background(), p, connect, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := o.Verdict; !v.Denied || v.Confidence != sandbox.Certain || len(v.Denials) != 1 || v.Denials[0].Target != at.String() || suggestion(v.Suggest) != "h:"+at.String() {
		t.Errorf("the host's server: %+v of %q", v, o.Output.Text())
	}
	e, err := r.Enforcement(p)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(e.Active(), "netns") {
		return // every socket is refused, whatever it was for
	}
	l.Close()
	if o, err = r.Run(context.Background(), p, connect, nil); err != nil || !o.Failed() || o.Verdict.Denied {
		t.Errorf("no server: %+v of %q, %v", o.Verdict, o.Output.Text(), err)
	}
}
