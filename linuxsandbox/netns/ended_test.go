//go:build linux

package netns

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"codeagent/sandbox"
)

// TestEndedAreLogged: once a command's streams are taken, each was passed on, also one that ended at that moment.
func TestEndedAreLogged(t *testing.T) {
	var passed atomic.Bool
	began := make(chan bool)
	c := &Client{ended: func(sandbox.Connection) {
		close(began)
		time.Sleep(50 * time.Millisecond)
		passed.Store(true)
	}}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s, of := &stream{client: c, handed: func() {}, files: [2]*os.File{r, w}}, newRelay()
	of.carried[s.key] = s
	go of.drop(s)
	<-began
	if of.streamsOf(c); !passed.Load() {
		t.Error("a connection is missing")
	}
}
