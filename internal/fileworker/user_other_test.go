//go:build !linux

package fileworker

import "testing"

func asUser(t *testing.T) bool {
	t.Log("left out: needs an ordinary user, run not as root")
	return false
}
