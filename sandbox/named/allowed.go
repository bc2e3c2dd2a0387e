package named

import (
	"fmt"
	"strings"

	"golang.org/x/net/publicsuffix"

	"codeagent/sandbox"
)

// ParseAllowed parses an entry of a list of allowed hosts. Without a port it means 443 and 80. An error says that
// everybody can register names below a pattern, as below *.co.uk. Suffixes that a company gives out may be allowed:
// *.githubusercontent.com.
func ParseAllowed(s string) ([]sandbox.HostPort, error) {
	h, err := sandbox.ParsePattern(s)
	if err != nil {
		return nil, err
	}
	below, wild := strings.CutPrefix(h.Host, "*.")
	if suffix, official := publicsuffix.PublicSuffix(below); wild && official && suffix == below {
		return nil, fmt.Errorf("host %.80q: it would stand for names of many owners; name a domain, as in *.example.%s", s, below)
	}
	if h.Port == 0 {
		return []sandbox.HostPort{{Host: h.Host, Port: 443}, {Host: h.Host, Port: 80}}, nil
	}
	return []sandbox.HostPort{h}, nil
}
