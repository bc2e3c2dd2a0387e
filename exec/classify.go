package exec

import (
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// Accessor is what a Resolver may also offer: whether codeagent itself, outside
// the sandbox, may read or write a path. With it a verdict leaves out what the
// user's own permissions refuse.
type Accessor interface {
	// Access returns an error when the path may not be read, or written.
	Access(path string, write bool) error
}

// Classify judges whether the command failed because of the sandbox: it failed,
// and would have passed without. What the backend saw counts first (blame). With
// full evidence nothing else does: a command that was refused nothing, or could
// do without what it was refused, is not denied, whatever it printed.
//
// Where the backend sees less, and of reads, which no backend is told of, the
// output is read. Words count for nothing by themselves there either: a path or
// host that they name is made canonical and put to the policy again, and only
// what the policy really refuses is a denial. That is a guess and says so: its
// confidence is Likely.
//
// A command that exits with 0, did not run, or was interrupted is never denied.
func Classify(p sandbox.Policy, o Outcome, r sandbox.Resolver, dir string) sandbox.Verdict {
	v := sandbox.Verdict{
		Confidence: sandbox.NoConfidence,
		Evidence:   evidence(o.Trace),
		Denials:    append([]sandbox.Denial{}, o.Trace.Denials...),
		Failed:     o.Failed(),
	}
	if p.Unconfined || r == nil {
		v.Evidence = sandbox.EvidenceNothing
		return v
	}
	if !o.Failed() || o.Interrupted {
		return v
	}
	j := judge{policy: p, resolver: r, dir: dir, outcome: &o}
	if !ownLimit(o.Limit) {
		why := j.blame(v.Denials)
		for _, d := range why {
			j.suggest(d)
		}
		j.matters = len(why) > 0
		doneWithout(v.Denials, why)
	}
	recorded, known := j.matters, j.least()
	j.signal()
	j.read()
	v.Denials = append(v.Denials, j.found...)
	if !j.matters || ownLimit(o.Limit) {
		return v
	}
	v.Denied, v.Confidence, v.Suggest = true, sandbox.Likely, j.least()
	if recorded && v.Evidence != sandbox.EvidencePartial {
		// What is only read from words is told, and never fills in a question.
		v.Confidence, v.Suggest = sandbox.Certain, known
	}
	return v
}

// doneWithout marks what was refused and is not why a command failed that would
// have passed but for the others.
func doneWithout(all []sandbox.Denial, why []blamed) {
	for i := range all {
		d := &all[i]
		if len(why) > 0 && !d.Moot && !slices.ContainsFunc(why, func(b blamed) bool { return b.Denial == d }) {
			d.Moot, d.MootReason = true, "the command went on without it"
		}
	}
}

// evidence is how much the verdict could go by.
func evidence(t sandbox.Trace) sandbox.EvidenceLevel {
	switch {
	case t.Evidence == sandbox.EvidenceFull, t.Evidence == sandbox.EvidenceNetworkOnly:
		return t.Evidence
	case len(t.Denials) > 0:
		return sandbox.EvidencePartial
	}
	return sandbox.EvidenceOutputOnly
}

// ownLimit reports whether a limit explains the failure by itself. The wall
// limit does not: a command may have waited for what the sandbox refused.
func ownLimit(l sandbox.Limit) bool {
	return l != "" && l != sandbox.LimitWall && l != sandbox.LimitOutput
}

// judge gathers denials while the output is read.
type judge struct {
	policy   sandbox.Policy
	resolver sandbox.Resolver
	dir      string
	outcome  *Outcome
	found    []sandbox.Denial
	grant    sandbox.Grant
	// matters: one of the denials, found or recorded, is not moot.
	matters bool
}

// add takes a denial up, counting one that is already there. What the backend
// itself recorded is known better than any words tell it.
func (j *judge) add(d sandbox.Denial) {
	if slices.ContainsFunc(j.outcome.Trace.Denials, func(known sandbox.Denial) bool { return known.Target == d.Target }) {
		return
	}
	if j.sees(d.Kind) {
		return
	}
	d.Evidence, d.Count = sandbox.EvidenceOutput, 1
	for i, f := range j.found {
		if f.Kind == d.Kind && f.Target == d.Target {
			j.found[i].Count++
			return
		}
	}
	if len(j.found) == maxDenials {
		return
	}
	j.found = append(j.found, d)
	if !d.Moot {
		j.matters = true
		j.suggest(blamed{Denial: &d})
	}
}

// sees reports whether the backend would have recorded a denial of the kind: then
// words that tell of one it did not see tell of something else. No kernel tells of
// reads that Landlock or a mount refuses, nor of system calls that a filter does.
func (j *judge) sees(kind sandbox.DenialKind) bool {
	switch j.outcome.Trace.Evidence {
	case sandbox.EvidenceFull:
		return kind != sandbox.KindRead && kind != sandbox.KindSyscall && kind != sandbox.KindCapability
	case sandbox.EvidenceNetworkOnly:
		return kind == sandbox.KindNetwork || kind == sandbox.KindSocket
	}
	return false
}

// maxDenials bounds what one output can fill a verdict with.
const maxDenials = 50

// file judges one path that the output names; it reports whether the policy
// refuses it.
func (j *judge) file(name string, s *sighting) bool {
	if len(name) > 4096 || strings.HasPrefix(name, "~") {
		return false
	}
	target, err := sandbox.Canonical(j.resolver, j.dir, name)
	if err != nil || target == "/" || sandbox.Covers("/proc", target) || sandbox.Covers("/sys", target) || sandbox.Covers("/dev", target) {
		return false
	}
	d := sandbox.Denial{Target: target, Program: s.program, Errno: s.errno, Operation: s.operation}
	if judged := j.policy.JudgeRead(target); !judged.Allowed {
		d.Kind = judged.Kind
		if judged.Final {
			d.Why = judged.Rule
		}
		if s.errno == "EROFS" {
			return false
		}
		j.moot(&d, false)
		j.add(d)
		return true
	}
	if s.reads {
		return false
	}
	judged := j.policy.JudgeWrite(target)
	if judged.Allowed {
		return false
	}
	d.Kind = judged.Kind
	j.moot(&d, true)
	j.add(d)
	return true
}

// moot marks what the user's own permissions refuse as well.
func (j *judge) moot(d *sandbox.Denial, write bool) {
	access, ok := j.resolver.(Accessor)
	if !ok || access.Access(d.Target, write) == nil {
		return
	}
	// A name is made, replaced or removed by writing to its folder; where that
	// is missing, by writing to the nearest one above.
	for dir := path.Dir(d.Target); write; dir = path.Dir(dir) {
		if _, err := j.resolver.Lstat(dir); err == nil {
			if access.Access(dir, true) == nil {
				return
			}
			break
		}
		if dir == "/" {
			break
		}
	}
	d.Moot, d.MootReason = true, sandbox.MootPermissions
}

// signal knows the death by a filter that kills.
func (j *judge) signal() {
	const sigSys = 31 // on Linux; elsewhere no filter sends it
	if j.policy.Unconfined || j.outcome.Status.Signal != sigSys {
		return
	}
	j.add(sandbox.Denial{Kind: sandbox.KindSyscall, Operation: "seccomp", Target: "unknown system call", Errno: "SIGSYS"})
}
