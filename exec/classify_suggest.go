package exec

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"codeagent/sandbox"
)

// The suggestion: the least that would have let the command pass. It permits
// nothing; approvals judges it like any other wish.

// blamed is a denial that the failure is due to, and the steps of the command's
// text that it made fail, if that is known.
type blamed struct {
	*sandbox.Denial
	steps []step
}

// Suggest is the least grant beyond p that would have let all of denials pass,
// widened as that of a verdict is.
func Suggest(p sandbox.Policy, r sandbox.Resolver, denials []sandbox.Denial) sandbox.Grant {
	j := judge{policy: p, resolver: r, outcome: &Outcome{}}
	for i := range denials {
		j.suggest(blamed{Denial: &denials[i]})
	}
	return j.least()
}

// suggest widens the grant by the least that would let d pass.
func (j *judge) suggest(d blamed) {
	switch d.Kind {
	case sandbox.KindWrite, sandbox.KindMetadata, sandbox.KindProtected:
		for _, place := range j.places(d) {
			if j.grantable(place) {
				j.grant.Write = appendNew(j.grant.Write, place)
			}
		}
	case sandbox.KindRead:
		// A read grant lifts only the entry that is named (Policy.With).
		if j.grantable(d.Target) && (len(j.policy.Read) > 0 || slices.Contains(j.policy.DenyRead, d.Target)) {
			j.grant.Read = appendNew(j.grant.Read, d.Target)
		}
	case sandbox.KindNetwork:
		if h, err := sandbox.ParseHostPort(d.Target); err == nil && d.Operation != opSocket {
			if h.Port == 0 {
				h.Port = j.portOf(h.Host, []string{""}, 0) // by the command's own words, if they say
			}
			j.grant.Hosts = appendNew(j.grant.Hosts, h)
		}
	case sandbox.KindSocket:
		if path.IsAbs(d.Target) && d.Operation == "connect" {
			j.grant.Sockets = appendNew(j.grant.Sockets, d.Target)
		}
	case sandbox.KindSyscall, sandbox.KindCapability:
		j.grant.Unsandboxed = true
	}
}

// least makes one folder of many files in it, and drops what another item covers.
func (j *judge) least() sandbox.Grant {
	g := j.grant
	in := map[string]int{}
	for _, p := range g.Write {
		in[path.Dir(p)]++
	}
	for dir, n := range in {
		if n > maxSiblings && j.grantable(dir) {
			g.Write = appendNew(g.Write, dir)
		}
	}
	g.Write = slices.DeleteFunc(slices.Clone(g.Write), func(p string) bool {
		return slices.ContainsFunc(g.Write, func(other string) bool { return other != p && sandbox.Covers(other, p) })
	})
	// A name that could not be looked up is part of each address that has it.
	g.Hosts = slices.DeleteFunc(slices.Clone(g.Hosts), func(h sandbox.HostPort) bool {
		return h.Port == 0 && slices.ContainsFunc(g.Hosts, func(other sandbox.HostPort) bool { return other.Host == h.Host && other.Port != 0 })
	})
	if g.Unsandboxed {
		return sandbox.Grant{Unsandboxed: true} // everything else is open then
	}
	return g
}

// maxSiblings is how many files of one folder are named one by one.
const maxSiblings = 4

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// places are what must be writable for d's target to be: it, or the folder around
// it where the next run will use another name, or another file beside it.
func (j *judge) places(d blamed) []string {
	target := d.Target
	dir, base := path.Split(target)
	dir = path.Clean(dir)
	wide := j.around(d, dir, base)
	switch {
	case wide != "" && j.grantable(wide):
		return []string{wide}
	case strings.HasSuffix(base, ".lock") && len(base) > len(".lock"):
		return []string{strings.TrimSuffix(target, ".lock"), target} // written, and then renamed
	case d.ProcessName() == "ssh-keygen" && path.Ext(base) != ".pub":
		return []string{target, target + ".pub"}
	case database(d.ProcessName(), base):
		return []string{target, target + "-journal"}
	}
	return []string{target}
}

// around is the folder to open instead of the target, "" for none.
func (j *judge) around(d blamed, dir, base string) string {
	if d.Operation == "bind" && d.Kind == sandbox.KindWrite {
		return dir // a file of that name would be in the way
	}
	if cache, ok := sandbox.CacheOf(d.Target); ok {
		return cache
	}
	for at := dir; at != "/" && at != "." && d.Kind != sandbox.KindProtected; at = path.Dir(at) {
		if path.Base(at) == ".git" || strings.HasSuffix(at, ".git") && strings.HasPrefix(d.ProcessName(), "git") {
			return at // git writes here and there in it
		}
	}
	program, _, _ := strings.Cut(d.ProcessName(), " ")
	switch {
	case temporaryName(base) && !strings.Contains(strings.Join(j.outcome.Argv, " "), base),
		slices.Contains(neighbours, program),
		program == "npm" && (base == "node_modules" || strings.HasPrefix(base, "package")):
		return dir
	}
	return namedFolder(d)
}

// neighbours write further files beside the first, with names of their own.
var neighbours = []string{"zip", "jar", "patch", "split", "csplit"}

// namedFolder is the folder that a command names which works on all that is in it,
// or the one in which a loop makes one file after the other.
func namedFolder(d blamed) string {
	for _, s := range d.steps {
		if s.loops && slices.ContainsFunc(s.writes, func(w string) bool { return strings.Contains(path.Base(w), "*") && strings.Contains(w, "/") }) {
			return path.Dir(d.Target)
		}
		if len(s.words) == 0 || !slices.Contains([]string{"rm", "chmod", "chown", "chgrp", "rsync"}, path.Base(s.words[0])) {
			continue
		}
		for _, w := range s.words[1:] {
			for dir := path.Dir(d.Target); known(w) && len(dir) > 1; dir = path.Dir(dir) {
				if laidOver(anywhere(w), dir) {
					return dir
				}
			}
		}
	}
	return ""
}

// database reports a file that SQLite keeps a journal beside while it writes.
func database(program, base string) bool {
	if strings.HasSuffix(base, "-journal") || strings.HasSuffix(base, "-wal") || strings.HasSuffix(base, "-shm") {
		return false
	}
	return program == "sqlite3" || slices.Contains([]string{".db", ".sqlite", ".sqlite3"}, path.Ext(base))
}

// grantable leaves out what nobody should be led to open: the root, what stands
// directly in it, home folders, and what is codeagent's own.
func (j *judge) grantable(p string) bool {
	if homed, ok := j.resolver.(interface{ Home() string }); ok && homed.Home() != "" && sandbox.Covers(p, homed.Home()) {
		return false
	}
	if home := j.policy.Env.Set["HOME"]; home != "" && sandbox.Covers(p, home) {
		return false
	}
	if slices.ContainsFunc(j.policy.Protected.Own, func(own string) bool { return sandbox.Covers(own, p) || sandbox.Covers(p, own) }) {
		return false
	}
	parts := strings.Split(strings.Trim(p, "/"), "/")
	return len(parts) > 2 || len(parts) == 2 && parts[0] != "home" && parts[0] != "Users"
}

// temporaryName knows the names that mkstemp(3) and its kin make up.
func temporaryName(base string) bool { return temporaryPattern().MatchString(base) }

var temporaryPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:sed[A-Za-z0-9]{6}|tmp\.[A-Za-z0-9]{6,}|tmp[a-z0-9_]{8}|tmp_.+|XX[A-Za-z0-9]{6}|zi[A-Za-z0-9]{6}|` +
		`.+\.o[A-Za-z0-9]{6}|\..+\.[A-Za-z0-9]{6}|\.[\w.-]+\.sw[a-p]|.*\D\d{8,}(?:\.\w+)?|\d{8,})$`)
})
