package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	"codeagent/prompts"
)

const (
	// mostOwn bounds the commands of one folder, ownBytes each file.
	mostOwn  = 200
	ownBytes = 64 << 10
)

// Own reads the prompts that a person gave names: NAME.md in the folder commands beside
// config.toml, and in .codeagent/commands of the workspace. The project's come after the
// person's own, from files of owners that AGENTS.md is taken from, and are read inside the
// sandbox. A prompt does nothing by itself: it is sent when the person calls it.
func Own(ctx context.Context, ses *conversation.Session) ([]prompts.Own, error) {
	own, err := commandsIn(filepath.Join(ses.Workspace.Paths.Config, "commands"), "", func(file string) ([]byte, error) { return hostfile.Read(ctx, file, ownBytes) })
	dir := filepath.Join(ses.Workspace.Folder, ".codeagent", "commands")
	if _, absent := hostfile.Lstat(dir); absent != nil {
		return own, err
	}
	files := ses.Workspace.ProjectFiles(ctx, ses.Gate.Base(), "/")
	defer files.Close()
	project, perr := commandsIn(dir, "project: ", func(file string) ([]byte, error) { return projectPrompt(files, ses.Workspace, file) })
	return append(own, project...), errors.Join(err, perr)
}

func projectPrompt(files *workspace.ProjectFiles, ws *workspace.Workspace, file string) ([]byte, error) {
	if _, err := workspace.TrustedFile(file, ws.Folder); err != nil {
		return nil, err
	}
	data, err := files.Read(file, ownBytes+1)
	if err == nil && len(data) > ownBytes {
		err = &hostfile.TooLargeError{Size: int64(len(data)), Most: ownBytes}
	}
	return data, err
}

// commandsIn reads the prompts of a folder; about goes before their descriptions.
func commandsIn(dir, about string, read func(file string) ([]byte, error)) (out []prompts.Own, err error) {
	entries, err := hostfile.ReadDir(dir, mostOwn)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var errs []error
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r != '-' && r != '_' && !unicode.IsLower(r) && !unicode.IsDigit(r) }) {
			continue
		}
		file := filepath.Join(dir, e.Name())
		data, err := read(file)
		if err == nil && (!utf8.Valid(data) || slices.Contains(data, 0)) {
			err = errors.New("it is not UTF-8 text")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("command %s: %w", file, err))
			continue
		}
		c := prompts.ParseOwn(name, string(data))
		c.About = about + c.About
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, errors.Join(errs...)
}
