//go:build !linux

package exec_test

import "testing"

func capture(t *testing.T) {
	t.Helper()
	t.Fatal("-update records the outputs of the Linux backend: run it on Linux")
}
