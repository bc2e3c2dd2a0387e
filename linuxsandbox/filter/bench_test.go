//go:build linux

package filter

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onThread runs f on its own thread, which then ends.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

// BenchmarkFilterInstall measures the cost for one command: install the filter, and read back that
// it is there.
func BenchmarkFilterInstall(b *testing.B) {
	var spent time.Duration
	for b.Loop() {
		onThread(func() {
			start := time.Now()
			if err := confineSelf(Options{}); err != nil {
				b.Error(err)
			}
			spent += time.Since(start)
		})
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/install")
}

// BenchmarkCalls measures single calls, with and without the filter: one that its number decides,
// and two whose arguments are checked.
func BenchmarkCalls(b *testing.B) {
	for _, call := range []struct {
		name   string
		number uintptr
		args   [2]uintptr
	}{
		{"getpid", unix.SYS_GETPID, [2]uintptr{}},
		{"ioctl", unix.SYS_IOCTL, [2]uintptr{^uintptr(0), unix.TCGETS}},
		{"sendto", unix.SYS_SENDTO, [2]uintptr{^uintptr(0), 0}},
	} {
		for _, confined := range []bool{false, true} {
			name := call.name + "/bare"
			if confined {
				name = call.name + "/filter"
			}
			b.Run(name, func(b *testing.B) {
				onThread(func() {
					if confined {
						if err := confineSelf(Options{}); err != nil {
							b.Error(err)
							return
						}
					}
					for b.Loop() {
						_, _, _ = unix.RawSyscall6(call.number, call.args[0], call.args[1], 0, 0, 0, 0)
					}
				})
			})
		}
	}
}
