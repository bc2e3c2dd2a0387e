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
	Enabled map[string]*bool

	// tables are the same as the sources wrote them.
	tables map[string]*server.Settings
}

// serverRow is the row of a setting of [mcp.servers.NAME].
func serverRow(key, doc string, field func(*server.Settings) any) setting {
	s := setting{
		key: "mcp.servers.NAME." + key, doc: doc,
		at: func(c *Config, name string) any { return field(entry(c.MCP.tables, name)) },
	}
	switch key {
	case "startup_timeout_s":
		s.most, s.def, s.valid = server.MostSeconds, strconv.Itoa(server.StartupSeconds), validSeconds
	case "tool_timeout_s":
		s.most, s.def, s.valid = server.MostSeconds, strconv.Itoa(server.ToolSeconds), validSeconds
	case "required":
		s.def = "false"
	case "cwd":
		s.choices = []string{"private", "workspace"}
	case "sandbox.workspace":
		s.choices, s.def = []string{"read", "write", "none"}, `"read"`
	case "command":
		s.valid = checks(server.CheckCommand)
	case "url":
		s.valid = checks(server.CheckURL)
	case "env":
		s.valid = checks(server.CheckEnv)
	case "headers":
		s.valid = checks(server.CheckHeaders, server.CheckKeys)
	case "sandbox.env":
		s.valid = validVariables
	case "sandbox.read", "sandbox.write", "sandbox.allow_sockets":
		s.valid = checks(server.CheckPlaces)
	case "sandbox.allow_hosts":
		s.valid = checks(server.CheckHosts)
	}
	return s
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
	for _, name := range slices.Sorted(maps.Keys(c.MCP.tables)) {
		table := "mcp.servers." + name
		s, problem := c.MCP.tables[name].Complete("[" + table + "]")
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
