// Package egress makes the HTTP requests that codeagent itself sends for a model. A
// sandbox.Policy decides about each connection before it is dialled; answers are
// untrusted data, bounded in bytes and in time. Start reading at fetch.go, then
// address.go, which judges where a request goes.
package egress

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"codeagent/sandbox"
)

// maxURL bounds a URL in bytes; no server takes much longer ones.
const maxURL = 4096

// Address is where a page is, in its one canonical form: what a person is asked
// for, what the policy judges and what is dialled come from the same value.
type Address struct {
	// URL is in ASCII, its host lower case without a trailing dot, without user
	// and fragment, and without the scheme's own port.
	URL  string
	Host sandbox.HostPort
	// Secure: https.
	Secure bool
}

// Parse reads an http or https URL. The error is in words for a model.
func Parse(raw string) (Address, error) {
	raw = strings.TrimSpace(raw)
	if len(raw) > maxURL {
		return Address{}, fmt.Errorf("the URL has %d bytes; at most %d are taken", len(raw), maxURL)
	}
	// Spaces and controls are cut differently by different programs.
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return Address{}, errors.New("the URL holds a space, a backslash or a control character; write those as %XX")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return Address{}, fmt.Errorf("this is not a URL: %w", errors.Unwrap(err))
	}
	return canonical(u)
}

// canonical is u as an Address.
func canonical(u *url.URL) (Address, error) {
	a := Address{Secure: u.Scheme == "https"}
	port := "443"
	switch {
	case u.Scheme == "http":
		port = "80"
	case !a.Secure:
		return Address{}, errors.New("only http:// and https:// URLs are fetched, written whole")
	case u.Opaque != "" || u.Hostname() == "":
		return Address{}, errors.New("the URL names no host")
	}
	if u.User != nil {
		return Address{}, errors.New("a URL with a user or a password before the @ is not fetched: codeagent sends no passwords")
	}
	host, err := ascii(u.Hostname())
	if err != nil {
		return Address{}, err
	}
	usual := port
	if u.Port() != "" {
		port = u.Port()
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if a.Host, err = sandbox.ParseHostPort(host + ":" + port); err != nil {
		return Address{}, err
	}
	clean := url.URL{Scheme: u.Scheme, Host: strings.TrimSuffix(a.Host.String(), ":"+usual), Path: u.Path, RawPath: u.RawPath, RawQuery: escaped(u.RawQuery)}
	if clean.Path == "" {
		clean.Path = "/"
	}
	a.URL = clean.String()
	if len(a.URL) > 3*maxURL {
		return Address{}, fmt.Errorf("the URL has %d bytes when it is written in ASCII; at most %d are taken", len(a.URL), 3*maxURL)
	}
	return a, nil
}

// ascii is a host's name as it is looked up: "bücher.de" is "xn--bcher-kva.de",
// and is shown so, because letters of two scripts can look alike.
func ascii(host string) (string, error) {
	if !strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		return host, nil
	}
	name, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", fmt.Errorf("host %.80q is not a valid host name", host)
	}
	return name, nil
}

// escaped writes the bytes of a query that are not ASCII as %XX, as browsers do.
func escaped(query string) string {
	if !strings.ContainsFunc(query, func(r rune) bool { return r >= 0x80 }) {
		return query
	}
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c >= 0x80 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
