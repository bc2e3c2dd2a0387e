package hostfile

import "testing"

const isDarwin = false

// setOpenat2 has walk use openat2, or do without.
func setOpenat2(t *testing.T, use bool) {
	noOpenat2.Store(!use)
	t.Cleanup(func() { noOpenat2.Store(false) })
}
