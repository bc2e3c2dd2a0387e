package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/hostfile"
)

// enter sets the workspace: the folder of --cd, else the current one, which need not exist
// if another is named.
func (ws *Workspace) enter(folder string) error {
	here, name := "", "--cd "+folder
	if !filepath.IsAbs(folder) {
		var err error
		if here, err = os.Getwd(); err != nil {
			return cli.Usage(fmt.Errorf("current folder: %w", err), "go to another, or name one with --cd")
		}
	}
	// The current folder is used as it is. Any other name, also one from a session, may now be
	// a link that a command has made.
	resolve := ws.recorded.Resolve
	if folder == "" {
		folder, name, resolve = here, "current folder", ws.follow
	}
	var err error
	if ws.Folder, err = resolve(here, folder); err != nil {
		return cli.Usage(fmt.Errorf("%s: %w", name, err))
	}
	info, err := hostfile.Lstat(ws.Folder)
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err != nil {
		return cli.Usage(fmt.Errorf("%s: %w", name, err))
	}
	return nil
}

// sources returns the sources of the settings.
func (ws *Workspace) sources(f cli.Flags) config.Sources {
	src := config.Sources{File: ws.Paths.File, Keys: ws.Paths.KeysFile(), Profile: f.Profile, Workspace: ws.Folder, Getenv: ws.Stdio.Env, Overrides: f.Settings}
	add := func(name, key string, values ...string) {
		src.Flags = append(src.Flags, config.Flag{Name: name, Key: key, Values: values})
	}
	for _, one := range []struct{ name, key, value string }{
		{"--sandbox", "sandbox.mode", f.Sandbox}, {"--ask-for-approval", "ask_for_approval", f.Approval}, {"--model", "model", f.Model}, {"--backend", "sandbox.backend", f.Backend},
	} {
		if one.value != "" {
			add(one.name, one.key, one.value)
		}
	}
	add("--add-dir", "sandbox.add_dirs", absolute(f.AddDirs)...)
	add("--add-file", "sandbox.add_files", absolute(f.AddFiles)...)
	add("--deny-read", "sandbox.deny_read", f.DenyRead...)
	add("--allow-host", "sandbox.allow_hosts", f.Hosts...)
	add("--allow-fetch", "sandbox.allow_fetch", f.FetchHosts...)
	add("--allow-socket", "sandbox.allow_sockets", f.Sockets...)
	return src
}

// absolute makes typed paths absolute, relative to the shell's folder, also with --cd. An
// empty path stays empty.
func absolute(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		if a, err := filepath.Abs(d); err == nil && d != "" && !strings.HasPrefix(d, "~") {
			d = a
		}
		out = append(out, d)
	}
	return out
}
