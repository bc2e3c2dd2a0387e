package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"codeagent/hostfile"
	"codeagent/internal/git"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
)

// Temp is what commands of a session see as /tmp and /var/tmp.
type Temp struct {
	// Policy returns that of commands now. Private: its Temp can be mounted there.
	Policy  func() sandbox.Policy
	Private bool
	// Folder is the workspace.
	Folder string
	// Still is that of sandbox.Stiller.
	Still func(do func())
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
	if _, _, ok := hostfile.TempEntry(base, path, p.DenyRead, p.Protected); ok && p.JudgeRead(path).Allowed {
		return path, true
	}
	return own, false
}

// Left is a file or a folder at the top of the private folder.
type Left struct {
	Name   string
	Folder bool
	// Files are its regular files, with Size bytes. Many: they are more.
	Files int
	Size  int64
	Many  bool
	// Changed is the latest change of one of them, or of a folder.
	Changed time.Time
}

// mostLooked bounds the entries that Left looks at, at the top and in each folder there, mostOfAll in all of them.
const mostLooked, mostOfAll = 4096, 16 * 4096

// Left lists what commands left at the top of the private folder: files, and folders with files. Under hidden
// names programs keep their caches.
func (t Temp) Left() (out []Left) {
	if !t.Own() {
		return nil
	}
	top := t.Policy().Temp
	list, _ := hostfile.ReadDir(top, mostLooked)
	all := mostOfAll
	for _, e := range list {
		l, most := Left{Name: e.Name(), Folder: e.IsDir()}, min(mostLooked, all)
		looks := most
		if strings.HasPrefix(l.Name, ".") {
			continue
		}
		l.add(filepath.Join(top, l.Name), e, &looks)
		if l.Many = looks < 0; l.Size > 0 || l.Many {
			out = append(out, l)
		}
		all -= most - max(looks, 0)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// add counts e, which is at path, and what is in it. An entry without a permission is the place of what is shown to a command.
func (l *Left) add(path string, e fs.DirEntry, looks *int) {
	info, err := e.Info()
	if *looks--; *looks < 0 || err != nil || info.Mode().Perm() == 0 {
		return
	}
	if info.ModTime().After(l.Changed) {
		l.Changed = info.ModTime()
	}
	if info.Mode().IsRegular() {
		l.Files, l.Size = l.Files+1, l.Size+info.Size()
	}
	if info.IsDir() {
		list, _ := hostfile.ReadDir(path, *looks+1)
		for _, e := range list {
			l.add(filepath.Join(path, e.Name()), e, looks)
		}
	}
}

// String names l in a notice.
func (l Left) String() string {
	if !l.Folder {
		return l.Name
	}
	files := short.Count(l.Files, "file")
	if l.Many {
		files = "more than " + files
	}
	return fmt.Sprintf("%s/ (%s, %s)", l.Name, files, short.Size(l.Size))
}

// mostRefused bounds the reasons for what is not kept that are listed.
const mostRefused = 16

// Keep copies them to new names in folder, and returns their names. Threat: the model chooses the names. So
// no entry gets a name that is protected in any folder, and none makes a folder a git directory, whose settings
// name programs.
func (t Temp) Keep(ground hostfile.Ground, folder string) (kept []Left, err error) {
	dir, err := ground.Resolve(t.Folder, folder)
	if err != nil {
		return nil, err
	}
	own := sandbox.WorkspaceWrite(dir)
	judge := func(to, _ string) error {
		if protect.IsRepository(filepath.Base(to)) || t.Policy().JudgeWrite(to).Kind == sandbox.KindProtected || own.JudgeWrite(to).Kind == sandbox.KindProtected {
			return fmt.Errorf("%s is protected", to)
		}
		return becomesGit(filepath.Dir(to), filepath.Base(to))
	}
	var refused []string
	leave := func(err error) error {
		refused = append(refused, strings.ReplaceAll(err.Error(), t.Policy().Temp+"/", "/tmp/"))
		return nil
	}
	t.Still(func() {
		all, names := t.Left(), []string(nil)
		for _, l := range all {
			names = append(names, l.Name)
		}
		if err = becomesGit(dir, names...); err != nil {
			all = nil
		}
		c := hostfile.Copy{Judge: judge, Left: leave, Perm: 0o666}
		for _, l := range all {
			if err := c.New(filepath.Join(t.Policy().Temp, l.Name), filepath.Join(dir, l.Name)); err != nil {
				_ = leave(fmt.Errorf("%s: %w", l.Name, err))
			} else if len(c.Made) > 0 {
				kept = append(kept, l)
			}
		}
	})
	if len(refused) > 0 {
		err = errors.New(short.List(refused, mostRefused))
	}
	return kept, err
}

// becomesGit returns an error if dir with these names in it is a git directory.
func becomesGit(dir string, names ...string) error {
	if git.Marked(func(name string) bool {
		_, err := hostfile.Lstat(filepath.Join(dir, name))
		return err == nil || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}) {
		return fmt.Errorf("%s is a git directory, or would become one", dir)
	}
	return nil
}
