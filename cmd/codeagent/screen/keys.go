package screen

import (
	"fmt"
	"maps"
	"slices"

	"codeagent/config"
	"codeagent/tui"
	"codeagent/tui/keys"
	"codeagent/tui/palette"
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

// look is the colours that the settings name.
func look(c config.Config) (tui.Look, error) {
	l := tui.Look{Theme: c.TUI.Theme, Own: map[string]palette.Palette{}}
	for _, name := range slices.Sorted(maps.Keys(c.Themes)) {
		l.Own[name] = *c.Themes[name]
		if err := l.Own[name].Check(); err != nil {
			return l, fmt.Errorf("%s: themes.%s: %w", c.Origin("themes."+name), name, err)
		}
	}
	if err := l.Check(); err != nil {
		return l, fmt.Errorf("%s: tui.theme: %w", c.Origin("tui.theme"), err)
	}
	return l, nil
}
