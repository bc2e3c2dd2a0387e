package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"codeagent/config/server"
	"codeagent/sandbox"
)

// ServerPolicy builds the policy of an MCP server with the settings s. It always writes own, its
// private folder, and never reads others, those of other servers, nor codeagent's records. Beside that it may do what its
// table sandbox says: the workspace is written only where commands may write it, and places of
// keys are read only if the table names them. at.Temp is a folder of the server's own, and own and
// others are canonical.
func ServerPolicy(c Config, at Place, s server.Settings, own string, others []string) (sandbox.Policy, error) {
	writes := s.Sandbox.Workspace == "write" && (c.Sandbox.Mode == WorkspaceWrite || c.Sandbox.Mode == FullAccess)
	strict := c.Sandbox.Mode == Strict
	c.Sandbox.AddDirs, c.Sandbox.AddFiles, c.Sandbox.Temp, c.Sandbox.Network = nil, nil, "private", "deny"
	c.Sandbox.AllowHosts, c.Sandbox.AllowSockets, c.Sandbox.DenySecrets = s.Sandbox.AllowHosts, s.Sandbox.AllowSockets, true
	c.Sandbox.Env = Env{Inherit: "core", Include: s.Sandbox.Env, Set: s.Env}
	c.Sandbox.Limits.WallSeconds, c.Sandbox.Limits.CPUSeconds = 0, 0 // of a command, not of a program that runs on
	at.Paths.Servers = ""                                            // own lies there
	b := newBuilder(c, at)
	temp, err := b.places()
	if err != nil {
		return sandbox.Policy{}, err
	}
	p := sandbox.WorkspaceWrite(b.workspace)
	if !writes {
		p = p.OnlyRead()
	} else if err := b.checkRoot("sandbox.workspace: the workspace", b.workspace); err != nil {
		return p, err
	}
	if strict {
		p.Read = append(sandbox.Strict(b.workspace, own).Read, sandbox.Root{Path: own})
	}
	p.Temp = temp
	p.Write = append(p.Write, sandbox.Root{Path: own})
	for _, name := range s.Sandbox.Write {
		root, err := b.serverRoot(name)
		if err != nil {
			return p, fmt.Errorf("sandbox.write: %w", err)
		}
		p.Write = append(p.Write, root)
	}
	if p, err = b.complete(p); err != nil {
		return p, err
	}
	p.DenyRead = append(p.DenyRead, others...)
	if s.Sandbox.Workspace == "none" {
		p.DenyRead = append(p.DenyRead, b.workspace)
	}
	for _, name := range s.Sandbox.Read {
		if err := b.serverRead(&p, name); err != nil {
			return p, fmt.Errorf("sandbox.read: %w", err)
		}
	}
	p.DenyRead = append(p.DenyRead, at.Paths.records()...)
	return p, nil
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
func (b *builder) serverRead(p *sandbox.Policy, name string) error {
	path, err := b.opened(name)
	if err != nil {
		return err
	}
	p.DenyRead = slices.DeleteFunc(p.DenyRead, func(entry string) bool { return entry == path })
	if len(p.Read) > 0 {
		p.Read = append(p.Read, sandbox.Root{Path: path, Optional: true})
	}
	switch j := p.JudgeRead(path); {
	case !j.Allowed && slices.Contains(p.DenyGlobs, j.Rule):
		return fmt.Errorf("%s is hidden by the pattern %s, which cannot be opened for one file: give the server what it needs in env", quoted(name), quoted(j.Rule))
	case !j.Allowed:
		return fmt.Errorf("%s lies in %s, which is hidden as a whole: name that", quoted(name), quoted(j.Rule))
	}
	return nil
}
