package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"codeagent/config/server"
	"codeagent/sandbox"
	"codeagent/sandbox/named"

	"github.com/pelletier/go-toml/v2"
)

// Snippet is a part of a settings file that gives more permissions.
type Snippet struct {
	// TOML is the text: a [sandbox] table whose lists hold c's values and the needed ones;
	// empty when nothing was added.
	TOML string
	// Left lists the paths, hosts and sockets that no setting can allow, each with its reason.
	Left []string
}

// snippet is the table in the form that is encoded.
type snippet struct {
	Sandbox struct {
		AddDirs      []string `toml:"add_dirs,multiline,omitempty"`
		AddFiles     []string `toml:"add_files,multiline,omitempty"`
		AllowHosts   []string `toml:"allow_hosts,multiline,omitempty"`
		AllowSockets []string `toml:"allow_sockets,multiline,omitempty"`
	} `toml:"sandbox"`
}

// grantWriter collects settings that open something. It tries each on the policy that it leads to.
type grantWriter struct {
	home, command string
	// denials are refused calls that must pass then.
	denials []sandbox.Denial
	// policy has all that was added.
	policy func() (sandbox.Policy, error)
	added  []Flag
	left   []string
}

// add appends value to the list of the setting key if that accepts it and opens then holds.
func (o *grantWriter) add(key string, list *[]string, value string, opens func(sandbox.Policy) error) error {
	before := *list
	if slices.Contains(before, value) {
		return nil
	}
	*list = append(slices.Clone(before), value)
	setting, _, _ := find(splitKey(key))
	_, err := setting.check([]any{value})
	if err == nil {
		var p sandbox.Policy
		if p, err = o.policy(); err == nil && opens != nil {
			err = opens(p)
		}
	}
	if err != nil {
		*list = before
		return err
	}
	o.added = append(o.added, Flag{Name: openingFlags[key], Key: key, Values: []string{value}})
	return nil
}

// write adds target, or else the nearest folder around it that may be suggested, is accepted and helps.
func (o *grantWriter) write(target string, add func(path string, opens func(sandbox.Policy) error) error) {
	opened := target
	opens := func(p sandbox.Policy) error {
		for _, d := range append(o.denials, sandbox.Denial{Kind: sandbox.KindWrite, Target: target}) {
			written := d.Kind == sandbox.KindWrite || d.Kind == sandbox.KindMetadata || d.Kind == sandbox.KindProtected
			if j := p.JudgeWrite(d.Target); written && sandbox.Covers(target, d.Target) && !j.Allowed {
				return fmt.Errorf("%s stays refused: %s", d.Target, j.Why())
			}
			if d.Target == opened && removes(d) && slices.Contains(p.Write, sandbox.Root{Path: opened}) {
				return fmt.Errorf("%s is a folder, and one that is opened itself is not removed or renamed", opened)
			}
		}
		return nil
	}
	first := add(target, opens)
	base, err := o.policy()
	for dir, failed := path.Dir(target), first; failed != nil; dir = path.Dir(dir) {
		if err != nil || base.Unsuggested(o.home, dir) != "" {
			o.left = append(o.left, target+": "+first.Error())
			return
		}
		opened = dir
		failed = add(dir, opens)
	}
}

// emptied reports whether the absent folder at path was emptied and removed.
func (o *grantWriter) emptied(path string) bool {
	return slices.ContainsFunc(o.denials, func(d sandbox.Denial) bool { return d.Target == path && removes(d) }) &&
		slices.ContainsFunc(o.denials, func(d sandbox.Denial) bool { return d.Target != path && sandbox.Covers(path, d.Target) })
}

// removes reports whether d was refused to take a name away.
func removes(d sandbox.Denial) bool {
	return slices.ContainsFunc([]string{"rmdir", "rename", "unlink"}, func(call string) bool { return strings.HasPrefix(d.Operation, call) })
}

// commands adds what needs opens to commands. name writes a path.
func (o *grantWriter) commands(s *Sandbox, files sandbox.FileSystem, needs sandbox.Grant, name func(string) string) {
	for _, target := range needs.Write {
		o.write(target, func(p string, opens func(sandbox.Policy) error) error {
			mode, err := files.Lstat(p)
			switch {
			case err == nil && mode.IsDir():
				return o.add("sandbox.add_dirs", &s.AddDirs, name(p), opens)
			case err == nil && mode.IsRegular(), errors.Is(err, fs.ErrNotExist) && !o.emptied(p):
				return o.add("sandbox.add_files", &s.AddFiles, name(p), opens)
			}
			return errors.New("neither a file nor a folder")
		})
	}
	o.reach(needs, "sandbox.", &s.AllowHosts, &s.AllowSockets, name)
}

// reach adds the hosts and sockets of needs to the settings of a table.
func (o *grantWriter) reach(needs sandbox.Grant, table string, hosts, sockets *[]string, name func(string) string) {
	for _, h := range needs.Hosts {
		if err := o.add(table+"allow_hosts", hosts, named.WithPort(o.command, h.String()), nil); err != nil {
			o.left = append(o.left, h.String()+": "+err.Error())
		}
	}
	for _, p := range needs.Sockets {
		if err := o.add(table+"allow_sockets", sockets, name(p), nil); err != nil {
			o.left = append(o.left, p+": "+err.Error())
		}
	}
}

// Write formats needs, the refused calls of which are denials, as settings over c. It tests each line, and
// leaves out what Policy would refuse and what would not help.
func Write(c Config, at Place, needs sandbox.Grant, denials []sandbox.Denial) (Snippet, error) {
	o := grantWriter{home: at.Home, denials: denials, policy: func() (sandbox.Policy, error) { return Policy(c, at) }}
	s := &c.Sandbox
	o.commands(s, at.Files, needs, at.tilde)
	out := Snippet{Left: o.left}
	if len(o.added) == 0 {
		return out, nil
	}
	var t snippet
	t.Sandbox.AddDirs, t.Sandbox.AddFiles, t.Sandbox.AllowHosts, t.Sandbox.AllowSockets = s.AddDirs, s.AddFiles, s.AllowHosts, s.AllowSockets
	text, err := toml.Marshal(t)
	out.TOML = string(text)
	return out, err
}

// openingFlags are the flags of the settings that open something to commands.
var openingFlags = map[string]string{
	"sandbox.add_dirs": "--add-dir", "sandbox.add_files": "--add-file", "sandbox.allow_hosts": "--allow-host", "sandbox.allow_sockets": "--allow-socket",
}

// Flags is Write for a command line: the flags that open what command needs where c holds, and what none opens.
// A host that was only looked up gets the port that the command names, or the usual one.
func (at Place) Flags(c Config, command string, needs sandbox.Grant, denials []sandbox.Denial) (flags []Flag, left []string) {
	dirs, files := len(c.Sandbox.AddDirs), len(c.Sandbox.AddFiles)
	o := grantWriter{home: at.Home, denials: denials, command: command}
	o.policy = func() (sandbox.Policy, error) {
		typed := c
		typed.origins = maps.Collect(maps.All(c.origins))
		for key, is := range map[string]bool{"sandbox.add_dirs": len(c.Sandbox.AddDirs) > dirs, "sandbox.add_files": len(c.Sandbox.AddFiles) > files} {
			if is {
				typed.origins[key] = Origin{Kind: "flag", Name: openingFlags[key]}
			}
		}
		return Policy(typed, at)
	}
	for _, name := range needs.Read {
		o.left = append(o.left, name+": no flag opens what is closed to reading")
	}
	o.commands(&c.Sandbox, at.Files, needs, func(name string) string { return name })
	return o.added, o.left
}

// ServerNeeds returns needs as elements of the lists of a server's table sandbox, by the name of the
// list. It tests each as Write does. own is as in ServerPolicy.
func (at Place) ServerNeeds(c Config, s server.Settings, own string, needs sandbox.Grant, denials []sandbox.Denial) (lists map[string][]string, left []string) {
	const table = "mcp.servers.NAME.sandbox."
	o := grantWriter{home: at.Home, denials: denials, policy: func() (sandbox.Policy, error) { return ServerPolicy(c, at, s, own, nil) }}
	for _, name := range needs.Read {
		if err := o.add(table+"read", &s.Sandbox.Read, at.tilde(name), nil); err != nil {
			o.left = append(o.left, name+": "+err.Error())
		}
	}
	for _, name := range needs.Write {
		o.write(name, func(p string, opens func(sandbox.Policy) error) error {
			return o.add(table+"write", &s.Sandbox.Write, at.tilde(p), opens)
		})
	}
	o.reach(needs, table, &s.Sandbox.AllowHosts, &s.Sandbox.AllowSockets, at.tilde)
	lists = map[string][]string{}
	for _, one := range o.added {
		key := strings.TrimPrefix(one.Key, table)
		lists[key] = append(lists[key], one.Values...)
	}
	return lists, o.left
}

// tilde writes a path with "~" if it is in the home folder, so that it also works on another
// machine.
func (at Place) tilde(name string) string {
	if home := path.Clean(at.Home); at.Home != "" && home != "/" && strings.HasPrefix(name, home+"/") {
		return "~" + strings.TrimPrefix(name, home)
	}
	return name
}
