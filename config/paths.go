package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"codeagent/hostfile"
)

// Paths are the paths of codeagent's own files. All are absolute; folders have mode 0700.
type Paths struct {
	// Config is the folder of File, Rules and the user's AGENTS.md.
	Config string
	// State is the folder for session data.
	State string
	// File is config.toml, Rules is rules.toml.
	File, Rules string
	// Sessions, Undo, Drafts and Output are folders in State; Ledger is a file there.
	Sessions, Undo, Drafts, Output, Ledger string
	// Modules is the folder of compiled WebAssembly modules, which no command writes.
	Modules string
	// History is the folder of what was typed in each project.
	History string
	// Answers is the folder of answers to first messages.
	Answers string
	// Roots is the file that lists the write roots of every session so far.
	Roots string
	// MadeGit is the file that lists the git directories that commands made and nobody adopted.
	MadeGit string
	// Commits is the folder that remembers which commits are the person's in repositories that sessions wrote to.
	Commits string
	// Without is the file that remembers which refusals programs survive.
	Without string
	// Servers holds the private folders of MCP servers. No command reads or writes them, and each
	// server has one.
	Servers string
	// SignIns is the folder of what sign-ins to MCP servers gave, Keys that of the keys a person entered.
	SignIns, Keys string
	// Temp holds the sessions' private folders for temporary files. It is outside everything
	// that Own lists, since commands write there.
	Temp string

	// home: all paths are in one folder, CODEAGENT_HOME.
	home string
}

// Patterns is the folder of what the model called after which step. It lies in History, as no command may read it either.
func (p Paths) Patterns() string { return filepath.Join(p.History, "patterns") }

// FindPaths follows $CODEAGENT_HOME, else the XDG base directories below home.
func FindPaths(getenv func(string) string, home string) (Paths, error) {
	if dir := getenv("CODEAGENT_HOME"); dir != "" {
		if !filepath.IsAbs(dir) {
			return Paths{}, fmt.Errorf("CODEAGENT_HOME is %s; use an absolute path", quoted(dir))
		}
		dir = filepath.Clean(dir)
		p := newPaths(dir, dir, filepath.Join(dir, "servers"), filepath.Join(dir, "tmp"))
		p.home = dir
		return p, nil
	}
	if !filepath.IsAbs(home) {
		return Paths{}, errors.New("no home folder is known: set CODEAGENT_HOME to the folder for settings and sessions")
	}
	// The XDG specification requires relative values to be ignored.
	base := func(variable, fallback string) string {
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "codeagent")
		}
		return filepath.Join(home, fallback, "codeagent")
	}
	return newPaths(base("XDG_CONFIG_HOME", ".config"), base("XDG_STATE_HOME", ".local/state"),
		filepath.Join(base("XDG_DATA_HOME", ".local/share"), "servers"), filepath.Join(base("XDG_CACHE_HOME", ".cache"), "tmp")), nil
}

func newPaths(config, state, servers, temp string) Paths {
	return Paths{
		Config: config, State: state, Servers: servers, Temp: temp,
		File: filepath.Join(config, "config.toml"), Rules: filepath.Join(config, "rules.toml"),
		Sessions: filepath.Join(state, "sessions"), Undo: filepath.Join(state, "undo"),
		Drafts: filepath.Join(state, "drafts"), Modules: filepath.Join(state, "wasm"),
		Output: filepath.Join(state, "output"), Ledger: filepath.Join(state, "ledger.jsonl"),
		History: filepath.Join(state, "history"), Roots: filepath.Join(state, "write-roots"), MadeGit: filepath.Join(state, "made-git"), Commits: filepath.Join(state, "commits"), Without: filepath.Join(state, "without.json"),
		Answers: filepath.Join(state, "answers"), SignIns: filepath.Join(state, "sign-ins"), Keys: filepath.Join(config, "keys"),
	}
}

// Resolved returns the paths as resolve returns them; resolve gets an absolute folder and
// a name.
func (p Paths) Resolved(resolve func(dir, name string) (string, error)) (Paths, error) {
	for _, at := range []*string{&p.Config, &p.State, &p.File, &p.Rules, &p.Sessions, &p.Undo, &p.Drafts, &p.Modules, &p.Output, &p.History, &p.Answers, &p.Ledger, &p.Roots, &p.MadeGit, &p.Commits, &p.Without, &p.Servers, &p.SignIns, &p.Keys, &p.Temp} {
		var err error
		if *at, err = resolve("/", *at); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Own lists what no command may ever write, whatever is granted.
func (p Paths) Own() []string {
	// Each may be the user's own link to another folder.
	files := []string{p.File, p.Rules, filepath.Join(p.Config, "AGENTS.md"), p.Sessions, p.Undo, p.Drafts, p.Modules, p.Output, p.History, p.Answers, p.Ledger, p.Roots, p.MadeGit, p.Commits, p.Without, p.SignIns, p.Keys}
	files = append(files, p.servers()...)
	if p.home != "" {
		// Temp is in the same folder, so the folder itself cannot be listed.
		return files
	}
	return append([]string{p.Config, p.State}, files...)
}

// Hidden lists the paths of Own that no command may ever read: earlier contents of files,
// including keys, all conversations and answers, what was typed, the data of MCP servers and sign-ins to them, kept keys. Output is not hidden: the model receives the paths
// of the files there, and reads them.
func (p Paths) Hidden() []string {
	return append([]string{p.Sessions, p.Undo, p.Drafts, p.History, p.Answers, p.SignIns, p.Keys}, p.servers()...)
}

// records are the folders that no MCP server may read, whatever is set: those of Hidden and the outputs
// of commands. As paths that may not be read they are kept on every machine, which Hidden is not.
func (p Paths) records() []string {
	return append(p.Hidden(), p.Output)
}

// servers is empty for the policy of a server itself.
func (p Paths) servers() []string {
	if p.Servers == "" {
		return nil
	}
	return []string{p.Servers}
}

// HiddenInside lists further paths of Own that no command may read even if a write root
// contains them: permission to write the home folder does not include them.
func (p Paths) HiddenInside() []string {
	if p.home != "" {
		return []string{p.File, p.Rules, p.Ledger, p.Without}
	}
	return []string{p.Config, p.Ledger, p.Without}
}

// Create makes the folders, for the user only. It removes other users' access to an existing
// folder; anything else in the place of a folder is an error.
func (p Paths) Create() error {
	for _, dir := range []string{p.Config, p.State, p.Sessions, p.Undo, p.Drafts, p.Output, p.History, p.Answers, p.Commits, p.Servers, p.SignIns, p.Keys, p.Temp} {
		err := createPrivate(dir)
		if dir == p.Keys && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
			continue // settings that codeagent may not change: no key is kept beside them
		}
		if err != nil {
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
			return fmt.Errorf("other users can access codeagent's own folder %s, and its mode cannot be changed: %w", dir, err)
		}
	}
	return nil
}

// Each session has a folder for temporary files, locked while its process lives. An unlocked
// one was left by a session that was killed.

const tempPrefix = "session-"

// tempAge is how long an unlocked folder is kept: a session makes its folder before it can
// lock it.
const tempAge = time.Hour

// NewTemp makes a session's private folder for temporary files. remove deletes it with
// everything in it.
func (p Paths) NewTemp() (dir string, remove func() error, err error) {
	if err := createPrivate(p.Temp); err != nil {
		return "", nil, err
	}
	if dir, err = hostfile.MkdirTemp(p.Temp, tempPrefix); err != nil {
		return "", nil, fmt.Errorf("folder for temporary files: %w", err)
	}
	// Some network file systems have no locks. There, no process can take the folder for a dead
	// session's either.
	lock, _ := lockFolder(dir)
	return dir, func() error {
		defer lock.Close()
		return hostfile.RemoveAll(dir)
	}, nil
}

// SweepTemp removes the folders of sessions that were killed. What cannot be removed is left
// for the next sweep.
func (p Paths) SweepTemp() {
	entries, err := hostfile.ReadDir(p.Temp, -1)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.IsDir() || !strings.HasPrefix(e.Name(), tempPrefix) || time.Since(info.ModTime()) < tempAge {
			continue
		}
		dir := filepath.Join(p.Temp, e.Name())
		if lock, err := lockFolder(dir); err == nil {
			_ = hostfile.RemoveAll(dir)
			lock.Close()
		}
	}
}

// lockFolder fails if another process has locked the folder.
func lockFolder(dir string) (*os.File, error) {
	f, err := hostfile.OpenFolder(dir)
	if errors.Is(err, fs.ErrPermission) { // a command removed its permissions
		if err = hostfile.Chmod(dir, 0o700); err == nil {
			f, err = hostfile.OpenFolder(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}
