package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals/ledger"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

const (
	// maxWishes bounds the entries of one wish: a person cannot read and judge more.
	maxWishes = 32
	// MaxEntry is PATH_MAX: a longer path cannot be opened.
	MaxEntry = 4096
	// MaxReason bounds a justification, in bytes.
	MaxReason = 2 << 10
)

// Want is a wish made exact: canonical, checked, and without what is allowed already.
type Want struct {
	Grant       sandbox.Grant
	Unsandboxed bool
	// Warnings are shown with the question.
	Warnings []string
	// Blocked says why the narrow grant cannot be enforced here; empty if it can.
	Blocked string
}

// Empty reports whether w wants nothing.
func (w Want) Empty() bool { return w.Grant.Empty() && !w.Unsandboxed }

// Leaves: it can only be had outside the sandbox.
func (w Want) Leaves() bool { return w.Unsandboxed || w.Blocked != "" }

// Shown is the grant that a question shows.
func (w Want) Shown() sandbox.Grant {
	if w.Grant.Empty() && w.Unsandboxed {
		return sandbox.Grant{Unsandboxed: true}
	}
	return w.Grant
}

// Exact makes w exact under base. Paths are taken relative to folder.
func (s State) Exact(base sandbox.Policy, folder string, w Wish) (Want, *Refusal) {
	if base.Unconfined {
		return Want{}, nil
	}
	out := Want{Unsandboxed: w.Unsandboxed}
	for _, raw := range w.Sockets {
		if strings.HasPrefix(raw, "@") {
			return Want{}, refuse("socket %q: abstract sockets cannot be granted, only sockets with a path", raw)
		}
	}
	for _, paths := range []struct {
		wished   []string
		out      *[]string
		open     func(p string) bool
		warnings func(p string) []string
	}{
		{w.Write, &out.Grant.Write, func(p string) bool { return base.JudgeWrite(p).Allowed }, func(p string) []string { return s.Places.writeWarnings(base, p) }},
		{w.Read, &out.Grant.Read, func(p string) bool { return base.JudgeRead(p).Allowed }, func(p string) []string { return readWarnings(base, p) }},
		{w.Sockets, &out.Grant.Sockets, func(p string) bool { return slices.Contains(base.Sockets, p) }, socketWarnings},
	} {
		for _, raw := range paths.wished {
			p, r := s.Places.Canonical(folder, raw)
			if r != nil {
				return Want{}, r
			}
			if paths.open(p) || slices.Contains(*paths.out, p) {
				continue
			}
			if r := cmp.Or(s.Places.Unclear(raw, p), s.Places.RefusePath(base, raw, p)); r != nil {
				return Want{}, r
			}
			*paths.out = append(*paths.out, p)
			out.Warnings = append(out.Warnings, paths.warnings(p)...)
		}
	}
	if r := out.addHosts(base, w.Hosts); r != nil {
		return Want{}, r
	}
	for _, h := range out.Grant.Hosts {
		if strings.ContainsAny(h.Host, "*/") {
			out.Warnings = append(out.Warnings, h.Host+" stands for every host in it, whoever owns it")
		}
		if words := ownPlace(h.Host); words != "" {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s is %s: services there trust nearby clients", h, words))
		}
	}
	// Only what is not allowed already counts: an edit may change many files.
	if n := len(out.Grant.Write) + len(out.Grant.Read) + len(out.Grant.Hosts) + len(out.Grant.Sockets); n > maxWishes {
		return Want{}, refuse("the request names %d paths and hosts; at most %d can be asked for at once", n, maxWishes)
	}
	out.Blocked = s.Blocked(base, out.Grant)
	return out, nil
}

func (w *Want) addHosts(base sandbox.Policy, hosts []string) *Refusal {
	for _, raw := range hosts {
		if r := PlainText(raw); r != nil {
			return r
		}
		hosts, err := named.ParseAllowed(raw)
		if err != nil {
			return refuse("%v", err)
		}
		for _, h := range hosts {
			switch j := base.JudgeHost(h); {
			case j.Final:
				return refuse("%s stays closed: %s", h, j.Rule)
			case !j.Allowed && !slices.Contains(w.Grant.Hosts, h):
				w.Grant.Hosts = append(w.Grant.Hosts, h)
			}
		}
	}
	return nil
}

func socketWarnings(p string) []string {
	return []string{fmt.Sprintf("the program that listens on %s acts outside the sandbox", Show(p))}
}

// readWarnings warns about a path that deny_read closes.
func readWarnings(base sandbox.Policy, p string) []string {
	if len(base.DenyRead)+len(base.DenyGlobs) == 0 {
		return nil
	}
	open := base.Clone()
	open.DenyRead, open.DenyGlobs = nil, nil
	if open.JudgeRead(p).Allowed {
		return []string{fmt.Sprintf("%s is closed to reading by deny_read (%s): what it holds goes to the model", Show(p), base.JudgeRead(p).Rule)}
	}
	return nil
}

// Blocked says why base widened by grant would still deny what was asked, or why the backend
// cannot grant it; empty if the grant works.
func (s State) Blocked(base sandbox.Policy, grant sandbox.Grant) string {
	if len(grant.Hosts) > 0 && !s.GrantsHosts {
		return "the sandbox here cannot open single hosts"
	}
	if len(grant.Sockets) > 0 && !s.GrantsSockets {
		return "the sandbox here cannot open single sockets"
	}
	wide := base.With(grant)
	for _, p := range grant.Write {
		if j := wide.JudgeWrite(p); !j.Allowed {
			return fmt.Sprintf("%s stays closed by %s", Show(p), j.Rule)
		}
	}
	for _, p := range grant.Read {
		if j := wide.JudgeRead(p); !j.Allowed {
			return fmt.Sprintf("%s stays closed: %s can only be opened as a whole", Show(p), j.Rule)
		}
	}
	return ""
}

// Narrower reports whether n allows nothing that shown does not. Paths below a shown folder
// count only if the shown grant would open them: a protected file in the folder was not
// shown.
func (s State) Narrower(base sandbox.Policy, n, shown sandbox.Grant) bool {
	if n.Unsandboxed && !shown.Unsandboxed {
		return false
	}
	wide := base.With(sandbox.Grant{Write: shown.Write, Read: shown.Read})
	more := func(paths, shown []string, judge func(string) sandbox.Judgement) bool {
		return slices.ContainsFunc(paths, func(p string) bool {
			exact := slices.Contains(shown, p)
			return !s.Places.Unmoved(p) || !exact && (!sandbox.CoveredBy(shown, p) || !judge(p).Allowed)
		})
	}
	return !more(n.Write, shown.Write, wide.JudgeWrite) && !more(n.Read, shown.Read, wide.JudgeRead) &&
		len(ledger.HostsBeyond(n.Hosts, shown.Hosts)) == 0 && len(ledger.Less(n.Sockets, shown.Sockets)) == 0
}
