package approvals

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"codeagent/sandbox"
)

const (
	// maxWishes bounds the entries of one wish: a person cannot read and judge more.
	maxWishes = 32
	// maxEntry is PATH_MAX: a longer path cannot be opened.
	maxEntry = 4096
	// maxReason bounds a justification, in bytes.
	maxReason = 2 << 10
)

// want is a wish made exact: canonical, checked, and without what is allowed already.
type want struct {
	grant       sandbox.Grant
	unsandboxed bool
	// warnings are shown with the question.
	warnings []string
	// blocked says why the narrow grant cannot be enforced here; empty if it can.
	blocked string
}

func (w want) empty() bool { return w.grant.Empty() && !w.unsandboxed }

// leaves: it can only be had outside the sandbox.
func (w want) leaves() bool { return w.unsandboxed || w.blocked != "" }

// shown is the grant that a question shows.
func (w want) shown() sandbox.Grant {
	if w.grant.Empty() && w.unsandboxed {
		return sandbox.Grant{Unsandboxed: true}
	}
	return w.grant
}

// refuse returns the refusal of a wish that nobody can grant, worded for the model.
func refuse(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}

// want makes w exact under base. Paths are taken relative to folder.
func (s state) want(base sandbox.Policy, folder string, w Wish) (want, *Refusal) {
	if base.Unconfined {
		return want{}, nil
	}
	out := want{unsandboxed: w.Unsandboxed}
	for _, raw := range w.Sockets {
		if strings.HasPrefix(raw, "@") {
			return want{}, refuse("socket %q: abstract sockets cannot be granted, only sockets with a path", raw)
		}
	}
	for _, paths := range []struct {
		wished   []string
		out      *[]string
		open     func(p string) bool
		warnings func(p string) []string
	}{
		{w.Write, &out.grant.Write, func(p string) bool { return base.JudgeWrite(p).Allowed }, func(p string) []string { return s.at.writeWarnings(base, p) }},
		{w.Read, &out.grant.Read, func(p string) bool { return base.JudgeRead(p).Allowed }, func(p string) []string { return readWarnings(base, p) }},
		{w.Sockets, &out.grant.Sockets, func(p string) bool { return slices.Contains(base.Sockets, p) }, socketWarnings},
	} {
		for _, raw := range paths.wished {
			p, r := s.at.canonical(folder, raw)
			if r != nil {
				return want{}, r
			}
			if paths.open(p) || slices.Contains(*paths.out, p) {
				continue
			}
			if r := cmp.Or(s.at.unclear(raw, p), s.at.refusePath(base, raw, p)); r != nil {
				return want{}, r
			}
			*paths.out = append(*paths.out, p)
			out.warnings = append(out.warnings, paths.warnings(p)...)
		}
	}
	if r := out.addHosts(base, w.Hosts); r != nil {
		return want{}, r
	}
	for _, h := range out.grant.Hosts {
		if words := ownPlace(h.Host); words != "" {
			out.warnings = append(out.warnings, fmt.Sprintf("%s is %s: services there trust nearby clients", h, words))
		}
	}
	// Only what is not allowed already counts: an edit may change many files.
	if n := len(out.grant.Write) + len(out.grant.Read) + len(out.grant.Hosts) + len(out.grant.Sockets); n > maxWishes {
		return want{}, refuse("the request names %d paths and hosts; at most %d can be asked for at once", n, maxWishes)
	}
	out.blocked = s.blocked(base, out.grant)
	return out, nil
}

func (w *want) addHosts(base sandbox.Policy, hosts []string) *Refusal {
	for _, raw := range hosts {
		if r := plainText(raw); r != nil {
			return r
		}
		h, err := sandbox.ParseHostPort(raw)
		if err != nil {
			return refuse("%v", err)
		}
		if h.Port == 0 {
			return refuse("host %q: name the port too, for example %q", raw, h.Host+":443")
		}
		if base.JudgeHost(h).Allowed || slices.Contains(w.grant.Hosts, h) {
			continue
		}
		w.grant.Hosts = append(w.grant.Hosts, h)
	}
	return nil
}

func socketWarnings(p string) []string {
	return []string{fmt.Sprintf("the program that listens on %s acts outside the sandbox", show(p))}
}

func readWarnings(base sandbox.Policy, p string) []string {
	if len(base.DenyRead)+len(base.DenyGlobs) == 0 {
		return nil
	}
	open := base.Clone()
	open.DenyRead, open.DenyGlobs = nil, nil
	if open.JudgeRead(p).Allowed {
		return []string{fmt.Sprintf("%s is closed to reading by deny_read (%s): what it holds goes to the model", show(p), base.JudgeRead(p).Rule)}
	}
	return nil
}

// blocked says why base widened by grant would still deny what was asked, or why the backend
// cannot grant it; empty if the grant works.
func (s state) blocked(base sandbox.Policy, grant sandbox.Grant) string {
	if len(grant.Hosts) > 0 && !s.grantsHosts {
		return "the sandbox here cannot open single hosts"
	}
	if len(grant.Sockets) > 0 && !s.grantsSockets {
		return "the sandbox here cannot open single sockets"
	}
	wide := base.With(grant)
	for _, p := range grant.Write {
		if j := wide.JudgeWrite(p); !j.Allowed {
			return fmt.Sprintf("%s stays closed by %s", show(p), j.Rule)
		}
	}
	for _, p := range grant.Read {
		if j := wide.JudgeRead(p); !j.Allowed {
			return fmt.Sprintf("%s stays closed: %s can only be opened as a whole", show(p), j.Rule)
		}
	}
	return ""
}

// narrower reports whether n allows nothing that shown does not. Paths below a shown folder
// count only if the shown grant would open them: a protected file in the folder was not
// shown.
func (s state) narrower(base sandbox.Policy, n, shown sandbox.Grant) bool {
	if n.Unsandboxed && !shown.Unsandboxed {
		return false
	}
	wide := base.With(sandbox.Grant{Write: shown.Write, Read: shown.Read})
	more := func(paths, shown []string, judge func(string) sandbox.Judgement) bool {
		return slices.ContainsFunc(paths, func(p string) bool {
			exact := slices.Contains(shown, p)
			return !s.at.unmoved(p) || !exact && (!sandbox.CoveredBy(shown, p) || !judge(p).Allowed)
		})
	}
	return !more(n.Write, shown.Write, wide.JudgeWrite) && !more(n.Read, shown.Read, wide.JudgeRead) &&
		len(without(n.Hosts, shown.Hosts)) == 0 && len(without(n.Sockets, shown.Sockets)) == 0
}

// show formats a path for a sentence.
func show(p string) string {
	if strings.ContainsAny(p, " '\"()") {
		return fmt.Sprintf("%q", p)
	}
	return p
}
