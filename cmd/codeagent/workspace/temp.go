package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/hostfile"
	"codeagent/internal/git"
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

// mostLooked bounds the entries that Files looks at.
const mostLooked = 4096

// Files lists the files at the top of the private folder. In folders, and under hidden names, programs keep
// their caches.
func (t Temp) Files() (out []fs.FileInfo) {
	if !t.Own() {
		return nil
	}
	list, _ := hostfile.ReadDir(t.Policy().Temp, mostLooked)
	for _, e := range list {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm() != 0 && info.Size() > 0 && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, info)
		}
	}
	return out
}

// Keep copies them to new files in folder, and returns their names. Threat: the model chooses the names.
// So no file is replaced, none gets a name that is protected in any folder, none makes folder a git directory,
// whose settings name programs, and no link of a command is passed.
func (t Temp) Keep(ground hostfile.Ground, folder string) (kept []string, err error) {
	dir, err := ground.Resolve(t.Folder, folder)
	if err != nil {
		return nil, err
	}
	files, own := t.Files(), sandbox.WorkspaceWrite(dir)
	if git.Marked(func(name string) bool {
		_, err := hostfile.Lstat(filepath.Join(dir, name))
		return err == nil || slices.ContainsFunc(files, func(f fs.FileInfo) bool { return strings.EqualFold(f.Name(), name) })
	}) {
		return nil, fmt.Errorf("%s is a git directory, or would become one", dir)
	}
	for _, info := range files {
		to := filepath.Join(dir, info.Name())
		failed := fmt.Errorf("%s is protected", to)
		if t.Policy().JudgeWrite(to).Kind != sandbox.KindProtected && own.JudgeWrite(to).Kind != sandbox.KindProtected {
			failed = hostfile.CopyNew(filepath.Join(t.Policy().Temp, info.Name()), to, 0o666)
		}
		if err = errors.Join(err, failed); failed == nil {
			kept = append(kept, info.Name())
		}
	}
	return kept, err
}
