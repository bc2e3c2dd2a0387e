package config

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"codeagent/config/server"
	"codeagent/sandbox"

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

// Write formats needs as settings over c. It tests each line, and leaves out what Policy would
// refuse.
func Write(c Config, at Place, needs sandbox.Grant) (Snippet, error) {
	var out Snippet
	added := false
	add := func(key string, list *[]string, name string) {
		if slices.Contains(*list, name) {
			return
		}
		before := *list
		*list = append(slices.Clone(before), name)
		setting, _, _ := find(splitKey(key))
		_, err := setting.check([]any{name})
		if err == nil {
			_, err = Policy(c, at)
		}
		if err != nil {
			*list = before
			out.Left = append(out.Left, name+": "+err.Error())
			return
		}
		added = true
	}
	s := &c.Sandbox
	for _, name := range needs.Write {
		mode, err := at.Files.Lstat(name)
		switch {
		case err == nil && mode.IsDir():
			add("sandbox.add_dirs", &s.AddDirs, at.tilde(name))
		case err == nil && mode.IsRegular(), errors.Is(err, fs.ErrNotExist):
			add("sandbox.add_files", &s.AddFiles, at.tilde(name))
		default:
			out.Left = append(out.Left, name+": neither a file nor a folder")
		}
	}
	for _, host := range needs.Hosts {
		add("sandbox.allow_hosts", &s.AllowHosts, host.String())
	}
	for _, name := range needs.Sockets {
		add("sandbox.allow_sockets", &s.AllowSockets, at.tilde(name))
	}
	if !added {
		return out, nil
	}
	var t snippet
	t.Sandbox.AddDirs, t.Sandbox.AddFiles, t.Sandbox.AllowHosts, t.Sandbox.AllowSockets = s.AddDirs, s.AddFiles, s.AllowHosts, s.AllowSockets
	text, err := toml.Marshal(t)
	out.TOML = string(text)
	return out, err
}

// ServerNeeds returns needs as elements of the lists of a server's table sandbox, by the name of the
// list. It tests each, and left names what ServerPolicy would refuse, with the reason. own is
// as there.
func (at Place) ServerNeeds(c Config, s server.Settings, own string, needs sandbox.Grant) (lists map[string][]string, left []string) {
	lists = map[string][]string{}
	add := func(key string, list *[]string, name string) {
		before := *list
		if slices.Contains(before, name) {
			return
		}
		*list = append(slices.Clone(before), name)
		setting, _, _ := find([]string{"mcp", "servers", "NAME", "sandbox", key})
		_, err := setting.check([]any{name})
		if err == nil {
			_, err = ServerPolicy(c, at, s, own, nil)
		}
		if err != nil {
			*list = before
			left = append(left, name+": "+err.Error())
			return
		}
		lists[key] = append(lists[key], name)
	}
	for _, name := range needs.Read {
		add("read", &s.Sandbox.Read, at.tilde(name))
	}
	for _, name := range needs.Write {
		add("write", &s.Sandbox.Write, at.tilde(name))
	}
	for _, host := range needs.Hosts {
		add("allow_hosts", &s.Sandbox.AllowHosts, host.String())
	}
	for _, name := range needs.Sockets {
		add("allow_sockets", &s.Sandbox.AllowSockets, at.tilde(name))
	}
	return lists, left
}

// tilde writes a path with "~" if it is in the home folder, so that it also works on another
// machine.
func (at Place) tilde(name string) string {
	if home := path.Clean(at.Home); at.Home != "" && home != "/" && strings.HasPrefix(name, home+"/") {
		return "~" + strings.TrimPrefix(name, home)
	}
	return name
}
