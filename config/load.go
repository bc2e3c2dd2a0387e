package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/config/server"
	"codeagent/hostfile"
	"codeagent/internal/short"

	"github.com/pelletier/go-toml/v2"
)

// Sources are the sources of settings, from lowest to highest priority: the defaults, the
// user's file, the environment, the profile, -c, flags.
type Sources struct {
	// File is the user's own config.toml; it may be absent.
	File string
	// Keys is the file of the kept keys; "": no key is kept.
	Keys string
	// Profile is the NAME of the [profiles.NAME] in File that applies; "": none.
	Profile string
	// Workspace is the folder that may contain .codeagent/config.toml.
	Workspace string
	// Getenv reads the environment; usually os.Getenv.
	Getenv func(string) string
	// Overrides are the arguments of -c, "key=value", in order.
	Overrides []string
	Flags     []Flag
}

// Flag is a command-line flag for a setting. The values of a list are added to those of
// other sources; otherwise the last value counts.
type Flag struct {
	// Name is the flag as the user wrote it, "--sandbox".
	Name string
	// Key is the setting that it sets.
	Key    string
	Values []string
}

// Error is a setting that cannot be used.
type Error struct {
	Origin Origin
	// Problem says what is wrong and what is expected.
	Problem string
}

func (e *Error) Error() string { return e.Origin.String() + ": " + e.Problem }

// environment maps variables to settings.
var environment = []struct{ variable, key string }{
	{"OPENAI_MODEL", "model"},
	{"OPENAI_BASE_URL", "base_url"},
}

// maxFile is far above the size of a settings file written by a person.
const maxFile = 1 << 20

// Load reads all sources. The error joins one *Error for each setting that
// cannot be used; a file that cannot be read is an error too.
func Load(ctx context.Context, src Sources) (Config, error) {
	c := newConfig()
	for _, s := range settings {
		if s.def == "" || strings.Contains(s.key, "NAME") {
			continue
		}
		v, err := s.parseValue(s.def)
		if err != nil {
			return Config{}, fmt.Errorf("bug: default of %s: %w", s.key, err)
		}
		s.apply(c, "", v)
	}
	c.profiles.name = src.Profile
	if src.Keys != "" {
		c.keys, c.unread = readKeys(ctx, src.Keys) // said where a key is needed
	}
	errs := c.loadFile(ctx, src.File)
	if len(errs) == 0 {
		errs = append(errs, c.checkProfile(src.File))
	}
	dirs := c.Sandbox.AddDirs
	for _, e := range environment {
		if t := src.Getenv(e.variable); t != "" {
			errs = append(errs, c.set(Origin{Kind: "environment", Name: e.variable}, e.key, t))
		}
	}
	c.useProfile()
	c.fileDirs = slices.Concat(dirs, c.Sandbox.AddDirs)
	for _, o := range src.Overrides {
		key, t, ok := strings.Cut(o, "=")
		key = strings.TrimSpace(key)
		origin := Origin{Kind: "-c"}
		if !ok {
			errs = append(errs, &Error{origin, quoted(o) + ": want key=value"})
			continue
		}
		errs = append(errs, c.set(origin, key, strings.TrimSpace(t)))
	}
	for _, f := range src.Flags {
		errs = append(errs, c.setFlag(f))
	}
	errs = append(errs, c.manage(ctx)...)
	errs = append(errs, c.checkTogether(), c.takeServers(), c.checkLanguages())
	if src.Workspace != "" {
		project := filepath.Join(src.Workspace, ".codeagent", "config.toml")
		if _, err := hostfile.Lstat(project); err == nil {
			c.ProjectFile = project
		}
	}
	return *c, errors.Join(errs...)
}

// Check reports what is wrong with text, as that of File; also what managed settings do not allow.
func (src Sources) Check(ctx context.Context, text []byte) error {
	c := newConfig()
	return errors.Join(append(append(c.takeFile("file", src.File, text), c.manage(ctx)...), c.checkTogether(), c.takeServers(), c.checkLanguages())...)
}

func newConfig() *Config {
	return &Config{Tools: map[string]*bool{}, Providers: map[string]*Provider{}, Backends: map[string]*Backend{}, Models: map[string]*ModelSettings{}, Bound: map[string]*[]string{}, Themes: map[string]*map[string]string{}, Extensions: Extensions{Hooks: map[string]*[]Hook{}}, MCP: mcp{Enabled: map[string]*bool{}, Tables: map[string]*server.Settings{}}, Diagnostics: diagnostics{Switches: map[string]*bool{}, Tables: map[string]*LanguageServer{}}, sources: sources{origins: map[string]Origin{}}}
}

func (c *Config) loadFile(ctx context.Context, name string) []error {
	if name == "" {
		return nil
	}
	data, err := readSome(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []error{fmt.Errorf("settings: %w", err)}
	}
	return c.takeFile("file", name, data)
}

// readSome reads a file that a command may have replaced, by a FIFO for example.
func readSome(ctx context.Context, name string) ([]byte, error) {
	return hostfile.Read(ctx, name, maxFile)
}

func (c *Config) set(origin Origin, key, t string) error {
	parts := splitKey(key)
	var v any
	var err error
	s, name, ok := find(parts)
	if ok {
		v, err = s.parseValue(t)
	} else if s, name, ok = tableOf(parts); ok {
		last := len(parts) - 1
		v, err = s.withEntry(c, name, parts[last], t)
		parts = parts[:last]
	}
	switch {
	case !ok:
		return &Error{origin, unknown(parts)}
	case err != nil:
		return &Error{origin, key + ": " + err.Error()}
	}
	c.take(s, strings.Join(parts, "."), name, v, origin)
	return nil
}

// tableOf returns the setting that is a table with an entry of the name parts.
func tableOf(parts []string) (s setting, name string, ok bool) {
	last := len(parts) - 1
	if last < 1 || parts[last] == "" {
		return s, "", false
	}
	s, name, ok = find(parts[:last])
	return s, name, ok && s.kind() == table
}

// withEntry returns the value of a table with one entry more. t is its value, in TOML or bare.
func (s setting) withEntry(c *Config, name, entry, t string) (any, error) {
	all := map[string]any{}
	for k, v := range s.at(c, name).Interface().(map[string]string) {
		all[k] = v
	}
	all[entry] = t
	var holder struct{ V string }
	if err := toml.Unmarshal([]byte("v = "+t), &holder); err == nil {
		all[entry] = holder.V
	}
	return s.check(all)
}

func (c *Config) setFlag(f Flag) error {
	origin := Origin{Kind: "flag", Name: f.Name}
	s, name, ok := find(splitKey(f.Key))
	switch {
	case !ok:
		return fmt.Errorf("bug: flag %s stands for the unknown setting %s", f.Name, f.Key)
	case len(f.Values) == 0:
		return nil
	}
	v, err := s.parseFlag(f.Values)
	if err != nil {
		return &Error{origin, err.Error()}
	}
	if list, ok := v.([]string); ok {
		v = slices.Concat(s.at(c, name).Interface().([]string), list)
	}
	c.take(s, f.Key, name, v, origin)
	return nil
}

func (c *Config) take(s setting, key, name string, v any, origin Origin) {
	s.apply(c, name, v)
	c.origins[key] = origin
}

// checkTogether checks the rules that involve several settings.
func (c *Config) checkTogether() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		if p, _ := c.named(name); p.BaseURL == "" {
			errs = append(errs, &Error{c.under("providers." + name), fmt.Sprintf("[providers.%s] has no base_url", name)})
		}
		if strings.Contains(name, "/") {
			errs = append(errs, &Error{c.under("providers." + name), fmt.Sprintf("the name %s of a provider holds a slash, which ends it in --model", quoted(name))})
		}
	}
	if _, ok := c.named(c.ModelProvider); c.ModelProvider != "" && !ok {
		var names []string
		for _, p := range c.AllProviders() {
			names = append(names, p.Name)
		}
		hint := cmp.Or(short.Meant(c.ModelProvider, names), fmt.Sprintf(": add [providers.%s] with its base_url", c.ModelProvider))
		errs = append(errs, &Error{c.Origin("model_provider"), "model_provider is " + quoted(c.ModelProvider) + ", which is not configured" + hint})
	}
	return errors.Join(errs...)
}

// under returns the first origin of key or a setting below it.
func (c *Config) under(key string) Origin {
	var first *Origin
	for k, o := range c.origins {
		if strings.HasPrefix(k+".", key+".") && (first == nil || o.Line < first.Line) {
			first = &o
		}
	}
	if first == nil {
		return Origin{Kind: "default"}
	}
	return *first
}

// splitKey splits a dotted key; a part in double quotes may contain dots.
func splitKey(key string) []string {
	var parts []string
	for {
		quote, rest, ok := strings.Cut(strings.TrimPrefix(key, `"`), `"`)
		if !strings.HasPrefix(key, `"`) || !ok || rest != "" && rest[0] != '.' {
			quote, rest, ok = strings.Cut(key, ".")
			parts = append(parts, quote)
			if !ok {
				return parts
			}
			key = rest
			continue
		}
		parts = append(parts, quote)
		if rest == "" {
			return parts
		}
		key = rest[1:]
	}
}

// Known reports whether the dotted key is a setting, or an entry of one that is a table.
func Known(key string) bool {
	_, _, ok := find(splitKey(key))
	if !ok {
		_, _, ok = tableOf(splitKey(key))
	}
	return ok
}

// unknown returns the error for a key that is not in the table, with the most similar key.
func unknown(parts []string) string {
	key := strings.Join(parts, ".")
	if isTable(parts) {
		return fmt.Sprintf("%s is a table, not a value: set one of %s", key, strings.Join(below(parts), ", "))
	}
	for n := 1; n < len(parts); n++ {
		if s, _, ok := find(parts[:n]); ok && s.kind() != table {
			return fmt.Sprintf("%s takes %s, nothing lies below it", s.key, s.wants())
		}
	}
	var known []string
	for _, s := range settings {
		known = append(known, concrete(splitKey(s.key), parts))
	}
	hint := short.Meant(key, known)
	// The last part may be right and only the table missing: "add_dirs".
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasSuffix(k, "."+key) }); hint == "" && i >= 0 {
		hint = short.Meant(known[i], known)
	}
	return "unknown setting " + quoted(key) + cmp.Or(hint, " (codeagent help config lists them all)")
}
