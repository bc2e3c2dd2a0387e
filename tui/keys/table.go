package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	nearest "codeagent/internal/short"
)

// Scope says where a key holds, in the words of /help.
type Scope string

// Binding is one line of the table of keys.
type Binding struct {
	Where Scope
	Keys  []string
	Do    Action
	Help  string
}

// Setting names the binding below [keys] in config.toml; "": the keys cannot be changed,
// because they are the answers of a question.
func (b Binding) Setting() string {
	if b.Do == Option {
		return ""
	}
	return short[b.Where] + strings.ReplaceAll(string(b.Do), " ", "-")
}

// KeyNames lists the keys as people write them.
func (b Binding) KeyNames() string {
	var out []string
	for _, k := range b.Keys {
		out = append(out, keyName(k))
	}
	return strings.Join(out, ", ")
}

// Table says which key means which action.
type Table struct {
	Bindings []Binding
	find     map[Scope]map[string]Action
}

// Standard is the table without the person's changes.
func Standard() *Table { return newTable(standard()) }

func newTable(bindings []Binding) *Table {
	t := &Table{Bindings: bindings, find: map[Scope]map[string]Action{}}
	for _, b := range bindings {
		if t.find[b.Where] == nil {
			t.find[b.Where] = map[string]Action{}
		}
		for _, k := range b.Keys {
			t.find[b.Where][k] = b.Do
		}
	}
	return t
}

// Find looks k up in the scopes; the first one that has it wins.
func (t *Table) Find(k tea.Key, scopes ...Scope) Action {
	for _, s := range scopes {
		if do, ok := t.find[s][k.Keystroke()]; ok {
			return do
		}
	}
	return None
}

// Name is the first key of an action, for hints: "Ctrl+Y".
func (t *Table) Name(where Scope, do Action) string {
	for _, b := range t.Bindings {
		if b.Where == where && b.Do == do && len(b.Keys) > 0 {
			return keyName(b.Keys[0])
		}
	}
	return ""
}

// keyName writes a key as people do.
func keyName(k string) string {
	parts := strings.Split(k, "+")
	names := map[string]string{"pgup": "PgUp", "pgdown": "PgDn", "esc": "Esc"}
	for i, p := range parts {
		if n, ok := names[p]; ok {
			parts[i] = n
		} else if len(p) > 1 || len(parts) > 1 {
			parts[i] = strings.ToUpper(p[:min(1, len(p))]) + p[min(1, len(p)):]
		}
	}
	return strings.Join(parts, "+")
}

// Change gives an action other keys.
type Change struct {
	// Setting is the name below [keys], At its place for errors: "config.toml:4:1".
	Setting, At string
	Keys        []string
}

// Rebind returns the standard table with the person's changes. Its error names each change
// that cannot be made, with the key and what it clashes with.
func Rebind(changes []Change) (*Table, error) {
	bindings := standard()
	at := map[string]string{} // of the settings that are changed
	var errs []error
	for _, c := range changes {
		i := slices.IndexFunc(bindings, func(b Binding) bool { return b.Setting() == c.Setting && c.Setting != "" })
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s: keys.%s: no such action%s", c.At, c.Setting, didYouMean(c.Setting)))
			continue
		}
		keys, err := bindings[i].accept(c.Keys)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: keys.%s: %w", c.At, c.Setting, err))
			continue
		}
		bindings[i].Keys, at[c.Setting] = keys, c.At
	}
	errs = append(errs, clashes(bindings, at)...)
	return newTable(bindings), errors.Join(errs...)
}

func didYouMean(setting string) string {
	var known []string
	for _, b := range standard() {
		if s := b.Setting(); s != "" {
			known = append(known, s)
		}
	}
	if near := nearest.Nearest(setting, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return " (/keys lists them)"
}

// needed are the actions that must keep a key: without them the screen cannot be left,
// or nothing can be sent.
var needed = []string{"interrupt", "back", "message-send"}

// accept checks the keys of a change, and returns them in the form of the table.
func (b Binding) accept(want []string) ([]string, error) {
	if len(want) == 0 && slices.Contains(needed, b.Setting()) {
		return nil, errors.New("this action needs a key")
	}
	var out []string
	for _, k := range want {
		key, err := canonical(k)
		if err != nil {
			return nil, err
		}
		if typed(key) && b.Where != InOverlay && b.Where != InBlock && b.Where != InReading {
			return nil, fmt.Errorf("the key %q types text here; add ctrl+ or alt+", k)
		}
		if slices.Contains(out, key) {
			return nil, fmt.Errorf("the key %q is listed twice", k)
		}
		out = append(out, key)
	}
	return out, nil
}

var (
	modifiers = []string{"ctrl", "alt", "shift", "meta", "hyper", "super"} // in the order of a keystroke
	named     = []string{"enter", "tab", "backspace", "esc", "space", "up", "down", "left", "right", "begin", "find", "insert", "delete", "select",
		"pgup", "pgdown", "home", "end", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12"}
)

// canonical is a key as Bubble Tea names it when it is pressed: "Shift+Ctrl+A" is
// "ctrl+shift+a".
func canonical(k string) (string, error) {
	rest, held := strings.ToLower(k), map[string]bool{}
	for {
		mod, after, ok := strings.Cut(rest, "+")
		if !ok || after == "" || !slices.Contains(modifiers, mod) || held[mod] {
			break
		}
		held[mod], rest = true, after
	}
	switch rest {
	case "escape":
		rest = "esc"
	case "return":
		rest = "enter"
	case " ":
		rest = "space"
	case "pageup":
		rest = "pgup"
	case "pagedown":
		rest = "pgdown"
	}
	if !slices.Contains(named, rest) && (utf8.RuneCountInString(rest) != 1 || rest < " ") {
		return "", fmt.Errorf("there is no key %q; write it like ctrl+k, alt+enter, shift+tab or f5", k)
	}
	out := ""
	for _, mod := range modifiers {
		if held[mod] {
			out += mod + "+"
		}
	}
	return out + rest, nil
}

// typed reports whether a key enters text.
func typed(k string) bool {
	k = strings.TrimPrefix(k, "shift+")
	return k == "space" || utf8.RuneCountInString(k) == 1
}

// clashes are keys that would mean two things in one place. A key of a scope hides the
// same key of everywhere; the standard table does that on purpose.
func clashes(bindings []Binding, at map[string]string) []error {
	type place struct {
		where Scope
		key   string
	}
	intended := map[place]bool{}
	for _, b := range standard() {
		for _, k := range b.Keys {
			intended[place{b.Where, k}] = true
		}
	}
	owner, wide := map[place]Binding{}, map[string]Binding{}
	var errs []error
	clash := func(key string, one, other Binding) {
		if at[one.Setting()] == "" {
			one, other = other, one
		}
		also := ""
		if place := at[other.Setting()]; place != "" {
			also = " (" + place + ")"
		}
		errs = append(errs, fmt.Errorf("%s: keys.%s: the key %q is taken by %s%s: %s", at[one.Setting()], one.Setting(), key, other.label(), also, other.Help))
	}
	for _, b := range bindings {
		for _, k := range b.Keys {
			if other, taken := owner[place{b.Where, k}]; taken {
				clash(k, b, other)
				continue
			}
			owner[place{b.Where, k}] = b
			if b.Where == Everywhere {
				wide[k] = b
			} else if other, taken := wide[k]; taken && !(intended[place{b.Where, k}] && intended[place{Everywhere, k}]) {
				clash(k, b, other)
			}
		}
	}
	return errs
}

// label names a binding in an error.
func (b Binding) label() string {
	if s := b.Setting(); s != "" {
		return s
	}
	return "the answers of a question"
}
