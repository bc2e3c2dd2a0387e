package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"codeagent/config/server"
	"codeagent/sandbox"
)

// ServerPolicy builds the policy of an MCP server with the settings s. A server has a home of its own: it
// writes own, its private folder, and reads that, what the system has installed, the paths of runtime that
// open no home, the workspace, and what its table sandbox says. It writes the workspace only where commands
// may write it, reads places of keys only if the table names them, and never codeagent's records. at.Temp is
// a folder of the server's own, and own and runtime are canonical.
//
// Threat: a home folder holds keys at places that no list names.
func ServerPolicy(c Config, at Place, s server.Settings, own string, runtime []string) (sandbox.Policy, error) {
	writes := s.Sandbox.Workspace == "write" && (c.Sandbox.Mode == WorkspaceWrite || c.Sandbox.Mode == FullAccess)
	c.Sandbox.AddDirs, c.Sandbox.AddFiles, c.Sandbox.Temp, c.Sandbox.Network = nil, nil, "private", "deny"
	c.Sandbox.AllowHosts, c.Sandbox.AllowSockets, c.Sandbox.DenySecrets = s.Sandbox.AllowHosts, s.Sandbox.AllowSockets, true
	c.Sandbox.Env = Env{Inherit: "core", Include: s.Sandbox.Env, Set: s.Env}
	c.Sandbox.Limits.WallSeconds, c.Sandbox.Limits.CPUSeconds = 0, 0 // of a command, not of a program that runs on
	servers := at.Paths.Servers
	at.Paths.Servers = "" // own lies there
	b := newBuilder(c, at)
	temp, err := b.places()
	if err != nil {
		return sandbox.Policy{}, err
	}
	homes := homes{user: b.home, servers: servers}
	p, err := b.serverReads(s, homes, runtime, writes)
	if err != nil {
		return p, err
	}
	p.Temp = temp
	p.Write = append(p.Write, sandbox.Root{Path: own})
	for _, name := range s.Sandbox.Write {
		root, err := b.serverRoot(name)
		if err == nil {
			err = homes.refuse(name, root.Path)
		}
		if err != nil {
			return p, fmt.Errorf("sandbox.write: %w", err)
		}
		p.Write = append(p.Write, root)
	}
	if p, err = b.complete(p); err != nil {
		return p, err
	}
	if s.Sandbox.Workspace == "none" {
		p.DenyRead = append(p.DenyRead, b.workspace)
	}
	for _, name := range s.Sandbox.Read {
		if err := b.serverRead(&p, homes, name); err != nil {
			return p, fmt.Errorf("sandbox.read: %w", err)
		}
	}
	p.DenyRead = append(p.DenyRead, at.Paths.records()...)
	return p, b.below(c, p, s)
}

// below returns an error if the settings of a server open what the managed settings do not allow.
func (b *builder) below(c Config, p sandbox.Policy, s server.Settings) error {
	most, err := c.Ceiling(b.at)
	if most == nil || err != nil {
		return err
	}
	g := Opening{Hosts: p.Network.Hosts, Sockets: p.Sockets}
	for list, names := range map[*[]string][]string{&g.Read: s.Sandbox.Read, &g.Write: s.Sandbox.Write} {
		for _, name := range names {
			made, err := b.opened(name)
			if err != nil {
				return err
			}
			*list = append(*list, made)
		}
	}
	if key := most(g, false); key != "" {
		return fmt.Errorf("sandbox: the settings do not allow this: %s", key)
	}
	return nil
}

// homes are the folders that no root of a server may be, contain, or (of servers) lie in: the user's
// home folder and the folder of all servers' homes.
type homes struct{ user, servers string }

// hold reports whether a root at path would open a home.
func (h homes) hold(path string) bool {
	return sandbox.Covers(path, h.user) || sandbox.Covers(path, h.servers) || sandbox.Covers(h.servers, path)
}

// refuse is the error for a setting that opens a home.
func (h homes) refuse(name, path string) error {
	if !h.hold(path) {
		return nil
	}
	return fmt.Errorf("%s is or contains your home folder or those of MCP servers, which no server gets as a whole: name what it needs there", quoted(name))
}

// serverReads returns the policy with what a server reads, and the workspace.
func (b *builder) serverReads(s server.Settings, h homes, runtime []string, writes bool) (sandbox.Policy, error) {
	p := sandbox.WorkspaceWrite() // protects names in all that a server writes
	if s.Sandbox.Workspace != "none" && !h.hold(b.workspace) {
		p.Write = []sandbox.Root{{Path: b.workspace}}
		top, _ := TopOf(b.workspace)
		if own, linked, err := worktreeDir(top); err == nil && own != "" {
			if linked {
				own = path.Dir(path.Dir(own)) // its repository
			}
			runtime = append(slices.Clone(runtime), own)
		}
	}
	var err error
	if writes {
		err = cmp.Or(h.refuse(b.workspace, b.workspace), b.checkRoot("sandbox.workspace: the workspace", b.workspace))
	}
	for _, dir := range slices.Concat(sandbox.SystemFolders, runtime) {
		if !h.hold(dir) {
			p.Read = append(p.Read, sandbox.Root{Path: dir, Optional: true})
		}
	}
	if !writes {
		p = p.OnlyRead()
	}
	return p, err
}

// serverRoot resolves a path that a server may write. It may be absent.
func (b *builder) serverRoot(name string) (sandbox.Root, error) {
	path, err := b.opened(name)
	if err != nil {
		return sandbox.Root{}, err
	}
	mode, err := b.at.Files.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sandbox.Root{Path: path, Optional: true}, b.checkRoot(quoted(name)+":", path)
	case err != nil:
		return sandbox.Root{}, err
	case !mode.IsDir() && !mode.IsRegular():
		return sandbox.Root{}, fmt.Errorf("%s is neither a folder nor a regular file", quoted(name))
	}
	return sandbox.Root{Path: path, Optional: !mode.IsDir()}, b.checkRoot(quoted(name)+":", path)
}

// serverRead lets a server read a path, also a place of keys.
func (b *builder) serverRead(p *sandbox.Policy, h homes, name string) error {
	path, err := b.opened(name)
	if err == nil {
		err = h.refuse(name, path)
	}
	if err != nil {
		return err
	}
	p.DenyRead = slices.DeleteFunc(p.DenyRead, func(entry string) bool { return entry == path })
	p.Read = append(p.Read, sandbox.Root{Path: path, Optional: true})
	switch j := p.JudgeRead(path); {
	case !j.Allowed && slices.Contains(p.DenyGlobs, j.Rule):
		return fmt.Errorf("%s is hidden by the pattern %s, which cannot be opened for one file: give the server what it needs in env", quoted(name), quoted(j.Rule))
	case !j.Allowed:
		return fmt.Errorf("%s lies in %s, which is hidden as a whole: name that", quoted(name), quoted(j.Rule))
	}
	return nil
}
