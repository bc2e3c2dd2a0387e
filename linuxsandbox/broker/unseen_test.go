//go:build linux

package broker

import (
	"testing"

	"codeagent/linuxsandbox/broker/evidence"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/sandbox"
)

// TestUnseenNetwork: if the broker cannot see where network sockets connect to, the trace
// is marked as partial.
func TestUnseenNetwork(t *testing.T) {
	for _, row := range []struct {
		inet    bool
		hostNet uint64
		takes   sockets.Access
		want    sandbox.EvidenceLevel
	}{
		{true, 1, sockets.TakesCopies, sandbox.EvidenceFull}, {true, 1, sockets.TakesStandIns, sandbox.EvidencePartial}, {true, 1, sockets.TakesNone, sandbox.EvidencePartial},
		{true, 0, sockets.TakesStandIns, sandbox.EvidenceFull}, {false, 0, sockets.TakesStandIns, sandbox.EvidenceFull},
	} {
		b := &Broker{handlers: handlers{sockets: sockets.New(sockets.Options{Inet: row.inet, HostNet: row.hostNet, Taking: row.takes})}, log: evidence.New("", false, 0, nil), done: make(chan struct{})}
		close(b.done)
		if got := b.Trace().Evidence; got != row.want {
			t.Errorf("%+v: %s", row, got)
		}
	}
}
