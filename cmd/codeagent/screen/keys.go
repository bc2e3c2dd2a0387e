package screen

import (
	"maps"
	"slices"

	"codeagent/config"
	"codeagent/tui/keys"
)

// keyTable is the table of keys with the person's changes; nil without changes.
func keyTable(c config.Config) (*keys.Table, error) {
	var changes []keys.Change
	for _, name := range slices.Sorted(maps.Keys(c.Bound)) {
		changes = append(changes, keys.Change{Setting: name, Keys: *c.Bound[name], At: c.Origin("keys." + name).String()})
	}
	if len(changes) == 0 {
		return nil, nil
	}
	return keys.Rebind(changes)
}
