//go:build linux

package netns

import (
	"sync/atomic"
	"testing"
	"time"

	"codeagent/sandbox"
)

// TestSettleWaits: when a command's connections are settled, each was passed on, also one that ended at that moment.
func TestSettleWaits(t *testing.T) {
	var passed atomic.Bool
	began := make(chan bool)
	c := &Client{ended: func(sandbox.Connection) {
		close(began)
		time.Sleep(50 * time.Millisecond)
		passed.Store(true)
	}}
	s := newFlows()
	s.open[1], s.closed = flow{client: c}, true
	go s.finish(1, &sandbox.Bytes{}, true)
	<-began
	if s.settle(c, &inetDiag{fd: -1}); !passed.Load() {
		t.Error("a connection is missing")
	}
}
