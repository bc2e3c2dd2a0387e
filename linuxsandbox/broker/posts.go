//go:build linux

package broker

import (
	"sync"

	"golang.org/x/sys/unix"
)

// posts are functions that other goroutines leave for the broker's thread, which alone may use
// the policy and the denials.
type posts struct {
	wake   int // an eventfd
	mu     sync.Mutex
	list   []func() // mu guards it and closed
	closed bool
}

func newPosts() (*posts, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return &posts{wake: wake}, err
}

// add leaves a function for the broker's thread, if fewer than most wait. It returns false if
// the function will not run.
func (p *posts) add(most int, do func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.list) >= most {
		return false
	}
	p.list = append(p.list, do)
	_, _ = unix.Write(p.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return true
}

// do runs all waiting functions.
func (p *posts) do() {
	var count [8]byte
	_, _ = unix.Read(p.wake, count[:])
	p.mu.Lock()
	list := p.list
	p.list = nil
	p.mu.Unlock()
	for _, do := range list {
		do()
	}
}

// close runs the waiting functions and accepts no more.
func (p *posts) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.do()
	unix.Close(p.wake)
}
