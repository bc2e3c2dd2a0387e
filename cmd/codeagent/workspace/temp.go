package workspace

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

// Temp is what commands of a session see as /tmp and /var/tmp.
type Temp struct {
	// Policy returns that of commands now. Private: its Temp can be mounted there.
	Policy  func() sandbox.Policy
	Private bool
	// Folder is the workspace.
	Folder string
}

// Own reports whether commands see the session's private folder.
func (t Temp) Own() bool {
	p := t.Policy()
	return t.Private && !p.Unconfined && p.Temp != ""
}

// Path returns where codeagent finds what commands see at the canonical path: another path for what lies in
// the private folder. named: it is the host's, and only a command that names it sees it.
func (t Temp) Path(path string) (at string, named bool) {
	i := slices.IndexFunc(sandbox.SharedTempFolders, func(dir string) bool { return sandbox.Covers(dir, path) })
	if i < 0 || !t.Own() {
		return path, false
	}
	p, base := t.Policy(), sandbox.SharedTempFolders[i]
	first, _, _ := strings.Cut(strings.TrimPrefix(path[len(base):], "/"), "/")
	entry, own := filepath.Join(base, first), filepath.Join(p.Temp, path[len(base):])
	shown := append(sandbox.PathsOf(p.Roots()), t.Folder) // with all of the first folder on the way
	if sandbox.CoveredBy(shown, path) || first != "" && slices.ContainsFunc(shown, func(root string) bool { return sandbox.Covers(entry, root) }) {
		return path, false
	}
	info, err := hostfile.Lstat(filepath.Join(p.Temp, first))
	if err == nil && info.Mode()&fs.ModePerm != 0 { // without a permission it is the place of what is shown to a command
		return own, false
	}
	if _, _, ok := hostfile.TempEntry(base, path, slices.Concat(p.DenyRead, p.Protected.Hidden, p.Protected.Own)); ok && p.JudgeRead(path).Allowed {
		return path, true
	}
	return own, false
}
