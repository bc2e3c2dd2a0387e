package config

import (
	"maps"
	"slices"
	"strings"
)

// What a person may type, for the completion of a shell. It comes from the settings alone: no
// provider is asked.

// Choices returns the values of a setting that has a few.
func Choices(key string) []string {
	s, _, ok := find(splitKey(key))
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.choices), func(c string) bool { return c == "" })
}

// SettingKeys returns the keys of all settings; NAME stands for any name.
func SettingKeys() []string {
	var out []string
	for _, s := range settings {
		out = append(out, s.key)
	}
	return out
}

// Profiles returns the names of the profiles in the user's file.
func (c Config) Profiles() []string { return slices.Clone(c.profiles.names) }

// KnownModels returns the models that the settings name, and each provider that can be used at
// once as "NAME/", after which its model is written.
func (c Config) KnownModels(getenv func(string) string) []string {
	out := []string{c.Model}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		if !strings.ContainsAny(name, "*?[") {
			out = append(out, name)
		}
	}
	for _, p := range c.Ready(getenv) {
		out = append(out, p.Name+"/")
	}
	return slices.DeleteFunc(out, func(name string) bool { return name == "" })
}
