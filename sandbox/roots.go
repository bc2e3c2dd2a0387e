package sandbox

import (
	"path"
	"slices"

	"codeagent/internal/git/dotgit"
)

// Root is one directory or file of a policy, as a canonical absolute path.
type Root struct {
	Path string `json:"path"`
	// Optional roots may be missing; any other missing root is an error.
	Optional bool `json:"optional,omitempty"`
	// Git roots are parts of a git directory outside the workspace. They contain no files of the
	// project.
	Git bool `json:"git,omitempty"`
	// Cache roots are caches, whatever their names.
	Cache bool `json:"cache,omitempty"`
	// Origin is set by Policy.Roots. A declared root has none.
	Origin Origin `json:"-"`
}

// Origin is why a root may be written.
type Origin string

const (
	// FromWorkspace is the first root.
	FromWorkspace Origin = "workspace"
	// FromSettings is a further folder.
	FromSettings Origin = "added"
	// FromGrant is a path that was named by itself, in a grant or in the settings. It may be missing.
	FromGrant Origin = "granted"
	// FromGit is a part of a git directory elsewhere. FromObjects are its objects, which other
	// worktrees may need when a turn is undone.
	FromGit     Origin = "git"
	FromObjects Origin = "git objects"
	// FromCache is a cache, whose entries may be deleted at any time.
	FromCache Origin = "cache"
	// FromTemp is the session's own folder for temporary files.
	FromTemp Origin = "temporary"
	// FromSharedTemp is a folder that all programs of the machine share.
	FromSharedTemp Origin = "shared temporary"
)

// Roots lists all that a command under p may write, with its origin. The declared roots come first,
// in their order.
func (p Policy) Roots() []Root { return slices.Collect(p.roots) }

func (p Policy) roots(yield func(Root) bool) {
	for i, r := range p.Write {
		_, cache := CacheOf(r.Path)
		switch {
		case r.Path == p.Temp:
			continue // it comes below
		case r.Git && path.Base(r.Path) == dotgit.Objects:
			r.Origin = FromObjects
		case r.Git:
			r.Origin = FromGit
		case i == 0:
			r.Origin = FromWorkspace
		case cache, r.Cache:
			r.Origin = FromCache
		case r.Optional:
			r.Origin = FromGrant
		default:
			r.Origin = FromSettings
		}
		if !yield(r) {
			return
		}
	}
	if p.Temp != "" && !yield(Root{Path: p.Temp, Origin: FromTemp}) {
		return
	}
	for _, dir := range SharedTempFolders {
		if p.SharedTemp && !yield(Root{Path: dir, Optional: true, Origin: FromSharedTemp}) {
			return
		}
	}
}

// SharedTempFolders are the folders that Policy.SharedTemp opens, in their canonical forms on Linux
// and macOS.
var SharedTempFolders = []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp"}

// PathsOf returns the paths of roots.
func PathsOf(roots []Root) (paths []string) {
	for _, r := range roots {
		paths = append(paths, r.Path)
	}
	return paths
}

// Folders returns the write roots that contain project files: those that are not parts of a git
// directory.
func (p Policy) Folders() (roots []Root) {
	return slices.DeleteFunc(slices.Clone(p.Write), func(r Root) bool { return r.Git })
}

// deepest returns the write root that decides about target: the deepest around it. A shared folder
// decides only where no other root does.
func (p Policy) deepest(target string) (best Root, ok bool) {
	for r := range p.roots {
		if Covers(r.Path, target) && len(r.Path) > len(best.Path) && (r.Origin != FromSharedTemp || !ok) {
			best, ok = r, true
		}
	}
	return best, ok
}

// Observes reports whether changes at path are reported to a ChangeObserver. They are if path is in
// a write root other than the folder for temporary files, the shared ones, the caches and the objects
// of a git directory elsewhere.
func (p Policy) Observes(path string) bool {
	switch origin, ok := p.Origin(path); origin {
	case FromTemp, FromSharedTemp, FromCache, FromObjects:
		return false
	default:
		return ok
	}
}

// Origin is that of the write root that decides about path; ok is false if none does.
func (p Policy) Origin(path string) (origin Origin, ok bool) {
	r, ok := p.deepest(path)
	return r.Origin, ok
}
