package config

import (
	"maps"
	"slices"
)

// Setting describes one row of the table.
type Setting struct {
	// Key is dotted; NAME in it stands for any name.
	Key string
	// Type is "string", "one of", "true or false", "whole number", "list of
	// strings" or "table of strings".
	Type    string
	Choices []string
	// Default is written as TOML; empty: unset.
	Default string
	// Narrower: a project's file could set it, to something narrower.
	Narrower bool
	Doc      string
}

// Table lists all settings, section by section.
func Table() []Setting {
	var out []Setting
	for _, s := range settings {
		out = append(out, Setting{s.key, string(s.kind()), slices.Clone(s.choices), s.def, s.narrower, s.doc})
	}
	return out
}

// Presets lists the built-in providers.
func Presets() []Provider { return slices.Clone(presets) }

// Keys lists the keys that a source other than the defaults set, sorted.
func (c Config) Keys() []string { return slices.Sorted(maps.Keys(c.origins)) }
