package undo

import "golang.org/x/sys/unix"

// birth returns the creation time of the file. Here it returns 0, because nothing uses it.
func birth(dir int, name string) int64 { return 0 }

// fileClock returns 0, because nothing uses it: see birth.
func fileClock() int64 { return 0 }

// flush syncs everything written to the disks.
func flush(dir int) error { return unix.Sync() }
