package verdict

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"codeagent/sandbox"
)

// Where no broker observes denials, the output is read: lines that say, in the words of
// strerror(3) or gai_strerror(3), that the system refused something, and that name
// something the policy denies. Any command can print such a line, so this is a guess.

const maxLines, maxSaid = 400, 50

var shapes = sync.OnceValue(func() (s struct{ file, lookup, connect, name, address *regexp.Regexp }) {
	s.file = regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file system|\b(EACCES|EPERM|EROFS)\b`)
	s.lookup = regexp.MustCompile(`(?i)network is unreachable|name resolution|name or service not known|resolve|getaddrinfo|\b(ENETUNREACH|EAI_AGAIN)\b`)
	s.connect = regexp.MustCompile(`(?i)socket|connect|listen`)
	// A name in quotes, with a slash, or right before the system's message.
	s.name = regexp.MustCompile(`(?:^|\W)'([^']+)'(?:\W|$)|"([^"]+)"|([^\s'"(),]*/[^\s'"():,]*)|([^\s:]+): [A-Z][a-z]+[ -][a-z]`)
	const name = `([\w-]+(?:\.[\w-]+)+|localhost)` // in a URL, alone in a clause, in quotes, or with a port
	s.address = regexp.MustCompile(`://(?:[^/\s@'"]*@)?` + name + `(?::(\d+))?|(?:: |['"])` + name + `['"]?(?:$|[:'"\s](?: ?port )?(\d*))|\b` + name + `(?::| port )(\d+)`)
	return s
})

// read returns the denials that the output reports, of kinds that no broker observes.
func read(e Evidence, files FileSystem) (said []sandbox.Denial) {
	for _, line := range e.Output[max(0, len(e.Output)-maxLines):] {
		var found []sandbox.Denial
		refused := len(line) < 2000 && shapes().file.MatchString(line)
		if refused {
			about := line
			if len(e.Argv) > 0 { // a program begins its complaint with its own name, which was not refused
				about = strings.TrimPrefix(line, e.Argv[0]+": ")
			}
			for _, m := range shapes().name.FindAllStringSubmatch(about, 20) {
				found = append(found, e.file(files, strings.Join(m[1:], "")))
			}
		}
		if !e.broker() && (refused && shapes().connect.MatchString(line) || len(line) < 2000 && shapes().lookup.MatchString(line)) {
			found = append(found, e.host(line))
		}
		for _, d := range found {
			same := func(o sandbox.Denial) bool { return o.Target == d.Target }
			unseen := d.Kind == sandbox.KindRead && !e.Trace.Reads || d.Kind != "" && e.Trace.Evidence != sandbox.EvidenceFull
			if unseen && len(said) < maxSaid && !slices.ContainsFunc(said, same) && !slices.ContainsFunc(e.Trace.Denials, same) {
				d.Evidence, d.Count = sandbox.EvidenceOutput, 1
				said = append(said, d)
			}
		}
	}
	return said
}

// name is one name in the output. refused: its line says that the system refused something.
type name struct {
	word    string
	refused bool
}

// names returns the names in the output.
func (e Evidence) names() (out []name) {
	for _, line := range e.Output[max(0, len(e.Output)-maxLines):] {
		if len(line) < 2000 {
			refused := shapes().file.MatchString(line)
			for _, m := range shapes().name.FindAllStringSubmatch(line, 20) {
				out = append(out, name{strings.Join(m[1:], ""), refused})
			}
		}
	}
	return out
}

// said reports whether the output says that the system refused the target of d. A program that cannot
// create a lock or a new version (index.lock) may name the file itself (index), so the target without
// its extension counts too. A denial counts only if the shell's text does not handle the failure.
func (t *tree) said(d *sandbox.Denial) bool {
	of := *d
	of.Target = strings.TrimSuffix(d.Target, path.Ext(d.Target))
	return !slices.Contains(t.handled, d) && slices.ContainsFunc(t.names, func(n name) bool { return n.refused && (means(n.word, d) || means(n.word, &of)) })
}

// printed reports whether the output names the target of d, or a folder around it. A folder that
// also holds the command's own folder does not count: any command may print that.
func (t *tree) printed(d *sandbox.Denial) bool {
	return slices.ContainsFunc(t.names, func(n name) bool {
		at := path.Clean("/" + n.word)
		return strings.Count(at, "/") > 1 && strings.Contains(d.Target+"/", at+"/") && !strings.Contains(t.Dir+"/", at+"/")
	})
}

// blames reports whether the output says that d failed: it names the host, or it says so of the target.
func (t *tree) blames(d *sandbox.Denial) bool {
	h, err := sandbox.ParseHostPort(d.Target)
	return t.said(d) || err == nil && slices.ContainsFunc(t.Output, func(line string) bool { return strings.Contains(line, h.Host) })
}

// broker reports whether a broker observed denied connections, or the policy denies none.
func (e Evidence) broker() bool {
	return e.Trace.Evidence == sandbox.EvidenceFull || e.Trace.Evidence == sandbox.EvidenceNetworkOnly || e.Policy.Network.Mode == sandbox.NetworkFull
}

// file judges one name. The result has no kind if the sandbox is not the reason: the policy
// allows the access, or the user's own permissions deny it.
func (e Evidence) file(files FileSystem, name string) (d sandbox.Denial) {
	target, err := sandbox.Canonical(files, e.Dir, name)
	system := func(dir string) bool { return sandbox.Covers(dir, target) }
	if name == "" || name[0] == '~' || len(name) > 4096 || err != nil || target == "/" || slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, system) {
		return d
	}
	at, read, write := target, e.Policy.JudgeRead(target), e.Policy.JudgeWrite(target)
	for _, err := files.Lstat(at); err != nil && at != "/"; _, err = files.Lstat(at) {
		at = path.Dir(at)
	}
	if d = (sandbox.Denial{Operation: "open", Target: target}); !read.Allowed && files.Access(target, false) == nil {
		if d.Kind = read.Kind; read.Final {
			d.Why = read.Rule
		}
	} else if read.Allowed && !write.Allowed && files.Access(at, true) == nil {
		d.Kind = write.Kind
	}
	return d
}

// host returns the denial of the host that the line names, or else of one that the command
// names. The result has no kind if the policy allows the host.
func (e Evidence) host(line string) sandbox.Denial {
	for _, text := range []string{line, strings.Join(e.Argv, " ")} {
		for _, m := range shapes().address.FindAllStringSubmatch(text, 4) {
			h, err := sandbox.ParseHostPort(strings.TrimSuffix(m[1]+m[3]+m[5]+":"+m[2]+m[4]+m[6], ":"))
			if err != nil {
				continue
			}
			switch j := e.Policy.JudgeHost(h); {
			case j.Allowed:
				return sandbox.Denial{}
			case j.Final:
				return sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "connect", Target: h.String(), Why: j.Rule}
			}
			return sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "connect", Target: h.String()}
		}
	}
	return sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "socket", Target: "socket"}
}
