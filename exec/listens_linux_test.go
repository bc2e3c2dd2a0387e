package exec_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
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
	// Another program may be at the same port of another address, or take the one
	// that was closed: not time after time.
	wrong := ""
	for range 5 {
		if wrong = listensWrongly(t); wrong == "" {
			break
		}
	}
	if wrong != "" {
		t.Error(wrong)
	}
	_, all := listenAt(t, "0.0.0.0:0")
	if at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), all.Port()); !(exec.OS{}).Listens(at) {
		t.Errorf("a server at %s is not seen at %s", all, at)
	}
}

// listensWrongly is what is not right about a server that comes and goes.
func listensWrongly(t *testing.T) string {
	t.Helper()
	l, at := listenAt(t, "127.0.0.1:0")
	six := netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
	other := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), at.Port())
	here, at6, away := exec.OS{}.Listens(at), exec.OS{}.Listens(six), exec.OS{}.Listens(other)
	l.Close()
	still := exec.OS{}.Listens(at)
	if here && !at6 && !away && !still {
		return ""
	}
	return fmt.Sprintf("a server at %s: %v, at %s: %v, at %s: %v; after its end: %v", at, here, six, at6, other, away, still)
}

// TestConfinedConnectIsJudged: a connection to a server of the host is a denial,
// and one to a server of the session's own that is not up is none.
func TestConfinedConnectIsJudged(t *testing.T) {
	r, p, ws, _ := confined(t)
	_, at := listenAt(t, "127.0.0.1:0")
	connect := func(port int) exec.Command {
		return exec.Command{Argv: []string{"/bin/bash", "-c", fmt.Sprint("exec 3<>/dev/tcp/127.0.0.1/", port)}, Dir: ws}
	}
	o, err := r.Run(context.Background(), p, connect(int(at.Port())), nil)
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
	// The port stays taken: another program's server would be one of the host.
	if o, err = r.Run(context.Background(), p, connect(sandboxtest.ShutPort(t)), nil); err != nil || !o.Failed() || o.Verdict.Denied {
		t.Errorf("no server: %+v of %q, %v", o.Verdict, o.Output.Text(), err)
	}
}
