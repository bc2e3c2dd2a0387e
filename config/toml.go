package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxErrors is how many errors of one file are reported at once.
const maxErrors = 10

func (c *Config) takeFile(kind, name string, data []byte) []error {
	at := Origin{Kind: kind, Name: name, Line: 1, Column: 1}
	// Some editors put a mark before UTF-8 too. TOML begins with ASCII.
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if len(data) >= 2 && (data[0]&data[1] >= 0xFE || data[0]|data[1] < 0x80 && (data[0] == 0) != (data[1] == 0)) {
		return []error{&Error{at, "the file is UTF-16 or UTF-32: save it as UTF-8"}}
	}
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		var decode *toml.DecodeError
		if errors.As(err, &decode) {
			at.Line, at.Column = decode.Position()
		}
		return []error{&Error{at, "not valid TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}}
	}
	f := &file{config: c, top: at, places: map[string]Origin{}}
	f.locate(data)
	f.takeProfiles(tree)
	f.walk(nil, tree)
	slices.SortFunc(f.errs, func(a, b *Error) int {
		return cmp.Or(a.Origin.Line-b.Origin.Line, a.Origin.Column-b.Origin.Column)
	})
	var out []error
	for i, e := range f.errs {
		if i == maxErrors {
			out = append(out, fmt.Errorf("%s: and %d more", name, len(f.errs)-i))
			break
		}
		out = append(out, e)
	}
	return out
}

type file struct {
	config *Config
	top    Origin
	places map[string]Origin
	parser unstable.Parser
	errs   []*Error
	// profile is the [profiles.NAME] that is read; "" outside of one.
	profile string
}

func (f *file) say(parts []string, problem string) {
	f.errs = append(f.errs, &Error{f.origin(parts), problem})
}

func (f *file) origin(parts []string) Origin {
	if f.profile != "" {
		parts = append([]string{profilesKey, f.profile}, parts...)
	}
	for n := len(parts); n > 0; n-- {
		if at, ok := f.places[joinKey(parts[:n])]; ok {
			return at
		}
	}
	return f.top
}

func (f *file) walk(parts []string, node map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(node)) {
		here := append(slices.Clone(parts), key)
		raw := node[key]
		s, name, ok := find(here)
		inner, isMap := raw.(map[string]any)
		switch {
		case ok:
			f.take(s, here, name, raw)
		case isTable(here) && isMap:
			f.walk(here, inner)
		default:
			f.say(here, unknown(here))
		}
	}
}

func (f *file) take(s setting, parts []string, name string, raw any) {
	key := strings.Join(parts, ".")
	if slices.Contains(fileNever, s.key) {
		f.say(parts, fmt.Sprintf("%s is not allowed in a file; it holds for one run: -c %s=true", key, key))
		return
	}
	v, err := s.check(raw)
	if err != nil {
		f.say(parts, key+": "+err.Error())
		return
	}
	f.config.takeFromFile(f.profile, value{s, key, name, v, f.origin(parts)})
}

// joinKey joins a key whose parts may contain dots.
func joinKey(parts []string) string { return strings.Join(parts, "\x00") }

// locate finds the position of each key of a valid file, and of each table.
func (f *file) locate(data []byte) {
	f.parser.Reset(data)
	var prefix []string
	for f.parser.NextExpression() {
		n := f.parser.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			prefix = f.locateKey(nil, n)
		case unstable.KeyValue:
			f.locatePair(prefix, n)
		}
	}
}

func (f *file) locatePair(prefix []string, n *unstable.Node) {
	key := f.locateKey(prefix, n)
	if v := n.Value(); v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			f.locatePair(key, it.Node())
		}
	}
}

// locateKey records the position of n's key and of each table that the key names.
func (f *file) locateKey(prefix []string, n *unstable.Node) []string {
	key := slices.Clone(prefix)
	for it := n.Key(); it.Next(); {
		part := it.Node()
		key = append(key, string(part.Data))
		if _, ok := f.places[joinKey(key)]; !ok {
			at := f.top
			start := f.parser.Shape(part.Raw).Start
			at.Line, at.Column = start.Line, start.Column
			f.places[joinKey(key)] = at
		}
	}
	return key
}
