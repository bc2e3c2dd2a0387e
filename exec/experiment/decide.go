package experiment

import (
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// run is what one run of the command showed.
type run struct {
	status sandbox.Status
	// refused are the changes of files that it was refused, by their paths: those that a write root would
	// allow, and those that stay refused.
	refused, closed map[string]bool
	// across: it was refused to give a file a second name or a new one. On drafts of two folders that fails, since
	// each is a file system.
	across bool
	// other: something else than a change of a file was refused, such as a network.
	other bool
	// wrote are the paths outside the policy that it changed.
	wrote map[string]bool
}

func (r *run) passed() bool { return r.status == sandbox.Status{} }

// newRun reads what a run was refused, apart from what the user's own permissions refuse too.
func newRun(p sandbox.Policy, status sandbox.Status, denials []sandbox.Denial) *run {
	r := &run{status: status, refused: map[string]bool{}, closed: map[string]bool{}, wrote: map[string]bool{}}
	for _, d := range denials {
		r.across = r.across || !d.Moot && (strings.HasPrefix(d.Operation, "link") || strings.HasPrefix(d.Operation, "rename"))
		switch {
		case d.Moot, d.Operation == "restored", d.Operation == "not restored":
		case d.Kind == sandbox.KindWrite && d.Why == "", d.Kind == sandbox.KindMetadata && d.Why == "":
			if p.JudgeWrite(d.Target).Kind == sandbox.KindWrite {
				r.refused[d.Target] = true
			} else {
				r.closed[d.Target] = true
			}
		case d.Kind == sandbox.KindWrite, d.Kind == sandbox.KindMetadata, d.Kind == sandbox.KindProtected, d.Kind == sandbox.KindRead:
			r.closed[d.Target] = true
		default:
			r.other = true
		}
	}
	return r
}

// finding is what the runs say together.
type finding int

const (
	unknown finding = iota
	// sandboxed: it fails under the policy, and passes with the refused writes.
	sandboxed
	// elsewhere: it fails in the same way with them, besides: in another way.
	elsewhere
	besides
	// passing: it passed under the same policy.
	passing
)

// decide compares the run that failed, one under the same policy, and those with all refused writes lifted.
// If the second does not repeat what the first was refused, the state was not the same, and they say nothing.
func decide(first, same *run, lifted ...*run) finding {
	if first.other || same.other || !alike(first.refused, same.refused) || !alike(first.closed, same.closed) {
		return unknown
	}
	if same.passed() {
		return passing
	}
	if same.status != first.status || len(lifted) == 0 {
		return unknown
	}
	for _, l := range lifted {
		if l.other || l.status != lifted[0].status {
			return unknown
		}
	}
	switch all := lifted[len(lifted)-1]; {
	case all.passed():
		return sandboxed
	case first.across || same.across || len(all.refused)+len(all.closed) > 0:
		return unknown
	case all.status == first.status:
		return elsewhere
	}
	return besides
}

// alike reports whether two runs were refused the same. A name may differ, its folder may not.
func alike(a, b map[string]bool) bool {
	folders := func(of, without map[string]bool) map[string]bool {
		out := map[string]bool{}
		for p := range of {
			if !without[p] {
				out[path.Dir(p)] = true
			}
		}
		return out
	}
	left, right := folders(a, b), folders(b, a)
	for dir := range left {
		if !right[dir] {
			return false
		}
	}
	return len(left) == len(right)
}

// needs are the places that the lifted runs wrote outside the policy. A name that not each of them wrote
// stands for its folder: the next run will write another one. varies: there is such a name.
func needs(lifted []*run) (places []string, varies bool) {
	for _, l := range lifted {
		for p := range l.wrote {
			dir := path.Dir(p)
			if each(lifted, p) {
				places = append(places, p)
			} else if !each(lifted, dir) { // else the folder is new, and named itself
				places, varies = append(places, dir), true
			}
		}
	}
	slices.Sort(places)
	return slices.Compact(places), varies
}

func each(runs []*run, p string) bool {
	return !slices.ContainsFunc(runs, func(r *run) bool { return !r.wrote[p] })
}

// layers are the folders that a draft covers so that all of targets can be changed on it: of the nearest
// existing folders those that no other one contains.
func layers(targets map[string]bool, folder func(string) bool) (out []string) {
	var all []string
	for p := range targets {
		for p = path.Dir(p); p != "/" && !folder(p); p = path.Dir(p) {
		}
		all = append(all, p)
	}
	slices.Sort(all)
	for _, p := range all {
		if !sandbox.CoveredBy(out, p) {
			out = append(out, p)
		}
	}
	return out
}
