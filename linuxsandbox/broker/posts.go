//go:build linux

package broker

import (
	"sync"

	"golang.org/x/sys/unix"
)

// posts are what others leave for a broker's thread to do, which alone knows the
// policy and what was refused so far.
type posts struct {
	wake   int // an eventfd
	mu     sync.Mutex
	list   []func() // guarded by mu, as closed is
	closed bool
}

// maxPosts bounds what waits to be done.
const maxPosts = 256

func newPosts() (*posts, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return &posts{wake: wake}, err
}

// add leaves something to be done. It reports false when nobody will.
func (p *posts) add(do func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.list) >= maxPosts {
		return false
	}
	p.list = append(p.list, do)
	_, _ = unix.Write(p.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return true
}

// do does all that was left.
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

// close does what is left, for the last time.
func (p *posts) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.do()
	unix.Close(p.wake)
}
