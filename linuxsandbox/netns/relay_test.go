//go:build linux

package netns

import (
	"testing"
	"time"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// TestExpectedStreamsEnd: a stream that no door ever accepts goes, with the socket of the host.
func TestExpectedStreamsEnd(t *testing.T) {
	door, err := boundSocket(loopback4, unix.SOCK_STREAM) // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(door)
	if err := unix.Listen(door, 0); err != nil {
		t.Fatal(err)
	}
	at, _ := LocalAddress(door)
	r := newRelay()
	r.doors = []relayDoor{{at: at}}
	client := &Client{Network: &Network{relay: r}, ended: func(sandbox.Connection) {}}
	join := func() (host int) {
		sock, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(sock)
		if host, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
		if _, errno := r.join(sock, unix.AF_INET, &stream{client: client, host: host, to: at}); errno != 0 && errno != unix.EINPROGRESS {
			t.Fatal(errno)
		}
		return host
	}
	known := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.expected) + len(r.carried)
	}
	var hosts []int
	for range 9 {
		hosts = append(hosts, join())
	}
	if n := known(); n != 18 {
		t.Fatalf("%d entries", n)
	}
	r.mu.Lock()
	for _, s := range r.carried {
		s.since = s.since.Add(-2 * expectTime)
	}
	r.mu.Unlock()
	last := join()
	for end := time.Now().Add(time.Minute); known() != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d entries stay", known())
		}
	}
	for _, host := range hosts {
		if _, err := unix.FcntlInt(uintptr(host), unix.F_GETFD, 0); err == nil && host != last {
			t.Errorf("descriptor %d stays open", host)
		}
	}
	r.close()
}
