package sandbox

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"codeagent/internal/git"
)

// suggesting is the input of a suggestion: the policy, the user's home folder and the words of the
// command.
type suggesting struct {
	policy        Policy
	home, command string
}

// Suggest is the least grant beyond p with which the denied calls of the command argv would have
// succeeded. It permits nothing; approvals judges it like any other wish.
func Suggest(p Policy, home string, argv []string, denials []Denial) (g Grant) {
	s := suggesting{p, home, strings.Join(argv, " ")}
	unnamed := false // a denial is of a network that no host names
	for _, d := range denials {
		if d.Moot || d.Operation == "restored" || d.Operation == "not restored" {
			continue // a file restored afterwards stopped nobody
		}
		switch d.Kind {
		case KindWrite, KindMetadata, KindProtected:
			if d.Why != "" {
				return Grant{Unsandboxed: true}
			}
			for _, place := range s.places(d) {
				if s.grantable(place) {
					g.Write = appendNew(g.Write, place)
				}
			}
		case KindRead:
			// A read grant lifts only the entry that it names (Policy.With).
			if s.grantable(d.Target) && (len(s.policy.Read) > 0 || slices.Contains(s.policy.DenyRead, d.Target)) {
				g.Read = appendNew(g.Read, d.Target)
			}
		case KindNetwork:
			unnamed = unnamed || d.Why != ""
			if h, err := ParseHostPort(d.Target); err == nil && d.Operation != "socket" && d.Why == "" {
				g.Hosts = appendNew(g.Hosts, h)
			}
		case KindSocket:
			if path.IsAbs(d.Target) && d.Operation == "connect" {
				g.Sockets = appendNew(g.Sockets, d.Target)
			}
		case KindSyscall, KindCapability:
			return Grant{Unsandboxed: true} // this opens everything else too
		}
	}
	g.Write, g.Read = s.least(g.Write), s.least(g.Read)
	// A name that could not be looked up is part of each address with that name.
	g.Hosts = slices.DeleteFunc(slices.Clone(g.Hosts), func(h HostPort) bool {
		return h.Port == 0 && slices.ContainsFunc(g.Hosts, func(other HostPort) bool { return other.Host == h.Host && other.Port != 0 })
	})
	// Resolvers send datagrams to sort addresses: a connection that is refused too is what matters.
	g.Unsandboxed = unnamed && g.Empty()
	return g
}

// places are what must be writable so that d's target is: the target, or the folder around it if
// the next run will use another name or other files beside it.
func (s suggesting) places(d Denial) []string {
	dir, base := path.Split(d.Target)
	dir = path.Clean(dir)
	cache, cached := CacheOf(d.Target)
	entry, below := git.Cut(d.Target)
	named := func(part string) bool { return strings.Contains(s.command, part) }
	switch {
	case d.Kind == KindWrite && d.Operation == "bind": // a file with that name would block bind
		return []string{dir}
	case cached && s.grantable(cache):
		return []string{cache}
	case below != "" && d.Kind != KindProtected: // git writes to many files in it
		return []string{entry}
	case !named(base) && (MadeUp(base) || named("/"+path.Base(dir))) && s.grantable(dir):
		return []string{dir}
	case strings.HasSuffix(base, ".lock") && len(base) > len(".lock"): // written, and then renamed
		return []string{strings.TrimSuffix(d.Target, ".lock"), d.Target}
	}
	return []string{d.Target}
}

// MadeUp reports whether a name ends like those from mkstemp(3): in six or more characters that
// contain a digit or mix upper and lower case.
func MadeUp(base string) bool {
	end := base[strings.LastIndexAny(base, ".-~")+1:]
	return len(end) >= 6 && (strings.ContainsFunc(end, unicode.IsDigit) || strings.ToLower(end) != end && strings.ToUpper(end) != end)
}

// maxSiblings is how many files of one folder are listed separately.
const maxSiblings = 4

// least replaces many files of one folder by the folder, and drops paths that another path covers.
func (s suggesting) least(paths []string) []string {
	in, out := map[string]int{}, slices.Clone(paths)
	for _, p := range paths {
		if dir := path.Dir(p); s.grantable(dir) {
			if in[dir]++; in[dir] > maxSiblings {
				out = appendNew(out, dir)
			}
		}
	}
	covered := func(p string) bool {
		return slices.ContainsFunc(out, func(other string) bool { return other != p && Covers(other, p) })
	}
	return slices.DeleteFunc(slices.Clone(out), covered)
}

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// grantable reports whether a suggestion may contain p. It must not contain the root, entries
// directly in it, home folders, or codeagent's own files.
func (s suggesting) grantable(p string) bool {
	home := func(home string) bool { return home != "" && Covers(p, home) }
	own := func(own string) bool { return Covers(own, p) || Covers(p, own) }
	parts := strings.Split(strings.Trim(p, "/"), "/")
	return !home(s.home) && !home(s.policy.Env.Set["HOME"]) && !slices.ContainsFunc(s.policy.Protected.Own, own) &&
		(len(parts) > 2 || len(parts) == 2 && parts[0] != "home" && parts[0] != "Users")
}

// cachesOf are the folders that contain a cache for each program, by the program's name: the
// defaults of the XDG Base Directory Specification and of macOS. Both standards put settings and
// programs elsewhere, and allow all content of these folders to be deleted. Other cache folders do
// not promise that: ~/.ccache contains settings, and ~/.pub-cache and ~/.npm contain programs that
// run outside. A CACHEDIR.TAG, which ccache writes beside its settings, only promises that backups
// may skip the folder.
var cachesOf = []string{"/.cache/", "/Library/Caches/"}

// CacheOf returns the cache that contains path, or false if none does. A tool that may write one
// entry of a cache may write the whole cache. The cache contains itself.
func CacheOf(path string) (cache string, ok bool) {
	for _, folder := range cachesOf {
		before, after, found := strings.Cut(path, folder)
		name, _, _ := strings.Cut(after, "/")
		if outer := before + folder + name; found && name != "" && (!ok || len(outer) < len(cache)) {
			cache, ok = outer, true
		}
	}
	return cache, ok
}
