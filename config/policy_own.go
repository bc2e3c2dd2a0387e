package config

import (
	"fmt"
	"slices"

	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// This file protects codeagent's own files, whatever the settings allow.

// WorkspaceError says why commands may not write the workspace. Another folder, or
// read-only, is possible.
type WorkspaceError struct{ Err error }

func (e *WorkspaceError) Error() string { return e.Err.Error() }
func (e *WorkspaceError) Unwrap() error { return e.Err }

// checkRoot refuses a write root that would make protection impossible: the whole file system,
// the home folder, or a folder that contains codeagent's own files.
func (b *builder) checkRoot(what, root string) error {
	for _, own := range []struct{ path, name string }{{b.at.Paths.Config, "codeagent's settings"}, {b.at.Paths.State, "codeagent's sessions"}} {
		dir, err := b.canonical(own.path)
		if err != nil {
			return fmt.Errorf("%s: %w", own.name, err)
		}
		if sandbox.Covers(dir, root) {
			return fmt.Errorf("%s %s lies inside %s (%s): work in another folder", what, quoted(root), dir, own.name)
		}
		if sandbox.Covers(root, dir) && !b.config.Sandbox.AllowHome && root != "/" && !sandbox.Covers(root, b.home) {
			return fmt.Errorf("%s %s contains %s (%s): work in a folder below it, or, where mounts work (see codeagent doctor), allow it with -c sandbox.allow_home=true", what, quoted(root), own.name, dir)
		}
	}
	switch {
	case root == "/":
		return fmt.Errorf("%s is /: every file could be written; work in a project's folder, or use --sandbox %s", what, ReadOnly)
	case b.config.Sandbox.AllowHome:
	case b.home != "" && sandbox.Covers(root, b.home):
		verb := "is"
		if root != b.home {
			verb = "contains"
		}
		return fmt.Errorf("%s %s %s your home folder: shell startup files and keys could be written. Work in a project's folder, use --sandbox %s, or, where mounts work (see codeagent doctor), allow it with -c sandbox.allow_home=true", what, quoted(root), verb, ReadOnly)
	}
	return nil
}

// protectOwn adds what no command may ever write.
func (b *builder) protectOwn(p *sandbox.Policy) error {
	for _, name := range append(b.at.Paths.Own(), b.at.Own...) {
		made, err := b.canonical(name)
		if err != nil {
			return fmt.Errorf("codeagent's own files: %w", err)
		}
		addOwn(p, made)
	}
	return nil
}

func addOwn(p *sandbox.Policy, made string) {
	if !slices.ContainsFunc(p.Protected.Own, func(own string) bool { return sandbox.Covers(own, made) }) {
		p.Protected.Own = append(p.Protected.Own, made)
	}
}

// hide adds what no command may ever read.
func (b *builder) hide(p *sandbox.Policy) error {
	for _, name := range append(b.at.Paths.Hidden(), b.hiddenInside(p)...) {
		made, err := b.canonical(name)
		if err != nil {
			return fmt.Errorf("codeagent's own files: %w", err)
		}
		if sandbox.Covers(made, b.workspace) {
			return fmt.Errorf("the workspace %s lies inside %s (codeagent's own records, which no command may read): work in another folder", quoted(b.workspace), made)
		}
		p.Protected.Hidden = append(p.Protected.Hidden, made)
		addOwn(p, made) // a link may lead to another disk: its target is codeagent's own too
	}
	return nil
}

// hiddenInside returns what else is hidden because a write root contains it.
func (b *builder) hiddenInside(p *sandbox.Policy) []string {
	return slices.DeleteFunc(b.at.Paths.HiddenInside(), func(name string) bool {
		made, err := b.canonical(name)
		if err == nil {
			_, err = b.at.Files.Lstat(made)
		}
		inside := func(r sandbox.Root) bool { return sandbox.Covers(r.Path, made) }
		return err != nil || !slices.ContainsFunc(p.Write, inside) // an absent path cannot be read
	})
}

// FetchHosts returns what fetch_url may reach beside the hosts of the policy. Only codeagent
// itself reaches them, so they are closed to commands, and are allowed also if the sandbox
// cannot grant single hosts.
func FetchHosts(c Config) ([]sandbox.HostPort, error) {
	return c.hosts("sandbox.allow_fetch", c.Sandbox.AllowFetch)
}

// hosts parses the list of the setting key, each host once. In a list of denied hosts no port means
// every port.
func (c Config) hosts(key string, list []string) (out []sandbox.HostPort, err error) {
	for _, text := range list {
		hosts, err := named.ParseAllowed(text)
		if key == denyHosts && err == nil {
			var one sandbox.HostPort
			one, err = sandbox.ParsePattern(text)
			hosts = []sandbox.HostPort{one}
		}
		if err != nil {
			return nil, fmt.Errorf("%s (%s): %w", key, c.Origin(key), err)
		}
		out = union(out, hosts)
	}
	return out, nil
}

// denyHosts is the key of the hosts that nothing opens.
const denyHosts = "sandbox.deny_hosts"
