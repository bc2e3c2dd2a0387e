// Command measured runs a program and prints what it took: microseconds of wall time and of
// processor time, and the peak of its memory in kilobytes. The kernel counts the memory of the
// forking process towards that peak, so the benchmarks let this small one fork.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

func main() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	start := time.Now()
	pid, err := syscall.ForkExec(os.Args[1], os.Args[1:], &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{null.Fd(), null.Fd(), 2}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var status syscall.WaitStatus
	var used syscall.Rusage
	for {
		if _, err = syscall.Wait4(pid, &status, 0, &used); err != syscall.EINTR {
			break
		}
	}
	wall := time.Since(start)
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	fmt.Println(wall.Microseconds(), cpu.Microseconds(), used.Maxrss)
	os.Exit(status.ExitStatus())
}
