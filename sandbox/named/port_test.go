package named

import (
	"testing"
)

func TestPortFor(t *testing.T) {
	for command, want := range map[string]uint16{
		"curl https://example.org/x":                 443,
		"curl http://example.org":                    80,
		"curl http://user:pw@example.org/x":          80,
		"curl 'http://example.org:8080/x'":           8080,
		"curl HTTP://EXAMPLE.ORG":                    80,
		"curl example.org":                           443,
		"curl example.org:81":                        81,
		"nc example.org 5000":                        5000,
		"nc -w 3 example.org  5000 < x":              5000,
		"wget https://other.org/http/example.org":    443,
		"curl http://www.example.org https://x.test": 443, // another name
		"curl http://example.org.evil.test":          443, // another name
		"curl http://example.orgs":                   443,
		"curl http://example.org. ":                  80,
		"git clone git@example.org:a/b.git":          22,
		"git clone ssh://git@example.org:2222/a.git": 2222,
		"git clone git://example.org/a.git":          9418,
		"ssh example.org uptime":                     22,
		"echo example.org; curl http://example.org":  80,
		"python3 fetch.py":                           443,
		"curl example.org:99999":                     443,
		"curl example.org:0":                         443,
		"curl example.org:80x":                       443,
		"psql postgres://example.org/db":             5432,
		"":                                           443,
	} {
		if got := portFor(command, "example.org"); got != want {
			t.Errorf("%s: port %d, want %d", command, got, want)
		}
	}
}

func FuzzPortFor(f *testing.F) {
	f.Add("curl http://example.org:8080/x; nc example.org 5", "example.org")
	f.Add("git clone git@a.b:c", "a.b")
	f.Fuzz(func(t *testing.T, command, host string) {
		if host != "" && portFor(command, host) == 0 {
			t.Errorf("%q: no port for %q", command, host)
		}
	})
}

// TestHeldLookupIsAskedWithItsPort: a lookup is refused with a bare name; the grant has the
// port that the command names.
