//go:build linux

package linuxsandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"codeagent/hostfile"
	"codeagent/linuxsandbox/plan"
	"codeagent/sandbox"
)

// Commands with mounts see the session's private folder as /tmp and /var/tmp. A file of the host that a
// command names there must not look absent: the keeper binds it, or the first folder on the way to it,
// read-only over a placeholder in the private folder, for that command alone. What the private folder
// has of that name comes first.
//
// The kernel checks each open with the command's own rights, so another user's file stays as closed as
// elsewhere. A link becomes a link of the private folder: it leads the command to nothing that it could
// not open by the target's own name.

const (
	// maxNamed bounds the names that are looked at for one command, maxLinks the links on the way of one.
	maxNamed, maxLinks = 64, 8
)

// showNamed has the keeper show what the command names. folders: a broker judges writes to the pipes in
// a folder, which a read-only mount does not stop. masked are paths in them that match the policy's globs.
func (b *Backend) showNamed(proc *process, m *plan.Mounts, names []string, folders bool) (masked []string) {
	if m.Temp == "" || !m.ReadsAll {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names[:min(len(names), maxNamed)] {
		for range maxLinks {
			base := m.Replaced(name)
			if !slices.Contains(m.Private, base) || sandbox.CoveredBy(slices.Concat(m.Writable, m.Readable, m.Named), name) {
				break
			}
			entry, kind, ok := hostfile.TempEntry(base, name, proc.policy.DenyRead, proc.policy.Protected)
			if !ok || !proc.policy.JudgeRead(name).Allowed || kind.IsDir() && !folders {
				break
			}
			if kind.IsDir() {
				shut := b.globs.Find(proc.policy.DenyGlobs, []string{entry})
				if shut.Why != "" {
					break // what matches there is not known
				}
				masked = append(masked, shut.Paths...)
			}
			place, to := m.Temp+entry[len(base):], ""
			if kind == fs.ModeSymlink {
				to, _ = os.Readlink(entry)
				if !filepath.IsAbs(to) {
					to = filepath.Join(base, to)
				}
			}
			if !b.hold(proc, place, kind, to) {
				break // the private folder has an entry of that name
			}
			m.Named = append(m.Named, entry) // the keeper passes over a link
			if to == "" {
				break
			}
			name = filepath.Join(to, name[len(entry):])
		}
	}
	for _, path := range masked {
		m.Hide(path)
	}
	return masked
}

// hold makes the entry at path for proc, or joins those that use it.
func (b *Backend) hold(proc *process, path string, kind fs.FileMode, to string) bool {
	h := b.holders[path]
	if h == nil {
		made, err := createPlace(path, kind, to)
		if err != nil {
			return false
		}
		h = &holder{placeholder: made}
		b.holders[path] = h
	}
	h.users++
	proc.holders = append(proc.holders, h)
	proc.protection.Fixed = append(proc.protection.Fixed, path)
	return true
}
