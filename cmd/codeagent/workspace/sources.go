package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// sources returns the sources of the settings. An empty value of a list flag is usually an
// unset shell variable, so it is refused.
func (ws *Workspace) sources(f cli.Flags) (config.Sources, error) {
	src := config.Sources{File: ws.Paths.File, Profile: f.Profile, Workspace: ws.Folder, Getenv: ws.Stdio.Env, Overrides: f.Settings}
	add := func(name, key, value string) {
		if value != "" {
			src.Flags = append(src.Flags, config.Flag{Name: name, Key: key, Values: []string{value}})
		}
	}
	var empty error
	addAll := func(name, key string, values []string) {
		if slices.Contains(values, "") {
			empty = errors.Join(empty, fmt.Errorf("%s: the value is empty", name))
		}
		if len(values) > 0 {
			src.Flags = append(src.Flags, config.Flag{Name: name, Key: key, Values: values})
		}
	}
	add("--sandbox", "sandbox.mode", f.Sandbox)
	add("--ask-for-approval", "ask_for_approval", f.Approval)
	add("--model", "model", f.Model)
	addAll("--add-dir", "sandbox.add_dirs", absolute(f.AddDirs))
	addAll("--add-file", "sandbox.add_files", absolute(f.AddFiles))
	addAll("--deny-read", "sandbox.deny_read", f.DenyRead)
	addAll("--allow-host", "sandbox.allow_hosts", f.Hosts)
	addAll("--allow-fetch", "sandbox.allow_fetch", f.FetchHosts)
	addAll("--allow-socket", "sandbox.allow_sockets", f.Sockets)
	if empty != nil {
		return src, cli.Usage(empty)
	}
	return src, nil
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
