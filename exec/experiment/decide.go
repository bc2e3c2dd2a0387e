package experiment

import (
	"maps"
	"path"
	"slices"

	"codeagent/sandbox"
)

// run is what one run of the command showed.
type run struct {
	status sandbox.Status
	// refused are the paths that it may not change and a write root would open, closed those that stay refused.
	refused, closed map[string]bool
	// across: it could not give a file a name in another folder of the draft.
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
		kind := p.JudgeWrite(d.Target).Kind
		switch write := d.Kind == sandbox.KindWrite || d.Kind == sandbox.KindMetadata; {
		case d.Errno == "EXDEV":
			r.across = true
		case d.Moot, d.Operation == "restored", d.Operation == "not restored":
		case write && d.Why == "" && kind != sandbox.KindProtected && kind != sandbox.KindRead:
			r.refused[d.Target] = true
		case write, d.Kind == sandbox.KindProtected, d.Kind == sandbox.KindRead:
			r.closed[d.Target] = true
		default:
			r.other = true
		}
	}
	return r
}

// finding is what the runs say together, as a sentence.
type finding string

const (
	unknown   finding = ""
	sandboxed finding = "Tried on a copy: with these writes it passes"
	elsewhere finding = "Tried on a copy: with all refused writes allowed it fails alike"
	besides   finding = "Tried on a copy: with all refused writes allowed it fails too, in another way"
	passing   finding = "Tried again on a copy, with the same refused: it passes"
)

// decide compares the run that failed, one under the same policy, and those with all refused writes lifted.
// If the second does not repeat what the first was refused, the state was not the same, and they say nothing.
func decide(first, same *run, lifted ...*run) finding {
	differs := func(l *run) bool { return l.other || l.status != lifted[0].status }
	switch {
	case first.other, same.other, !alike(first.refused, same.refused), !alike(first.closed, same.closed):
		return unknown
	case same.passed():
		return passing
	case same.status != first.status, len(lifted) == 0, slices.ContainsFunc(lifted, differs):
		return unknown
	case lifted[0].passed():
		return sandboxed
	case same.across, lifted[0].across, len(lifted[0].refused)+len(lifted[0].closed) > 0:
		return unknown
	case lifted[0].status == first.status:
		return elsewhere
	}
	return besides
}

// alike reports whether two runs were refused the same. A name may differ, its folder may not.
func alike(a, b map[string]bool) bool {
	folders := func(of map[string]bool) map[string]bool {
		out := map[string]bool{}
		for p := range of {
			out[path.Dir(p)] = true
		}
		return out
	}
	return maps.Equal(folders(a), folders(b))
}

// needs are the places that the lifted runs wrote outside the policy. A name that not each of them wrote
// stands for its folder: the next run will write another one. varies: there is such a name.
func needs(lifted []*run) (places []string, varies bool) {
	each := func(p string) bool { return !slices.ContainsFunc(lifted, func(r *run) bool { return !r.wrote[p] }) }
	for _, l := range lifted {
		for p := range l.wrote {
			if dir := path.Dir(p); each(p) {
				places = append(places, p)
			} else if !each(dir) { // else the folder is new, and named itself
				places, varies = append(places, dir), true
			}
		}
	}
	slices.Sort(places)
	return slices.Compact(places), varies
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
