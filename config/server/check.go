package server

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"codeagent/internal/short"
	"codeagent/sandbox/named"
)

// What the values of settings may be. Each check returns an error that says what to write. No error
// shows a value that may be a key.

func quoted(text string) string { return short.Quote(text, 60) }

// CheckCommand accepts the name of a program.
func CheckCommand(program string) error {
	if strings.TrimSpace(program) == "" {
		return errors.New("must name a program; its arguments are a list of their own, args")
	}
	return nil
}

// CheckURL accepts the address of a server.
func CheckURL(address string) error {
	if strings.Contains(address, "$") {
		return nil // checked when it is used
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("invalid value %s; use an address such as \"https://mcp.example.com/mcp\"", quoted(address))
	}
	return nil
}

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z_][A-Za-z0-9_]*$") })

// CheckEnv accepts variables with their values.
func CheckEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !variableName().MatchString(name) {
			return fmt.Errorf("%s is not the name of a variable", quoted(name))
		}
	}
	return nil
}

// headerName is a token of RFC 9110, 5.6.2.
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") })

// CheckHeaders accepts HTTP headers with their values.
func CheckHeaders(headers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if !headerName().MatchString(name) {
			return fmt.Errorf("invalid header name %s", quoted(name))
		}
		if strings.ContainsFunc(headers[name], unicode.IsControl) {
			return fmt.Errorf("the header %s has control characters", quoted(name))
		}
	}
	return nil
}

// carriesKey matches the names of headers whose values are secrets.
var carriesKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)^(proxy-)?authorization$|^cookie$|key|token|secret")
})

// CheckKeys accepts headers that hold no key themselves.
func CheckKeys(headers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if carriesKey().MatchString(name) && len(variablesIn(headers[name])) == 0 {
			return fmt.Errorf("the header %s carries a key, and keys do not stand in a file. Put it in an environment variable and write \"$NAME\" or \"Bearer $NAME\"", quoted(name))
		}
	}
	return nil
}

// CheckPlaces accepts absolute paths, and such with ~/ in front.
func CheckPlaces(list []string) error {
	for i, name := range list {
		if name != "~" && !strings.HasPrefix(name, "~/") && !path.IsAbs(name) {
			return fmt.Errorf("element %d: %s is neither absolute nor begins with ~/", i+1, quoted(name))
		}
	}
	return nil
}

// CheckHosts accepts what sandbox.ParseAllowed does.
func CheckHosts(list []string) error {
	for i, text := range list {
		if _, err := named.ParseAllowed(text); err != nil {
			return fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	return nil
}
