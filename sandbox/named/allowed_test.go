package named

import (
	"strings"
	"testing"

	"codeagent/sandbox"
)

func TestParseAllowed(t *testing.T) {
	for text, want := range map[string]string{
		"a.example": "a.example:443 a.example:80", "a.example:8080": "a.example:8080", "*.example.com": "*.example.com:443 *.example.com:80",
		"*.example.co.uk:443": "*.example.co.uk:443", "*.github.io:443": "*.github.io:443", "co.uk:443": "co.uk:443",
		"10.0.0.0/8": "10.0.0.0/8:443 10.0.0.0/8:80", "::1": "[::1]:443 [::1]:80",
	} {
		if hosts, err := ParseAllowed(text); err != nil || strings.Join(sandbox.HostsOf(hosts), " ") != want {
			t.Errorf("%q is %v, %v; want %s", text, hosts, err, want)
		}
	}
	for _, text := range []string{"*.co.uk", "*.co.uk:443", "*.com.au:80", "*.CO.UK", "*.co.uk.", "*.k12.ca.us"} {
		if hosts, err := ParseAllowed(text); err == nil || !strings.Contains(err.Error(), "many owners") {
			t.Errorf("%q is %v, %v", text, hosts, err)
		}
	}
}
