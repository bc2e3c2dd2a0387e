package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

// ManagedFile holds the settings of the machine's owner. They narrow: no other source sets a wider value. Only
// tests change its place.
var ManagedFile = "/etc/codeagent/managed.toml"

var managedOwner uint32 // root

// readManaged reads the managed settings. Threat: somebody else than root replaces them. What cannot be trusted or
// read is an error, never nothing.
func readManaged(ctx context.Context) ([]byte, error) {
	file, err := hostfile.Ground{}.Resolve("/", ManagedFile)
	for _, name := range []string{path.Dir(file), file} {
		var info fs.FileInfo
		if err == nil {
			info, err = hostfile.Lstat(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != managedOwner || info.Mode().Perm()&0o022 != 0 {
			return nil, fmt.Errorf("%s must belong to root, and nobody else may write it (chown root, chmod go-w)", name)
		}
	}
	return hostfile.Read(ctx, file, maxFile)
}

// manage narrows c to the managed settings. A value of another source that is wider is an error, which says who
// decides; a default gives way.
func (c *Config) manage(ctx context.Context) (errs []error) {
	data, err := readManaged(ctx)
	if err != nil {
		return []error{fmt.Errorf("managed settings: %w", err)}
	}
	if data == nil {
		return nil
	}
	c.managing = true
	errs = c.takeFile(ManagedFile, data)
	c.managing = false
	c.imply()
	for _, m := range c.managed {
		errs = append(errs, c.narrow(m)...)
	}
	return errs
}

// imply adds what managed settings are worth nothing without: the sandbox, the policy that refuses, the provider.
func (c *Config) imply() {
	for _, one := range []struct{ table, key, value string }{
		{"sandbox.", "sandbox.mode", WorkspaceWrite}, {"sandbox.", "sandbox.fallback", "refuse"}, {"granular.", "ask_for_approval", "granular"},
		{"base_url", "model_provider", ""}, {"model", "model_provider", ""},
	} {
		i := slices.IndexFunc(c.managed, func(m value) bool {
			return m.key == one.table || strings.HasSuffix(one.table, ".") && strings.HasPrefix(m.key, one.table)
		})
		if _, set := c.decided(one.key); set || i < 0 || one.table == "sandbox." && c.opensAll() {
			continue
		}
		s, _, _ := find(splitKey(one.key))
		c.managed = append(c.managed, value{s, one.key, "", one.value, c.managed[i].origin})
	}
}

// opensAll reports whether the managed settings allow to do without a sandbox.
func (c *Config) opensAll() bool {
	m, _ := c.decided("sandbox.mode")
	return m.value == FullAccess
}

// decided returns the managed value of key.
func (c *Config) decided(key string) (value, bool) {
	for _, m := range c.managed {
		if m.key == key {
			return m, true
		}
	}
	return value{}, false
}

// narrow makes the value of one setting at most m.
func (c *Config) narrow(m value) (errs []error) {
	s := m.setting
	pattern := splitKey(s.key)
	if pattern[0] == "models" { // the most specific name would count
		for name := range c.Models {
			key := strings.Join([]string{"models", name, pattern[2]}, ".")
			if o, set := c.origins[key]; set && o.Kind != managedKind && !s.within(m.value, s.at(c, name).Interface()) {
				errs = append(errs, m.widens(key, o))
			}
		}
	}
	origin, set := c.origins[m.key]
	now := s.unset()
	if set || !strings.Contains(s.key, "NAME") && s.event == "" {
		now = s.at(c, m.name).Interface()
	}
	list, more := now.([]string)
	switch {
	case more && s.narrower:
		c.take(s, m.key, m.name, union(m.value.([]string), list), m.origin)
	case s.within(m.value, now):
		if reflect.DeepEqual(now, s.plain(m.value)) {
			c.take(s, m.key, m.name, m.value, m.origin)
		}
	case !set:
		c.take(s, m.key, m.name, m.value, m.origin)
	default:
		errs = append(errs, m.widens(m.key, origin))
	}
	return errs
}

const managedKind = "managed"

// widens is the error that the value of another source is wider than m.
func (m value) widens(key string, o Origin) error {
	text := ""
	if k := m.setting.kind(); k != table && k != tables {
		text = ", which says " + quoted(fmt.Sprint(m.value))
	}
	return &Error{o, fmt.Sprintf("%s: the managed settings of this machine decide (%s%s), and this is not within that", key, m.origin, text)}
}

// unset is the value of a setting with a NAME that nothing set.
func (s setting) unset() any {
	if s.def != "" {
		if v, err := s.parseValue(s.def); err == nil {
			return s.plain(v)
		}
	}
	return reflect.Zero(s.place().of).Interface()
}

// plain is a checked value as the Config has it.
func (s setting) plain(v any) any {
	var c = newConfig()
	s.apply(c, "plain", v)
	return s.at(c, "plain").Interface()
}

// within reports whether v, as the Config has it, is most, as check returns it, or narrower.
func (s setting) within(most, v any) bool {
	if k := s.place().of.Kind(); k == reflect.String || k == reflect.Bool {
		for at, ok := fmt.Sprint(v), true; ok; at, ok = s.wider[at] {
			if at == fmt.Sprint(most) {
				return true
			}
		}
		return false
	}
	switch most := most.(type) {
	case int64:
		if n, ok := v.(int64); ok && s.narrower && (most == 0 || n != 0 && n <= most) {
			return true
		}
	case []string:
		if list := v.([]string); s.opens {
			return !slices.ContainsFunc(list, func(one string) bool { return !slices.Contains(most, one) })
		}
		return slices.Equal(most, v.([]string))
	}
	return reflect.DeepEqual(v, s.plain(most))
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// Decides returns an error that says who decides, if the managed settings do not allow text for the setting key, or
// in its list, during a session.
func (c Config) Decides(key, text string) error {
	m, ok := c.decided(key)
	var v any = text
	if ok && m.setting.kind() == texts {
		v = []string{text}
	}
	if !ok || m.setting.within(m.value, v) {
		return nil
	}
	return m.widens(key, Origin{Kind: "session"})
}

// DecidesModel is Decides for the model to ask.
func (c Config) DecidesModel(p Provider, model string) error {
	provider, set := c.decided("model_provider")
	_, url := c.decided("base_url")
	if set && (url || provider.value != "") && p.Name != provider.value {
		return provider.widens("model_provider", Origin{Kind: "session"})
	}
	if m, ok := c.decided("model"); ok && model != "" && m.value != model && m.value != p.Name+"/"+model {
		return m.widens("model", Origin{Kind: "session"})
	}
	return nil
}

// Managed lists the keys that the managed settings decide, of those that begin with prefix.
func (c Config) Managed(prefix string) (keys []string) {
	for _, m := range c.managed {
		if strings.HasPrefix(m.key, prefix) {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// Ceiling says what a person can still open where settings are managed: as much as by settings of their own. It
// names the setting that does not allow a grant, for a fetch or a command; "" allows it.
type Ceiling func(o Opening, fetch bool) string

// Opening is what would be opened: as in sandbox.Grant, which only approvals may build.
type Opening struct {
	Write, Read, Sockets []string
	Hosts                []sandbox.HostPort
	Unsandboxed          bool
}

// Ceiling returns nil where nothing of the sandbox is managed.
func (c Config) Ceiling(at Place) (Ceiling, error) {
	keys := c.Managed("sandbox.")
	if len(keys) == 0 {
		return nil, nil
	}
	list := func(key string) (values []string, set bool) {
		m, set := c.decided(key)
		values, _ = m.value.([]string)
		return values, set
	}
	own := c
	own.Sandbox.DenyRead, _ = list("sandbox.deny_read")
	own.Sandbox.Protected, _ = list("sandbox.protected")
	secrets, _ := c.decided("sandbox.deny_secrets")
	own.Sandbox.DenySecrets = secrets.value == true
	b := newBuilder(own, at)
	_, err := b.places()
	closed := sandbox.Policy{Write: []sandbox.Root{{Path: "/"}}}
	err = cmp.Or(err, b.denyRead(&closed), b.protectNamed(&closed))
	dirs, dirsSet := list("sandbox.add_dirs")
	files, filesSet := list("sandbox.add_files")
	sockets, socketsSet := list("sandbox.allow_sockets")
	commands, hostsSet := list("sandbox.allow_hosts")
	pages, pagesSet := list("sandbox.allow_fetch")
	paths := func(names []string) (out []string) {
		for _, name := range names {
			made, bad := b.opened(name)
			err = cmp.Or(err, bad)
			out = append(out, made)
		}
		return out
	}
	roots, sockets := append(paths(slices.Concat(dirs, files)), b.workspace), paths(sockets)
	hosts, bad := c.hosts("sandbox.allow_hosts", commands)
	fetched, worse := c.hosts("sandbox.allow_fetch", slices.Concat(commands, pages))
	if err = cmp.Or(err, bad, worse); err != nil {
		return nil, err
	}
	mode, _ := c.decided("sandbox.mode")
	says := func(key string, closed bool) string {
		if m, ok := c.decided(key); ok && closed {
			return key + " (" + m.origin.String() + ")"
		}
		return ""
	}
	return func(g Opening, fetch bool) string {
		key := says(keys[0], g.Unsandboxed && !c.opensAll())
		for _, p := range g.Write {
			named := (dirsSet || filesSet) && !sandbox.CoveredBy(roots, p)
			j := closed.JudgeWrite(p)
			key = cmp.Or(key, says("sandbox.mode", mode.value == ReadOnly), says("sandbox.add_dirs", named), says("sandbox.add_files", named))
			if !j.Allowed {
				key = cmp.Or(key, says("sandbox.protected", true), says("sandbox.deny_read", true), says("sandbox.deny_secrets", true))
			}
		}
		for _, p := range g.Read {
			key = cmp.Or(key, says("sandbox.mode", mode.value == Strict))
			if slices.Contains(closed.DenyGlobs, p) || !closed.JudgeRead(p).Allowed {
				key = cmp.Or(key, says("sandbox.deny_read", true), says("sandbox.deny_secrets", true))
			}
		}
		for _, h := range g.Hosts {
			if fetch {
				key = cmp.Or(key, says("sandbox.allow_fetch", pagesSet && !slices.Contains(fetched, h)))
			} else {
				key = cmp.Or(key, says("sandbox.allow_hosts", hostsSet && !slices.Contains(hosts, h)))
			}
		}
		for _, s := range g.Sockets {
			key = cmp.Or(key, says("sandbox.allow_sockets", socketsSet && !slices.Contains(sockets, s)))
		}
		return key
	}, nil
}
