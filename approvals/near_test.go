package approvals

import (
	"slices"
	"strings"
	"testing"
)

// TestNearHostsAreNamed: a question about an address outside the public internet describes the
// address. A host name gives no such information.
func TestNearHostsAreNamed(t *testing.T) {
	for host, want := range map[string]string{
		"169.254.169.254:80":    "a link-local address, where clouds hand out credentials",
		"[fd00:ec2::254]:80":    "an address of a private network",
		"10.1.2.3:5432":         "an address of a private network",
		"localhost:5432":        "this machine",
		"127.0.0.1:5432":        "an address of this machine",
		"metadata.internal:80":  "",
		"registry.example:443":  "",
		"93.184.215.14:443":     "",
		"[2606:4700::1111]:443": "",
	} {
		_, q := asks(t, newGate(OnRequest, confined(), func(o *Options) { o.GrantsHosts = true }), wishing("curl", nil, host))
		if q == nil {
			t.Fatalf("%s: not asked", host)
		}
		if i := slices.IndexFunc(q.Warnings, func(w string) bool { return strings.Contains(w, want) }); want == "" && len(q.Warnings) > 0 || i < 0 && want != "" {
			t.Errorf("%s: %q, want %q", host, q.Warnings, want)
		}
	}
}
