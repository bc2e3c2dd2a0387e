package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"codeagent/event/word"
	"codeagent/exec/worker"
	"codeagent/sandbox"
)

// paths converts paths written by the model to canonical paths, and back to the form shown
// to it, and opens files.
type paths struct {
	files     sandbox.FileSystem
	workspace string
	temp      func(path string) (at string, named bool) // Options.Temp; may be nil
}

// in returns ps with the relative paths of another folder.
func (ps paths) in(folder string) paths {
	ps.workspace = folder
	return ps
}

// canonical returns the absolute path of what commands see as name, with links resolved.
func (ps paths) canonical(name string) (string, error) {
	c, err := ps.resolve(name)
	if err == nil && ps.temp != nil {
		c, _ = ps.temp(c)
	}
	return c, err
}

// resolve is canonical on the host.
func (ps paths) resolve(name string) (string, error) {
	switch {
	case strings.TrimSpace(name) == "":
		return "", errors.New("the path is empty")
	case len(name) > 4096:
		return "", fmt.Errorf("the path has %d bytes; at most 4096 are possible", len(name))
	case name == "~" || strings.HasPrefix(name, "~/"):
		return "", fmt.Errorf("the path %s begins with ~, which only a shell expands; write the absolute path", show(name))
	}
	c, err := sandbox.Canonical(ps.files, ps.workspace, ps.spelled(name))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("the path %s leads through a folder that cannot be looked into", show(name))
	case err != nil:
		return "", fmt.Errorf("the path cannot be resolved: %w", err)
	}
	return c, nil
}

// maxHosts bounds the paths that onHost names, and maxOutput the bytes that it reads.
const maxHosts, maxOutput = 3, 64 << 10

// onHost says which paths in the output of a command lie in the host's /tmp and not in the session's.
// Without it the model would conclude that such a file does not exist.
func (ps paths) onHost(command, output string) string {
	if ps.temp == nil || !strings.Contains(output, "tmp/") {
		return ""
	}
	var found []string
	for _, word := range strings.FieldsFunc(output[:min(len(output), maxOutput)], func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@%~", r)
	}) {
		name := path.Clean(strings.TrimRight(word, "."))
		if !sandbox.CoveredBy(sandbox.SharedTempFolders, name) || strings.Contains(command, name) || slices.Contains(found, name) {
			continue
		}
		if _, err := ps.files.Lstat(name); err != nil {
			continue
		}
		if _, named := ps.temp(name); named && len(found) < maxHosts {
			found = append(found, name)
		}
	}
	if found == nil {
		return ""
	}
	return "\n(On the host, and not in the session's own /tmp: " + strings.Join(found, ", ") + ". A command sees it if its text names the path.)"
}

// spelled returns name in the Unicode form in which its entries exist. Models write composed
// characters (NFC), and macOS and its archives decomposed ones (NFD).
func (ps paths) spelled(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if norm.NFC.QuickSpanString(part) == len(part) && norm.NFD.QuickSpanString(part) == len(part) {
			continue // only one form
		}
		for _, form := range []string{part, norm.NFC.String(part), norm.NFD.String(part)} {
			parts[i] = form
			at := strings.Join(parts[:i+1], "/")
			if !path.IsAbs(at) {
				at = path.Join(ps.workspace, at)
			}
			if _, err := ps.files.Lstat(at); err == nil {
				break
			}
			parts[i] = part
		}
	}
	return strings.Join(parts, "/")
}

// show returns a canonical path in the form the model should write: relative to the
// workspace if it is inside.
func (ps paths) show(path string) string {
	if path == ps.workspace {
		return "."
	}
	if ps.temp != nil {
		if own, _ := ps.temp("/tmp"); own != "/tmp" && sandbox.Covers(own, path) {
			return "/tmp" + path[len(own):]
		}
	}
	if sandbox.Covers(ps.workspace, path) {
		return strings.TrimPrefix(strings.TrimPrefix(path, ps.workspace), "/")
	}
	return path
}

// still fails when path, which was canonical a moment ago, now leads elsewhere.
func (ps paths) still(path string) error {
	if now, err := sandbox.Canonical(ps.files, "/", path); err != nil || now != path {
		return fmt.Errorf("%s was replaced by a symbolic link meanwhile; nothing was done", ps.show(path))
	}
	return nil
}

// readable fails when p does not allow reading path.
func (ps paths) readable(p sandbox.Policy, path string, s Stage) error {
	j := p.JudgeRead(path)
	if j.Allowed {
		return nil
	}
	if j.Final {
		return fmt.Errorf("the sandbox does not allow to read %s: %s. Do without it", ps.show(path), j.Rule)
	}
	return fmt.Errorf("the sandbox does not allow to read %s (%s).%s", ps.show(path), j.Rule,
		asking(s, fmt.Sprintf(" If it is needed, ask for it with the shell tool: additional_permissions {\"read\": [%q]} and a justification.", path)))
}

// open checks that path may be read and starts a worker for it. Without a worker, the
// Result or the error says why.
func (ps paths) open(ctx context.Context, p sandbox.Policy, s Stage, path string) (*worker.Client, Result, error) {
	if err := ps.readable(p, path, s); err != nil {
		r := failed("%v", err)
		r.Outcome = word.Refused
		return nil, r, nil
	}
	if err := ps.still(path); err != nil {
		return nil, failed("%v", err), nil
	}
	files, err := s.Exec.Files(ctx, p.OnlyRead(), nil)
	if err != nil {
		return nil, Result{}, fmt.Errorf("the file worker: %w", err)
	}
	files.Looked = s.Looked
	return files, Result{}, nil
}

// unreadable explains the worker's error and what to do next; the end of ctx is no Result.
func (ps paths) unreadable(ctx context.Context, path string, err error) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	name := ps.show(path)
	var werr *worker.Error
	if errors.As(err, &werr) {
		switch werr.Kind {
		case worker.Absent:
			return failed("there is no file or folder %s; list_files or search finds its name", name), nil
		case worker.IsFolder:
			return failed("%s is a folder; list_files shows what is in it", name), nil
		case worker.NotFolder:
			return failed("%s is not a folder; read_file reads a file", name), nil
		case worker.Special:
			return failed("%s is not a regular file, and is not read", name), nil
		}
	}
	return failed("%s cannot be read: %v", name, err), nil
}

// asking returns words about how to ask, if somebody can answer.
func asking(s Stage, words string) string {
	if s.Asking {
		return words
	}
	return " Nobody can be asked here; do without it."
}
