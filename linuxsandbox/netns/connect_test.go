//go:build linux

package netns

import (
	"encoding/binary"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestConnectIsNudged: a thread that clears O_NONBLOCK repeatedly can make a connect block only
// while it runs.
func TestConnectIsNudged(t *testing.T) {
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(listener)
	// This is a struct sockaddr_un with an abstract name.
	address := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	address = append(append(address, 0), "codeagent-connect-"+strconv.Itoa(os.Getpid())...)
	if errno := AddressCall(unix.SYS_BIND, listener, address); errno != 0 {
		t.Fatal(errno)
	}
	if err := unix.Listen(listener, 0); err != nil {
		t.Fatal(err)
	}
	client := func() int {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	full := func() bool {
		errno, patient := ConnectNow(client(), address)
		return errno == unix.EAGAIN && patient
	}
	for n := 0; !full(); n++ {
		if n > 10 {
			t.Fatal("the queue does not fill up")
		}
	}
	sock := client()
	var calls atomic.Int64
	var stop atomic.Bool
	done, flipped := make(chan bool), make(chan bool)
	go func() {
		defer close(flipped)
		for !stop.Load() {
			_, _ = unix.FcntlInt(uintptr(sock), unix.F_SETFL, 0)
		}
	}()
	go func() {
		runtime.LockOSThread()
		defer close(done)
		for !stop.Load() {
			ConnectNow(sock, address)
			calls.Add(1)
		}
	}()
	// Repeat until a call hangs.
	deadline := time.Now().Add(5 * time.Second)
	for last, since := int64(-1), time.Now(); time.Now().Before(deadline) && time.Since(since) < 3*nudgeTime; time.Sleep(time.Millisecond) {
		if n := calls.Load(); n != last {
			last, since = n, time.Now()
		}
	}
	stop.Store(true)
	<-flipped
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the call does not return though nobody changes the socket any more")
	}
}
