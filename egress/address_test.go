package egress

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ in, url, host string }{
		{"https://example.com", "https://example.com/", "example.com:443"},
		{" HTTP://Example.COM.:80/a?b#c\n", "http://example.com/a?b", "example.com:80"},
		{"https://example.com:8443/%2e%2e/x;y", "https://example.com:8443/%2e%2e/x;y", "example.com:8443"},
		{"http://127.0.0.1:3000/", "http://127.0.0.1:3000/", "127.0.0.1:3000"},
		{"http://[::1]/", "http://[::1]/", "[::1]:80"},
		{"https://[::ffff:10.0.0.1]/", "https://10.0.0.1/", "10.0.0.1:443"},
		{"https://bücher.example/ü?ü=é", "https://xn--bcher-kva.example/%C3%BC?%C3%BC=%C3%A9", "xn--bcher-kva.example:443"},
		{"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example:443"},
		{"http://１２７.0.0.1/", "http://127.0.0.1/", "127.0.0.1:80"}, // full-width digits: what it is, is shown
		{"https://example.com//evil.example/", "https://example.com//evil.example/", "example.com:443"},
		{"https://example.com/\u202ekcab", "https://example.com/%E2%80%AEkcab", "example.com:443"},
	} {
		a, err := Parse(tt.in)
		if err != nil || a.URL != tt.url || a.Host.String() != tt.host || a.Secure != strings.HasPrefix(tt.url, "https") {
			t.Errorf("%q: %+v %v", tt.in, a, err)
			continue
		}
		if again, err := Parse(a.URL); err != nil || again != a {
			t.Errorf("%q is not canonical: %+v %v", a.URL, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", "example.com", "//example.com/", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "http:example.com", "unix:///run/docker.sock",
		"http://", "http:///x", "http://:80/", "https://user@example.com/", "https://user:pass@example.com/", "https://example.com@evil.example/",
		"http://0x7f.1/", "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://0x7f000001/", "http://127.0.0.1.:80x/", "http://[fe80::1%25eth0]/", "http://[::1", "http://[1.2.3.4]/",
		"http://example.com:0/", "http://example.com:65536/", "http://example.com:http/", "http://exa mple.com/", "http://example.com/a b", "http://example.com\\@evil.example/",
		"http://example.com/\r\nHost: evil", "http://exam%70le.com/", "http://a..b/", "http://-\u0000/", "http://xn--\u00e9/", "http://ex\u202eample.com/", "http://" + strings.Repeat("a", 64) + ".com/",
		"http://example.com/" + strings.Repeat("a", maxURL),
	} {
		if a, err := Parse(in); err == nil {
			t.Errorf("%.80q was taken as %+v", in, a)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%.80q: an error of %d bytes", in, len(err.Error()))
		}
	}
}

// Whatever is parsed is canonical and in visible ASCII.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b#c", "http://[::1]:80/", "https://bücher.example/ü", "http://a@b/", "http://%zz/", "http://a:b:c/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := Parse(s)
		if err != nil {
			return
		}
		if strings.ContainsFunc(a.URL, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Errorf("%q became %q", s, a.URL)
		}
		again, err := Parse(a.URL)
		if len(a.URL) <= maxURL && (err != nil || again != a) {
			t.Errorf("%q became %+v, then %+v (%v)", s, a, again, err)
		}
	})
}
