package config

import (
	"fmt"
	"slices"
)

// Masked lists the settings that some source changed, for somebody else to read: the value of
// a choice, a switch or a number, and of everything else only that it is set.
func (c Config) Masked() []string {
	var out []string
	for key := range c.origins {
		s, name, ok := find(splitKey(key))
		if !ok {
			continue
		}
		value := "(set)"
		switch s.kind() {
		case choice, flag, number:
			value = fmt.Sprint(s.at(&c, name).Interface())
		}
		out = append(out, s.key+" = "+value)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
