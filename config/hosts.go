package config

import (
	"fmt"
	"slices"

	"codeagent/sandbox"
)

// FetchHosts returns what fetch_url may reach beside the hosts of the policy. Only codeagent
// itself reaches them, so they are closed to commands, and are allowed also if the sandbox
// cannot grant single hosts.
func FetchHosts(c Config) ([]sandbox.HostPort, error) {
	return c.hosts("sandbox.allow_fetch", c.Sandbox.AllowFetch)
}

// hosts parses the list of the setting key, each host once.
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
