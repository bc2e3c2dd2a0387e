//go:build !linux

package module

const reference = 0

func isProc(int) bool { return false }
