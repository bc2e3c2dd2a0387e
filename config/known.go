package config

import (
	"maps"
	"slices"
	"strings"
)

// What a person may type, for the completion of a shell. It comes from the settings alone: no
// provider is asked.

// Completions returns what part, the beginning of KEY=VALUE, may become: the keys of all
// settings but those with a NAME, or the values of a setting that has a few.
func Completions(part string) []string {
	var out []string
	key, _, hasValue := strings.Cut(part, "=")
	if s, _, ok := find(splitKey(key)); hasValue {
		if !ok {
			return nil
		}
		for _, c := range s.choices {
			out = append(out, key+"="+c)
		}
		return out
	}
	for _, s := range settings {
		if !strings.Contains(s.key, "NAME") {
			out = append(out, s.key+"=")
		}
	}
	return out
}

// Profiles returns the names of the profiles in the user's file.
func (c Config) Profiles() []string { return slices.Clone(c.profiles.names) }

// KnownModels returns the models that the settings name, and each provider that can be used at
// once as "NAME/", after which its model is written.
func (c Config) KnownModels(getenv func(string) string) []string {
	out := append([]string{c.Model}, c.profiles.models...)
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		if !strings.ContainsAny(name, "*?[") {
			out = append(out, name)
		}
	}
	for _, p := range c.Ready(getenv) {
		out = append(out, p.Name+"/")
	}
	var seen []string // the order stays
	return slices.DeleteFunc(out, func(name string) bool {
		known := name == "" || slices.Contains(seen, name)
		seen = append(seen, name)
		return known
	})
}
