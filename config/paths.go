package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"codeagent/hostfile"
)

// Paths are codeagent's own places. All are absolute; folders are 0700.
type Paths struct {
	// Config is the folder of File, Rules and the user's AGENTS.md.
	Config string
	// State is the folder of what codeagent writes about its sessions.
	State string
	// File is config.toml, Rules is rules.toml.
	File, Rules string
	// Sessions, Undo and Output are folders in State; Ledger is a file there.
	Sessions, Undo, Output, Ledger string
	// Roots is the file that lists what commands could write, in every session so far.
	Roots string
	// Temp holds the sessions' private folders for temporary files. It lies
	// outside of everything that Own lists: commands write there.
	Temp string

	// home says that all lie in one folder, CODEAGENT_HOME.
	home string
}

// FindPaths follows $CODEAGENT_HOME, else the XDG base directories below home.
func FindPaths(getenv func(string) string, home string) (Paths, error) {
	if dir := getenv("CODEAGENT_HOME"); dir != "" {
		if !filepath.IsAbs(dir) {
			return Paths{}, fmt.Errorf("CODEAGENT_HOME is %s: want an absolute path", quoted(dir))
		}
		dir = filepath.Clean(dir)
		p := newPaths(dir, dir, filepath.Join(dir, "tmp"))
		p.home = dir
		return p, nil
	}
	if !filepath.IsAbs(home) {
		return Paths{}, errors.New("no home folder is known: set CODEAGENT_HOME to the folder for settings and sessions")
	}
	// The specification says that relative values are to be ignored.
	base := func(variable, fallback string) string {
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "codeagent")
		}
		return filepath.Join(home, fallback, "codeagent")
	}
	return newPaths(base("XDG_CONFIG_HOME", ".config"), base("XDG_STATE_HOME", ".local/state"),
		filepath.Join(base("XDG_CACHE_HOME", ".cache"), "tmp")), nil
}

func newPaths(config, state, temp string) Paths {
	return Paths{
		Config: config, State: state, Temp: temp,
		File: filepath.Join(config, "config.toml"), Rules: filepath.Join(config, "rules.toml"),
		Sessions: filepath.Join(state, "sessions"), Undo: filepath.Join(state, "undo"),
		Output: filepath.Join(state, "output"), Ledger: filepath.Join(state, "ledger.jsonl"),
		Roots: filepath.Join(state, "write-roots"),
	}
}

// Resolved returns the paths as resolve finds them; it is given an absolute folder and
// a name.
func (p Paths) Resolved(resolve func(dir, name string) (string, error)) (Paths, error) {
	for _, at := range []*string{&p.Config, &p.State, &p.File, &p.Rules, &p.Sessions, &p.Undo, &p.Output, &p.Ledger, &p.Roots, &p.Temp} {
		var err error
		if *at, err = resolve("/", *at); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Own lists what no command may ever write, whatever is granted.
func (p Paths) Own() []string {
	// Each may be a link of the user's own to another folder.
	files := []string{p.File, p.Rules, filepath.Join(p.Config, "AGENTS.md"), p.Sessions, p.Undo, p.Output, p.Ledger, p.Roots}
	if p.home != "" {
		// Temp lies in the same folder, so the folder itself cannot be listed.
		return files
	}
	return append([]string{p.Config, p.State}, files...)
}

// Hidden lists what of Own no command may ever read: what files were before they
// were changed, keys among them, and all that was said. Output is not in it: the
// model gets the paths of the files there, and reads them.
func (p Paths) Hidden() []string { return []string{p.Sessions, p.Undo} }

// HiddenInside lists what of Own no command may read either whose write root holds it: who
// lets commands write the home folder does not mean these.
func (p Paths) HiddenInside() []string {
	if p.home != "" {
		return []string{p.File, p.Rules, p.Ledger}
	}
	return []string{p.Config, p.Ledger}
}

// Create makes the folders, for the user alone. A folder that others may enter
// is closed; something else in the place of a folder is an error.
func (p Paths) Create() error {
	for _, dir := range []string{p.Config, p.State, p.Sessions, p.Undo, p.Output, p.Temp} {
		if err := createPrivate(dir); err != nil {
			return err
		}
	}
	return nil
}

func createPrivate(dir string) error {
	if err := hostfile.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("codeagent's own folder: %w", err)
	}
	info, err := hostfile.Lstat(dir)
	if err != nil {
		return fmt.Errorf("codeagent's own folder: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := hostfile.Chmod(dir, info.Mode().Perm()&fs.FileMode(0o700)); err != nil {
			return fmt.Errorf("codeagent's own folder %s is open to others and cannot be closed: %w", dir, err)
		}
	}
	return nil
}
