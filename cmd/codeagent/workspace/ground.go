package workspace

import (
	"context"
	"errors"
	"fmt"

	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// Places returns the resolved paths of codeagent's own folders and files, and the ground that
// commands of earlier sessions could write. The user's own links on the way are followed (a
// folder of dotfiles); a link that a command may have made is an error.
func Places(ctx context.Context, s cli.Stdio) (config.Paths, hostfile.Ground, error) {
	named, err := config.FindPaths(s.Env, s.Env("HOME"))
	if err != nil {
		return named, hostfile.Ground{}, cli.Usage(err)
	}
	// The record says which links may be followed, including those on the way to the record:
	// resolving again with it must give the same paths.
	paths, err := named.Resolved(hostfile.Ground{}.Resolve)
	if err != nil {
		return named, hostfile.Ground{}, ownFiles(err)
	}
	ground, err := hostfile.ReadRoots(ctx, paths.Roots)
	if err != nil {
		return named, hostfile.Ground{}, ownFiles(err)
	}
	if paths, err = named.Resolved(ground.Resolve); err != nil {
		return named, hostfile.Ground{}, ownFiles(err)
	}
	// Folders that every session may write; they are not recorded.
	return paths, ground.With(paths.Temp, caches(paths)), nil
}

func ownFiles(err error) error {
	hints := []string{"CODEAGENT_HOME can name another folder for settings and sessions"}
	if ground := (*hostfile.GroundError)(nil); errors.As(err, &ground) {
		hints = []string{"put the file or folder itself in the place of the link"}
	}
	return cli.Hinted(cli.ExitUsage, fmt.Errorf("codeagent's own files: %w", err), hints...)
}

// Ground returns where commands may change names: in earlier sessions, and under this
// session's policy including what was granted since.
func (ws *Workspace) Ground() hostfile.Ground {
	ws.noting.Lock()
	g := ws.recorded.WithPolicy(ws.Policy)
	ws.noting.Unlock()
	if ws.Live != nil {
		g = g.WithPolicy(ws.Live())
	}
	return g
}

// noteRoots records what commands may write from now on.
func (ws *Workspace) noteRoots(p sandbox.Policy) error {
	// Commands could from now on replace a link on the way to codeagent's own files, and
	// every later start would refuse it.
	named, err := config.FindPaths(ws.Stdio.Env, ws.Stdio.Env("HOME"))
	if err == nil {
		_, err = named.Resolved(ws.recorded.WithPolicy(p).Resolve)
	}
	if err != nil {
		return ownFiles(err)
	}
	if ws.recorded, err = hostfile.RecordRoots(ws.Paths.Roots, ws.recorded, sandbox.PathsOf(p.Roots())); err != nil {
		return cli.StorageError(fmt.Errorf("cannot note what commands may write: %w", err), "CODEAGENT_HOME can name another folder for settings and sessions")
	}
	return nil
}

// NoteGrants records what p lets commands write beyond the session's own policy, and what they made.
func (ws *Workspace) NoteGrants(p sandbox.Policy) error {
	if ws.linux != nil && ws.Draft == nil {
		if err := noteMadeGit(ws.Paths.MadeGit, ws.others.madeGit(ws.linux)); err != nil {
			return err
		}
	}
	ws.noting.Lock()
	defer ws.noting.Unlock()
	var err error
	ws.recorded, err = hostfile.RecordRoots(ws.Paths.Roots, ws.recorded, sandbox.PathsOf(p.Roots()))
	return err
}

// Program returns the first of names that is installed where no command can have put it,
// or "". The house rule: codeagent does not run what a command may write.
func (ws *Workspace) Program(names ...string) string {
	g := ws.Ground()
	for _, name := range names {
		if file, err := g.Program(ws.Stdio.Env("PATH"), name); err == nil {
			return file
		}
	}
	return ""
}

// follow resolves a name with all links.
func (ws *Workspace) follow(dir, name string) (string, error) {
	return sandbox.Canonical(ws.Files, dir, name)
}
