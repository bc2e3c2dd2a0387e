package sandbox

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"codeagent/internal/git/dotgit"
)

// suggestionInput is the input of a suggestion: the policy, the user's home folder, the words of the
// command, and the files that exist now.
type suggestionInput struct {
	policy        Policy
	home, command string
	files         FileSystem
}

// Suggest is the least grant beyond p with which the denied calls of the command argv would have
// succeeded. It permits nothing; approvals judges it like any other wish. left names what no grant
// would help, each with the reason.
func Suggest(p Policy, files FileSystem, home string, argv []string, denials []Denial) (g Grant, left []string) {
	s := suggestionInput{p, home, strings.Join(argv, " "), files}
	unnamed := false // a denial is of a network that no host names
	for _, d := range denials {
		if d.Moot || d.Unwritten != nil || d.Operation == "restored" || d.Operation == "not restored" {
			continue // a file restored afterwards stopped nobody; to run a checkout again would do nothing
		}
		switch d.Kind {
		case KindWrite, KindMetadata, KindProtected:
			if d.Why != "" {
				return Grant{Unsandboxed: true}, nil
			}
			for _, place := range s.places(d) {
				if why := s.unhelped(place); why == "" {
					g.Write = appendNew(g.Write, place)
				} else {
					left = appendNew(left, place+": "+why)
				}
			}
		case KindRead:
			// A read grant lifts only the entry that it names (Policy.With).
			why := cmp.Or(d.Why, p.Unsuggested(home, d.Target))
			if j := p.With(Grant{Read: []string{d.Target}}).JudgeRead(d.Target); why == "" && !j.Allowed {
				why = "it stays refused: " + j.Why()
			}
			if why != "" {
				left = appendNew(left, d.Target+": "+why)
			} else if !p.JudgeRead(d.Target).Allowed {
				g.Read = appendNew(g.Read, d.Target)
			}
		case KindNetwork:
			h, err := ParseHostPort(d.Target)
			if j := p.JudgeHost(h); err == nil && j.Final {
				left = appendNew(left, d.Target+": "+j.Rule)
				continue
			}
			unnamed = unnamed || d.Why != ""
			if err == nil && d.Operation != "socket" && d.Why == "" {
				g.Hosts = appendNew(g.Hosts, h)
			}
		case KindSocket:
			if path.IsAbs(d.Target) && d.Operation != "bind" {
				g.Sockets = appendNew(g.Sockets, d.Target)
			}
		case KindSyscall, KindCapability:
			return Grant{Unsandboxed: true}, nil // this opens everything else too
		}
	}
	g.Write, g.Read = s.least(g.Write), s.least(g.Read)
	// A name that could not be looked up is part of each address with that name.
	g.Hosts = slices.DeleteFunc(slices.Clone(g.Hosts), func(h HostPort) bool {
		return h.Port == 0 && slices.ContainsFunc(g.Hosts, func(other HostPort) bool { return other.Host == h.Host && other.Port != 0 })
	})
	// Resolvers send datagrams to sort addresses: a connection that is refused too is what matters.
	g.Unsandboxed = unnamed && g.Empty()
	return g, left
}

// places are what must be writable so that d's target is: the target, or the folder around it if
// the next run will use another name or other files beside it.
func (s suggestionInput) places(d Denial) []string {
	d.Target = s.reached(d.Target)
	dir, base := path.Split(d.Target)
	dir = path.Clean(dir)
	cache, cached := CacheOf(d.Target)
	entry, below := dotgit.Cut(d.Target)
	switch {
	case d.Kind == KindWrite && d.Operation == "bind": // a file with that name would block bind
		return []string{dir}
	case cached && s.grantable(cache):
		return []string{cache}
	case below != "" && d.Kind != KindProtected: // git writes to many files in it
		return []string{entry}
	case s.grantable(dir) && (s.link(d.Target) || s.generated(d.Target) || !s.named(base) && s.named("/"+path.Base(dir))):
		return []string{dir}
	case strings.HasSuffix(base, ".lock") && len(base) > len(".lock"): // written, and then renamed
		return []string{strings.TrimSuffix(d.Target, ".lock"), d.Target}
	case d.Exclusive && !s.named(base) && s.grantable(dir): // written, and then renamed to a name that nobody knows yet
		return []string{dir}
	}
	return []string{d.Target}
}

// unhelped says why it would not help to let place be written, or why no suggestion contains it.
func (s suggestionInput) unhelped(place string) string {
	j := s.policy.With(Grant{Write: []string{place}}).JudgeWrite(place)
	switch {
	case !s.grantable(place):
		return s.policy.Unsuggested(s.home, place)
	case s.policy.JudgeWrite(place).Allowed:
		return "the policy allows to write it, and this was refused for another reason"
	case !j.Allowed:
		return "it stays refused: " + j.Why()
	case s.link(place):
		return "it is a link, and a grant opens what a link leads to"
	case s.generated(place) && !s.exists(place):
		return "its name looks generated, so that the next run would have another"
	}
	return ""
}

func (s suggestionInput) named(part string) bool { return strings.Contains(s.command, part) }

// generated reports whether a later run would give the entry at p another name.
func (s suggestionInput) generated(p string) bool {
	return MadeUp(path.Base(p)) && !s.named(path.Base(p))
}

func (s suggestionInput) exists(p string) bool {
	_, err := s.files.Lstat(p)
	return !errors.Is(err, fs.ErrNotExist)
}

func (s suggestionInput) link(p string) bool {
	mode, _ := s.files.Lstat(p)
	return mode&fs.ModeSymlink != 0
}

// reached returns target or, if its folder does not exist, the first entry on the way that does not:
// nothing below that could be made first.
func (s suggestionInput) reached(target string) string {
	first := target
	for dir := path.Dir(target); dir != "/" && !s.exists(dir); dir = path.Dir(dir) {
		first = dir
	}
	if s.grantable(first) {
		return first
	}
	return target
}

// MadeUp reports whether a name ends like those from mkstemp(3): in six or more characters that
// contain a digit, or lower case and, after the first, upper case. Or it has six digits or more: a
// time, an address or a process.
func MadeUp(base string) bool {
	if len(strings.Map(digit, base)) >= 6 {
		return true
	}
	end := base[strings.LastIndexAny(base, ".-~")+1:]
	return len(end) >= 6 && (strings.ContainsFunc(end, unicode.IsDigit) || strings.ToLower(end[1:]) != end[1:] && strings.ToUpper(end) != end)
}

// digit drops all but digits (strings.Map).
func digit(r rune) rune {
	if unicode.IsDigit(r) {
		return r
	}
	return -1
}

// maxSiblings is how many files of one folder are listed separately.
const maxSiblings = 4

// least replaces many files of one folder by the folder, and drops paths that another path covers.
func (s suggestionInput) least(paths []string) []string {
	in, out := map[string]int{}, slices.Clone(paths)
	for _, p := range paths {
		dir := path.Dir(p)
		wider := s.policy.With(Grant{Write: []string{dir}, Read: []string{dir}})
		if s.grantable(dir) && wider.JudgeWrite(p).Allowed && wider.JudgeRead(p).Allowed {
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

func (s suggestionInput) grantable(p string) bool { return s.policy.Unsuggested(s.home, p) == "" }

// Unsuggested says why no suggestion contains path; "" if one may.
func (p Policy) Unsuggested(home, path string) string {
	holds := func(home string) bool { return home != "" && Covers(path, home) }
	own := func(own string) bool { return Covers(own, path) || Covers(path, own) }
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case holds(home), holds(p.Env.Set["HOME"]):
		return "it is or holds the home folder"
	case slices.ContainsFunc(p.Protected.Own, own):
		return "it belongs to codeagent itself, or contains something that does, and is never opened"
	case len(parts) < 2, len(parts) == 2 && (parts[0] == "home" || parts[0] == "Users"):
		return "it is too near the root of the file system to be suggested"
	}
	return ""
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
