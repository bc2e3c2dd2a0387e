package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"codeagent/internal/short"
)

// Extensions are the hooks of the user's file, and what else brings hooks and skills.
type Extensions struct {
	// Hooks holds the [[hooks.EVENT]] tables by event.
	Hooks map[string]*[]Hook `toml:"hooks.NAME"`
	// Trusted is trusted_folders, as written.
	Trusted []string `toml:"trusted_folders"`
	// Claude is claude_code: the hooks and skills of Claude Code are read too.
	Claude bool `toml:"claude_code"`
}

// Hook is one [[hooks.EVENT]] table.
type Hook struct {
	Match, Command string
	// Seconds is timeout_s; 0: the default.
	Seconds int64
}

// mostHookSeconds bounds timeout_s.
const mostHookSeconds = 600

func hook(event, doc string) setting {
	return setting{key: "hooks." + event, event: event, doc: doc}
}

// HooksOf returns the settings of a project's hooks.toml alone: it has [[hooks.EVENT]] tables as
// config.toml does, and anything else in it is an error.
func (Config) HooksOf(name string, data []byte) (Config, error) {
	c := newConfig()
	errs := c.takeFile("file", name, data)
	for _, key := range slices.Sorted(maps.Keys(c.origins)) {
		if !strings.HasPrefix(key, "hooks.") {
			errs = append(errs, &Error{c.origins[key], key + ": this file has [[hooks.EVENT]] tables only"})
		}
	}
	if len(c.profiles.names) > 0 {
		errs = append(errs, fmt.Errorf("%s: profiles: this file has [[hooks.EVENT]] tables only", name))
	}
	return *c, errors.Join(errs...)
}

// checkHooks converts a list of tables.
func checkHooks(list []any) ([]Hook, error) {
	out := make([]Hook, len(list))
	for i, element := range list {
		table, ok := element.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("element %d: got %s; use a table", i+1, describe(element))
		}
		if err := out[i].fill(table); err != nil {
			return nil, fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	return out, nil
}

func (h *Hook) fill(table map[string]any) error {
	keys := []string{"command", "match", "timeout_s"}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		ok := false
		switch key {
		case "command":
			h.Command, ok = table[key].(string)
		case "match":
			h.Match, ok = table[key].(string)
		case "timeout_s":
			h.Seconds, ok = table[key].(int64)
			ok = ok && h.Seconds > 0 && h.Seconds <= mostHookSeconds
		default:
			return fmt.Errorf("unknown key %s%s; a hook has command, match and timeout_s", quoted(key), short.Meant(key, keys))
		}
		if !ok {
			return fmt.Errorf("%s: got %s; use %s", key, describe(table[key]), map[string]string{"command": "a string", "match": "a string", "timeout_s": fmt.Sprintf("a whole number from 1 to %d", mostHookSeconds)}[key])
		}
	}
	if strings.TrimSpace(h.Command) == "" || strings.ContainsRune(h.Command, 0) {
		return fmt.Errorf("a hook needs a command")
	}
	if h.Match != "" && h.Match != "*" {
		if _, err := regexp.Compile(h.Match); err != nil {
			return fmt.Errorf("match %s is not a regular expression", quoted(h.Match))
		}
	}
	return nil
}
