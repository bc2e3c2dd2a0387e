//go:build !linux

package store

import "golang.org/x/sys/unix"

// lower gives the process the lowest priority.
func lower() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19) }
