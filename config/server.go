package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"codeagent/config/server"
)

// mcp is the [mcp] table.
type mcp struct {
	// Servers are the [mcp.servers.NAME] tables by name, with the defaults filled in.
	Servers map[string]server.Settings
	// Enabled says by name whether sessions use a server, whoever configured it; absent means that they do.
	Enabled map[string]*bool `toml:"servers.NAME.enabled"`
	// Tables are the same as the sources wrote them.
	Tables map[string]*server.Settings `toml:"servers.NAME"`
}

// checks makes a check of a setting of those of a value of its type.
func checks[T any](each ...func(T) error) func(any) error {
	return func(v any) error {
		for _, check := range each {
			if err := check(v.(T)); err != nil {
				return err
			}
		}
		return nil
	}
}

func validSeconds(v any) error {
	if v.(int64) == 0 {
		return fmt.Errorf("invalid value 0; use a whole number from 1 to %d", server.MostSeconds)
	}
	return nil
}

func validPorts(v any) error {
	for i, text := range v.([]string) {
		if n, err := strconv.ParseUint(text, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("element %d: invalid port %s; use a number from 1 to 65535, in quotes", i+1, quoted(text))
		}
	}
	return nil
}

// Ports are the ports of Publish.
func (s Sandbox) Ports() (out []uint16) {
	for _, text := range s.Publish {
		if n, err := strconv.ParseUint(text, 10, 16); err == nil {
			out = append(out, uint16(n))
		}
	}
	return out
}

func validVariables(v any) error {
	for i, name := range v.([]string) {
		if err := validVariable(name); err != nil {
			return fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	return nil
}

// takeServers checks the tables and fills in the defaults.
func (c *Config) takeServers() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Tables)) {
		table := "mcp.servers." + name
		s, problem := c.MCP.Tables[name].Complete("[" + table + "]")
		if bad := server.BadName(name); bad != "" {
			problem = bad
		}
		if problem != "" {
			errs = append(errs, &Error{c.under(table), problem})
			continue
		}
		s.Origin = server.OfUser
		if c.MCP.Servers == nil {
			c.MCP.Servers = map[string]server.Settings{}
		}
		c.MCP.Servers[name] = s
	}
	return errors.Join(errs...)
}

// Resolved replaces the variables that s names: see server.Settings.Resolve.
func (c Config) Resolved(s server.Settings, getenv func(string) string) (server.Settings, error) {
	closed := append(c.providerVariables(), c.APIKeyEnv)
	for _, p := range presets {
		closed = append(closed, p.KeyEnv)
	}
	return s.Resolve(getenv, closed)
}
