//go:build linux

package plan

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/hostfile"
	"codeagent/internal/git"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Mounts builds a spec.Mounts, which a keeper with namespaces makes.
type Mounts struct {
	*spec.Mounts
	// denied is Policy.DenyRead.
	denied []string
	// ReadsAll means that the command may read everything except denied.
	ReadsAll bool
	// unheld are denied paths that do not exist, in a folder that is shown. A mount cannot cover a
	// path that does not exist.
	unheld []string
}

// tempFolders are replaced by the session's own temporary folder.
var tempFolders = []string{"/tmp", "/var/tmp"}

// planMounts turns p and its rules into a Mounts for a machine with the facts f.
func planMounts(p resolved.Policy, rules []spec.Rule, f Facts) *Mounts {
	m := &Mounts{denied: p.DenyRead, ReadsAll: len(p.Read) == 0, Mounts: &spec.Mounts{
		Memory: len(p.Roots) > 0 && present(kernel.ShmDir), Terminals: present(kernel.PtsDir) && present(kernel.Ptmx),
	}}
	for _, rule := range rules {
		if rule.Access == spec.AccessWrite {
			m.Writable = append(m.Writable, rule.Path)
		}
	}
	if p.Temp != "" {
		m.Temp = p.Temp
		for _, dir := range tempFolders {
			if !sandbox.CoveredBy(m.Writable, dir) && !sandbox.CoveredBy(m.denied, dir) && present(dir) {
				m.Private = append(m.Private, dir)
			}
		}
	}
	if sandbox.CoveredBy(m.Writable, kernel.ShmDir) {
		m.Memory = false
	}
	m.planDevices(rules)
	for _, path := range m.Writable {
		m.show(path)
	}
	for _, root := range p.Read {
		m.show(root.Path)
	}
	for _, path := range f.Held {
		m.protect(path)
	}
	for _, path := range m.denied {
		if f.LandlockABI == 0 || f.Outer != "" {
			m.hideOrName(path)
		} else if sandbox.CoveredBy(m.Writable, path) && !slices.Contains(m.Writable, path) {
			m.Hide(path)
		}
	}
	return m
}

// show keeps path readable in a folder that a mount replaces. If the command may read everything,
// it shows the whole entry of /tmp that contains path: programs need their libraries, and a
// workspace needs the folders beside it.
func (m *Mounts) show(path string) {
	base := m.Replaced(path)
	if base == "" {
		return
	}
	if m.ReadsAll {
		first, _, _ := strings.Cut(path[len(base)+1:], "/")
		path = base + "/" + first
	}
	if sandbox.CoveredBy(slices.Concat(m.Writable, m.Readable, m.denied), path) || !present(path) {
		return
	}
	m.Readable = append(m.Readable, path)
	// Landlock opens the private folder with everything mounted in it.
	for _, denied := range m.denied {
		if !sandbox.Covers(path, denied) {
			continue
		}
		m.hideOrName(denied)
	}
}

// hideOrName makes a denied path unreadable, or adds it to unheld. What codeagent cannot reach the command cannot
// reach either.
func (m *Mounts) hideOrName(denied string) {
	_, err := os.Lstat(denied)
	switch {
	case err == nil:
		m.Hide(denied)
	case errors.Is(err, fs.ErrNotExist) && !slices.Contains(m.unheld, denied):
		m.unheld = append(m.unheld, denied)
	}
}

// shownInTemp lists what the command sees of the host's /tmp and /var/tmp.
func (m *Mounts) shownInTemp() []string {
	return slices.DeleteFunc(slices.Clone(m.Readable), func(path string) bool { return !sandbox.CoveredBy(m.Private, path) })
}

// waysInTemp are the paths in the temporary folder at which something is mounted for the private
// /tmp or /var/tmp. The kernel protects a mount point's name only from processes in the same mount
// namespace, and the broker is in another one. So the broker must refuse to change these names.
func (m *Mounts) waysInTemp(temp string) (out []string) {
	for _, path := range slices.Concat(m.Writable, m.Readable) {
		for _, dir := range m.Private {
			if path != dir && sandbox.Covers(dir, path) {
				out = append(out, temp+path[len(dir):])
			}
		}
	}
	return out
}

// Hide makes path unreadable. It leaves out a link: nothing can be mounted over a link, and the
// link's target is in the list of denied paths too.
func (m *Mounts) Hide(path string) {
	info, err := os.Lstat(path)
	isLink := err == nil && info.Mode()&fs.ModeSymlink != 0
	if !isLink && !slices.Contains(m.Hidden, path) {
		m.Hidden = append(m.Hidden, path)
	}
}

// ForCommand shows what cmd itself needs: its program and its folder.
func (m *Mounts) ForCommand(cmd sandbox.Command) {
	if cmd.Foreground && m.Devices {
		m.showTerminal(cmd.Stdin, cmd.Stdout, cmd.Stderr)
	}
	m.show(cmd.Dir)
	if filepath.IsAbs(cmd.Path) {
		if real, err := sandbox.Canonical(hostfile.OS{}, "/", cmd.Path); err == nil {
			m.show(real)
		}
	}
}

// protect makes path read-only and pins every folder between its write root and path. Renaming such
// a folder would take the mount along and leave the name free, so that a command could put another
// file at the protected path.
func (m *Mounts) protect(path string) {
	for _, w := range m.Writable {
		if sandbox.Covers(path, w) {
			m.Granted = append(m.Granted, w)
		}
	}
	root := widest(m.Writable, path)
	if root == "" {
		return
	}
	m.Protected = append(m.Protected, path)
	for dir := filepath.Dir(path); dir != root; dir = filepath.Dir(dir) {
		if !slices.Contains(m.Pins, dir) {
			m.Pins = append(m.Pins, dir)
		}
	}
}

// heldPaths are the protected paths inside p's write roots that exist and that a mount can cover.
// Paths inside another one are left out.
func heldPaths(p resolved.Policy) []string {
	var out []string
	for _, path := range protectedPlaces(p) {
		if present(path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.CompactFunc(out, func(kept, next string) bool { return sandbox.Covers(kept, next) })
}

// protectedPlaces lists where protected entries can be, without searching a tree: the named paths,
// and the protected names at the top of each write root and beside each git directory.
func protectedPlaces(p resolved.Policy) []string {
	var out []string
	tops := map[string]bool{}
	for _, root := range p.Roots {
		if root.Path != p.Temp {
			tops[root.Path] = true
		}
	}
	for _, path := range slices.Concat(p.Protected.Paths, p.Protected.Own) {
		if sandbox.CoveredBy(p.Paths(), path) {
			out = append(out, path)
			if dir := filepath.Dir(path); git.IsEntry(filepath.Base(dir)) {
				tops[filepath.Dir(dir)] = true
			}
		}
	}
	for top := range tops {
		for _, name := range p.Protected.Names {
			for dir, n := top, 0; n <= strings.Count(name, "/"); dir, n = filepath.Dir(dir), n+1 {
				if path := filepath.Join(dir, name); sandbox.Covers(top, path) && top != path && sandbox.CoveredBy(p.Paths(), top) {
					out = append(out, path)
				}
			}
		}
	}
	return out
}

// widest is the outermost of roots around path, or "".
func widest(roots []string, path string) string {
	best := ""
	for _, root := range roots {
		if root != path && sandbox.Covers(root, path) && (best == "" || len(root) < len(best)) {
			best = root
		}
	}
	return best
}

// present reports whether path exists and no link is on the way to it.
func present(path string) bool {
	st, err := kernel.StatPath(path)
	return err == nil && st.Mode&unix.S_IFMT != unix.S_IFLNK
}

// planDevices asks for a private /dev with what the rules open.
func (m *Mounts) planDevices(rules []spec.Rule) {
	if !present(kernel.DevDir) || sandbox.CoveredBy(m.denied, kernel.DevDir) {
		return
	}
	m.Devices = true
	for _, rule := range rules {
		opens := rule.Access == spec.AccessDevice || rule.Access == spec.AccessRead && !sandbox.Covers(kernel.ShmDir, rule.Path)
		if opens && sandbox.Covers(kernel.DevDir, rule.Path) {
			m.show(rule.Path)
		}
	}
}

// showTerminal shows the first terminal among files, because a program may ask for the name of its
// terminal. The command's /dev/pts holds the command's own terminals, so a terminal from the host's
// /dev/pts appears as /dev/console. Landlock opens neither name: the command can use the terminal
// only by its descriptors and by /dev/tty.
func (m *Mounts) showTerminal(files ...*os.File) {
	for _, f := range files {
		if f == nil {
			continue
		}
		if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
			continue
		}
		if path := kernel.PathOf(int(f.Fd())); sandbox.Covers(kernel.PtsDir, path) {
			m.Console = []string{path}
		} else {
			m.show(path)
		}
		return
	}
}
