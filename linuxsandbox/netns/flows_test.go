//go:build linux

package netns

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"codeagent/sandbox"
)

// TestEndedAreLogged: once a command's connections are settled, each was passed on, also one that ended at that moment.
func TestEndedAreLogged(t *testing.T) {
	for name, end := range map[string]func(c *Client) (end, settle func()){
		"own": func(c *Client) (end, settle func()) {
			s := newFlows()
			s.open[1], s.closed = flow{client: c}, true
			return func() { s.finish(1, &sandbox.Bytes{}, true) }, func() { s.settle(c, &inetDiag{fd: -1}) }
		},
		"relayed": func(c *Client) (end, settle func()) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			s, of := &stream{client: c, handed: func() {}, files: [2]*os.File{r, w}}, newRelay()
			of.carried[s.key] = s
			return func() { of.drop(s) }, func() { of.streamsOf(c) }
		},
	} {
		var passed atomic.Bool
		began := make(chan bool)
		end, settle := end(&Client{ended: func(sandbox.Connection) {
			close(began)
			time.Sleep(50 * time.Millisecond)
			passed.Store(true)
		}})
		go end()
		<-began
		if settle(); !passed.Load() {
			t.Errorf("%s: a connection is missing", name)
		}
	}
}
