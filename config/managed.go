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
	"codeagent/sandbox/named"
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
	c.most = newConfig()
	errs = c.most.takeFile(managedKind, ManagedFile, data)
	c.most.imply()
	for _, m := range c.most.managed {
		errs = append(errs, c.narrow(m)...)
	}
	c.managed = c.most.managed
	return errs
}

// imply adds to managed settings what they are worth nothing without: the sandbox, the policy that refuses, the
// provider.
func (c *Config) imply() {
	for _, one := range []struct{ by, key, value string }{
		{"sandbox", "sandbox.mode", WorkspaceWrite}, {"sandbox", "sandbox.fallback", "refuse"}, {"granular", "ask_for_approval", "granular"},
		{"base_url", "model_provider", ""}, {"model", "model_provider", ""},
	} {
		by := c.under(one.by)
		if _, set := c.origins[one.key]; set || by.Kind != managedKind || one.by == "sandbox" && c.Sandbox.Mode == FullAccess {
			continue
		}
		s, _, _ := find(splitKey(one.key))
		c.takeFromFile("", value{s, one.key, "", one.value, by})
	}
}

// decided returns the managed value of key.
func (c *Config) decided(key string) (value, bool) {
	i := slices.IndexFunc(c.managed, func(m value) bool { return m.key == key })
	if i < 0 {
		return value{}, false
	}
	return c.managed[i], true
}

// narrow makes the value of one setting at most m, which is in c.most.
func (c *Config) narrow(m value) (errs []error) {
	s, most := m.setting, m.setting.at(c.most, m.name).Interface()
	if pattern := splitKey(s.key); pattern[0] == "models" { // the most specific name would count
		for name := range c.Models {
			key := strings.Join([]string{"models", name, pattern[2]}, ".")
			if o, set := c.origins[key]; set && o.Kind != managedKind && !s.within(most, s.at(c, name).Interface()) {
				errs = append(errs, m.widens(key, o))
			}
		}
	}
	origin, set := c.origins[m.key]
	var now any // nil: there is no entry of that name
	if set || !slices.Contains(s.place().way, byName) {
		now = s.at(c, m.name).Interface()
	}
	list, more := now.([]string)
	switch within := s.within(most, now); {
	case more && s.narrower:
		c.take(s, m.key, m.name, union(m.value.([]string), list), m.origin)
	case set && !within:
		errs = append(errs, m.widens(m.key, origin))
	case !within || reflect.DeepEqual(now, most):
		c.take(s, m.key, m.name, m.value, m.origin)
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

// within reports whether v is most or narrower, both as the Config has them.
func (s setting) within(most, v any) bool {
	switch most := most.(type) {
	case int64:
		if n, _ := v.(int64); s.narrower && (most == 0 || n != 0 && n <= most) {
			return true
		}
	case []string:
		list, _ := v.([]string)
		return slices.Equal(most, list) || s.opens && !slices.ContainsFunc(list, func(one string) bool {
			return !slices.Contains(most, one) && (s.covers == nil || !s.covers(most, one))
		})
	}
	for at, ok := s.wider[fmt.Sprint(v)]; ok; at, ok = s.wider[at] {
		if at == fmt.Sprint(most) {
			return true
		}
	}
	return reflect.DeepEqual(v, most)
}

// coversHost reports whether the hosts of list include all of one.
func coversHost(list []string, one string) bool {
	var open []sandbox.HostPort
	for _, text := range list {
		hosts, _ := named.ParseAllowed(text) // what is not valid opens nothing
		open = append(open, hosts...)
	}
	wanted, err := named.ParseAllowed(one)
	return err == nil && !slices.ContainsFunc(wanted, func(h sandbox.HostPort) bool { return !sandbox.Allowed(open, h) })
}

func union[T comparable](a, b []T) []T {
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

// Ceiling returns nil where nothing of the sandbox is managed, and no list says what may start: nothing enforces that
// outside the sandbox, nor once commands can write what it lists.
func (c Config) Ceiling(at Place) (Ceiling, error) {
	managed, err := c.managedCeiling(at)
	if err != nil || len(c.Sandbox.AllowedPrograms) == 0 {
		return managed, err
	}
	b := newBuilder(c, at)
	_, err = b.places()
	files, bad := b.listed()
	if err = cmp.Or(err, bad); err != nil {
		return nil, err
	}
	return func(o Opening, fetch bool) string {
		switch {
		case o.Unsandboxed, slices.ContainsFunc(files, func(file string) bool { return sandbox.CoveredBy(o.Write, file) }):
			return allowedPrograms + " (" + c.Origin(allowedPrograms).String() + ")"
		case managed == nil:
			return ""
		}
		return managed(o, fetch)
	}, nil
}

func (c Config) managedCeiling(at Place) (Ceiling, error) {
	keys := c.Managed("sandbox.")
	if len(keys) == 0 {
		return nil, nil
	}
	most := *c.most
	most.Sandbox.Network = "" // hosts are compared by their names
	b := newBuilder(most, at)
	_, err := b.places()
	closed := sandbox.Policy{Write: []sandbox.Root{{Path: "/"}}}
	err = cmp.Or(err, b.denyRead(&closed), b.protectNamed(&closed))
	network, sockets, bad := b.network()
	fetched, worse := most.hosts("sandbox.allow_fetch", slices.Concat(most.Sandbox.AllowHosts, most.Sandbox.AllowFetch))
	roots := []string{b.workspace}
	for _, name := range slices.Concat(most.Sandbox.AddDirs, most.Sandbox.AddFiles) {
		made, bad := b.opened(name)
		err = cmp.Or(err, bad)
		roots = append(roots, made)
	}
	if err = cmp.Or(err, bad, worse); err != nil {
		return nil, err
	}
	return func(o Opening, fetch bool) string {
		elsewhere := slices.ContainsFunc(o.Write, func(p string) bool { return !sandbox.CoveredBy(roots, p) })
		changed := slices.ContainsFunc(o.Write, func(p string) bool { j := closed.JudgeWrite(p); return !j.Allowed })
		read := slices.ContainsFunc(o.Read, func(p string) bool { return slices.Contains(closed.DenyGlobs, p) || !closed.JudgeRead(p).Allowed })
		unlisted := func(hosts []sandbox.HostPort) bool {
			return slices.ContainsFunc(o.Hosts, func(h sandbox.HostPort) bool { return !sandbox.Allowed(hosts, h) })
		}
		for _, one := range []struct {
			key    string
			closes bool
		}{
			{keys[0], o.Unsandboxed && most.Sandbox.Mode != FullAccess},
			{"sandbox.mode", most.Sandbox.Mode == ReadOnly && len(o.Write) > 0 || most.Sandbox.Mode == Strict && len(o.Read) > 0},
			{"sandbox.add_dirs", elsewhere}, {"sandbox.add_files", elsewhere},
			{"sandbox.protected", changed}, {"sandbox.deny_read", changed || read}, {"sandbox.deny_secrets", changed || read},
			{"sandbox.allow_fetch", fetch && unlisted(fetched)}, {"sandbox.allow_hosts", !fetch && unlisted(network.Hosts)},
			{"sandbox.allow_sockets", slices.ContainsFunc(o.Sockets, func(s string) bool { return !slices.Contains(sockets, s) })},
		} {
			if m, ok := c.decided(one.key); ok && one.closes {
				return one.key + " (" + m.origin.String() + ")"
			}
		}
		return ""
	}, nil
}
