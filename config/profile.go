package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"codeagent/internal/short"
)

// profilesKey is the table of the user's file that holds the profiles: [profiles.NAME] has
// settings that apply when that profile is chosen.
const profilesKey = "profiles"

// profiles are those of the user's file.
type profiles struct {
	// name is the chosen one; "": none.
	name  string
	names []string
	// models are those that any of them names.
	models []string
	// values are the settings of the chosen one. They apply after the environment.
	values []value
}

// value is a setting of a file, checked.
type value struct {
	setting setting
	key     string
	name    string // in the place of NAME
	value   any
	origin  Origin
}

// takeProfiles checks all profiles of the file and removes them from the tree.
func (f *file) takeProfiles(tree map[string]any) {
	raw, ok := tree[profilesKey]
	delete(tree, profilesKey)
	all, isTable := raw.(map[string]any)
	if ok && f.top.Kind == managedKind {
		f.say([]string{profilesKey}, "managed settings have no profiles: they hold for everyone")
		return
	}
	if ok && !isTable {
		f.say([]string{profilesKey}, "profiles is a table: write [profiles.NAME]")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		inner, isTable := all[name].(map[string]any)
		if !isTable || name == "" {
			f.say([]string{profilesKey, name}, fmt.Sprintf("profiles.%s is a table: write [profiles.NAME]", name))
			continue
		}
		f.config.profiles.names = append(f.config.profiles.names, name)
		f.profile = name
		f.walk(nil, inner)
		f.profile = ""
	}
}

// takeFromFile applies a value of the file. One of the chosen profile waits for useProfile,
// one of another profile does not apply.
func (c *Config) takeFromFile(profile string, v value) {
	if model, ok := v.value.(string); ok && v.setting.key == "model" && profile != "" {
		c.profiles.models = append(c.profiles.models, model)
	}
	switch {
	case v.origin.Kind == managedKind:
		c.managed = append(c.managed, v)
		fallthrough
	case profile == "":
		c.take(v.setting, v.key, v.name, v.value, v.origin)
	case profile == c.profiles.name:
		v.origin.Kind = "profile"
		c.profiles.values = append(c.profiles.values, v)
	}
}

// checkProfile returns an error if the file does not have the chosen profile.
func (c *Config) checkProfile(file string) error {
	p := c.profiles
	if p.name == "" || slices.Contains(p.names, p.name) {
		return nil
	}
	hint := "it has none"
	if len(p.names) > 0 {
		hint = "it has " + short.Quote(strings.Join(p.names, ", "), 200)
	}
	return &Error{Origin{Kind: "flag", Name: "--profile"}, fmt.Sprintf("no [profiles.%s] in %s: %s", quoted(p.name), file, hint)}
}

// useProfile applies the chosen profile.
func (c *Config) useProfile() {
	for _, v := range c.profiles.values {
		c.take(v.setting, v.key, v.name, v.value, v.origin)
	}
}
