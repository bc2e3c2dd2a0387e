package approvals

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// places judges paths by the files that exist now.
type places struct {
	files sandbox.FileSystem
	// home and workspace are canonical; written is the home folder as the settings name it.
	home, workspace, written string
}

func newPlaces(files sandbox.FileSystem, home, workspace string) places {
	at := places{files: files, home: home, workspace: workspace, written: home}
	for _, p := range []*string{&at.home, &at.workspace} {
		if c, err := sandbox.Canonical(files, "/", *p); err == nil {
			*p = c
		}
	}
	return at
}

// canonical returns the path that raw leads to. It may contain every character except NUL:
// what is allowed already needs no question, whatever its name.
func (at places) canonical(folder, raw string) (string, *Refusal) {
	if raw == "" || len(raw) > maxEntry || strings.ContainsRune(raw, 0) {
		return "", plainText(raw)
	}
	name := raw
	if strings.HasPrefix(name, "~") {
		if name != "~" && !strings.HasPrefix(name, "~/") {
			return "", refuse("path %q: only ~ and ~/… are understood; write the absolute path", raw)
		}
		if at.written == "" {
			return "", refuse("path %q: the home folder is not known here; write the absolute path", raw)
		}
		name = at.written + name[1:]
	}
	p, err := sandbox.Canonical(at.files, folder, name)
	if err != nil {
		return "", refuse("%v", err)
	}
	if len(p) > maxEntry {
		return "", refuse("path %q… is longer than %d bytes", p[:64], maxEntry)
	}
	return p, nil
}

// unclear refuses a question about p, the target of raw, if a person could not see what would
// be granted.
func (at places) unclear(raw, p string) *Refusal {
	for _, s := range []string{raw, p} {
		if r := plainText(s); r != nil {
			return r
		}
	}
	if strings.ContainsAny(raw, "*?") && at.entry(p) == isAbsent {
		return refuse("path %q: patterns are not understood; name the folder itself", raw)
	}
	return nil
}

// plainText refuses text that cannot be shown unchanged.
func plainText(s string) *Refusal {
	switch {
	case s == "":
		return refuse("an empty path or host was asked for")
	case len(s) > maxEntry:
		return refuse("a path or host of %d bytes was asked for; at most %d are possible", len(s), maxEntry)
	case !utf8.ValidString(s):
		return refuse("%q is not valid UTF-8, and cannot be shown and granted exactly", s)
	}
	for _, r := range s {
		if visible.Name(r) != "" {
			return refuse("%q contains the control character %U, and cannot be shown and granted exactly", s, r)
		}
	}
	return nil
}

// refusePath refuses what must never be granted, whoever asks.
func (at places) refusePath(base sandbox.Policy, raw, p string) *Refusal {
	if p == "/" {
		return refuse("path %q is the root of the file system: everything would be open; ask for the folder you need", raw)
	}
	if at.home != "" && foldCovers(p, at.home) {
		return refuse("path %q is the home folder or holds it: nearly everything would be open; ask for the folder or file you need", raw)
	}
	for _, own := range base.Protected.Own {
		if foldCovers(own, p) {
			return refuse("path %q belongs to codeagent itself and is never opened", raw)
		}
		if foldCovers(p, own) {
			return refuse("path %q holds %q, which belongs to codeagent itself and is never opened; ask for something below it", raw, own)
		}
	}
	return nil
}

// foldCovers is sandbox.Covers without regard to case: some file systems ignore case, and the
// safe error is to refuse.
func foldCovers(root, p string) bool {
	return sandbox.Covers(strings.ToLower(root), strings.ToLower(p))
}

// entry is the type of the file at a path.
type entry int

const (
	isAbsent entry = iota
	isFile
	isFolder
)

func (at places) entry(p string) entry {
	m, err := at.files.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return isAbsent
	case err == nil && m.IsDir():
		return isFolder
	}
	return isFile
}

func (at places) unmoved(p string) bool {
	if !path.IsAbs(p) || path.Clean(p) != p {
		return false
	}
	now, err := sandbox.Canonical(at.files, "/", p)
	return err == nil && now == p
}

// standing returns the part of a grant whose paths still lead where they did when they were
// shown: a path that has become a link, or leads through one, is left out.
func (at places) standing(grant sandbox.Grant) sandbox.Grant {
	same := func(paths []string) []string {
		return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !at.unmoved(p) })
	}
	grant.Write, grant.Read, grant.Sockets = same(grant.Write), same(grant.Read), same(grant.Sockets)
	return grant
}

// heldPlace returns what to ask for when a write of target is held: target, or the cache that
// contains it. A tool continues to write to its cache, and a question for each file would be
// answered without being read. The cache must exist: an absent name could become anything. It
// must hold no programs, since someone would run them.
func (at places) heldPlace(target string) string {
	cache, ok := sandbox.CacheOf(target)
	if ok && at.entry(cache) == isFolder && at.unmoved(cache) && at.entry(path.Join(cache, "bin")) == isAbsent {
		return cache
	}
	return target
}

// flag returns the flag that opens exactly p, or "": no flag opens a device or
// a socket, a file whose folder is missing too, or a name that cannot be shown unchanged.
func (at places) flag(p string) string {
	if !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl) {
		return ""
	}
	m, err := at.files.Lstat(p)
	switch {
	case err == nil && m.IsDir():
		return "--add-dir"
	case err == nil && m.IsRegular(), errors.Is(err, fs.ErrNotExist) && at.entry(path.Dir(p)) == isFolder:
		return "--add-file"
	}
	return ""
}

func (at places) writeWarnings(base sandbox.Policy, p string) []string {
	var out []string
	switch j := reopened(base).JudgeWrite(p); j.Kind {
	case sandbox.KindProtected:
		out = append(out, fmt.Sprintf("%s is protected: %s", show(p), cmp.Or(j.Reason, "programs outside the sandbox run or trust what it says")))
	case sandbox.KindRead:
		out = append(out, fmt.Sprintf("%s is closed to reading by deny_read (%s)", show(p), j.Rule))
	}
	if at.entry(p) == isFolder {
		where := ""
		if at.workspace != "" && !sandbox.Covers(at.workspace, p) {
			where = " outside the workspace"
		}
		out = append(out, fmt.Sprintf("%s is a folder%s: everything in it becomes writable", show(p), where))
	}
	return out
}
