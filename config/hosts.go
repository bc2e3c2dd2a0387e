package config

import (
	"fmt"
	"slices"

	"codeagent/sandbox"
)

// FetchHosts are what fetch_url may reach beside the hosts of the policy: they
// are codeagent's own to reach, so they open nothing to commands, and hold also
// where the sandbox cannot open single hosts.
func FetchHosts(c Config) ([]sandbox.HostPort, error) {
	return c.hosts("sandbox.allow_fetch", c.Sandbox.AllowFetch)
}

// hosts reads the list of the setting key, each host once.
func (c Config) hosts(key string, list []string) ([]sandbox.HostPort, error) {
	var out []sandbox.HostPort
	for _, text := range list {
		host, err := sandbox.ParseHostPort(text)
		if err == nil && host.Port == 0 {
			err = fmt.Errorf("host %s: name the port too, as %s", quoted(text), quoted(host.Host+":443"))
		}
		if err != nil {
			return nil, fmt.Errorf("%s (%s): %w", key, c.Origin(key), err)
		}
		if !slices.Contains(out, host) {
			out = append(out, host)
		}
	}
	return out, nil
}
