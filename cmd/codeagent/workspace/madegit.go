package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"codeagent/cmd/codeagent/cli"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// Threat: a command makes a git directory whose settings name a program, and the session ends. The
// next one would not know that no person has looked at it. So what sessions made is recorded until
// the person adopts it.

// madeGit lists the git directories around the folder and in the write roots that commands of earlier
// sessions made, as record has them, as far as they still exist, and those of this session, now.
func madeGit(record, folder string, roots, now []string) []string {
	known, err := hostfile.ReadRoots(context.Background(), record)
	if err != nil {
		return append(now, "that "+record+" would list (it cannot be read)")
	}
	dirs := slices.DeleteFunc(known.Roots(), func(dir string) bool {
		_, err := hostfile.Lstat(dir)
		return absent(err) || !sandbox.Covers(filepath.Dir(dir), folder) && !sandbox.CoveredBy(roots, dir)
	})
	dirs = append(dirs, now...)
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// noteMadeGit adds to the record what commands made so far.
func noteMadeGit(record string, now []string) error {
	if len(now) == 0 {
		return nil
	}
	known, err := hostfile.ReadRoots(context.Background(), record)
	if err == nil {
		_, err = hostfile.RecordRoots(record, known, now)
	}
	if err != nil {
		return fmt.Errorf("note which git directories commands made: %w", err)
	}
	return nil
}

// AdoptGit takes the git directory name, and those in it, from the record of what sessions made, and its commits
// from that of what vouches there. It returns its path.
func AdoptGit(ctx context.Context, s cli.Stdio, f cli.Flags, name string) (string, error) {
	ws := &Workspace{Files: hostfile.OS{}, Stdio: s}
	if err := ws.enter(f.Folder); err != nil {
		return "", err
	}
	dir, err := ws.follow(ws.Folder, name)
	if err != nil {
		return "", cli.Usage(err)
	}
	paths, _, err := Places(ctx, s)
	if err != nil {
		return "", err
	}
	known, err := hostfile.ReadRoots(ctx, paths.MadeGit)
	if err != nil {
		return "", err
	}
	committed, err := records(paths.Commits, dir)
	for _, r := range committed {
		err = errors.Join(err, hostfile.Remove(r))
	}
	if err != nil && !absent(err) {
		return "", err
	}
	left := slices.DeleteFunc(known.Roots(), func(made string) bool { return sandbox.Covers(dir, made) })
	switch made := len(left) < len(known.Roots()); {
	case !made && len(committed) > 0:
		return dir, nil
	case !made:
		return "", cli.Usage(fmt.Errorf("no command made a git directory at %s or a commit in it, or it is adopted already", dir))
	}
	if err := hostfile.Write(paths.MadeGit, nil, 0o600); err != nil {
		return "", err
	}
	_, err = hostfile.RecordRoots(paths.MadeGit, hostfile.Ground{}, left)
	return dir, err
}
