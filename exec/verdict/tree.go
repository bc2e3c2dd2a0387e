package verdict

import (
	"slices"
	"sort"
	"strings"

	"codeagent/sandbox"

	"mvdan.cc/sh/v3/syntax"
)

// tree holds the processes of a command, to find the denials that made it fail. The rules:
//
//	A process that exited with 0 did not need what it was denied, unless the output names
//	the target: a worker may report a failure through a pipe and exit with 0.
//	A process survived a denial if it used more processor time after it than before, and
//	the command printed something that does not blame the denial.
//	If a process called execve after a denial, the new program failed, for another reason.
//	A failed process made its parent fail if the parent failed too, and no other child
//	failed in between without a denial.
type tree struct {
	Evidence
	denials []*sandbox.Denial // those that are not moot
	exits   map[int]sandbox.Exit
	// processes are in the order of their starts: all that ended, also those that were denied
	// something and ended by a signal.
	processes []sandbox.Exit
	children  map[int][]sandbox.Exit
	root      int
	causes    map[int][]*sandbox.Denial // cached results of below
	texts     map[string][]*syntax.Stmt
	names     []name // in the output
	handled   []*sandbox.Denial
}

func newTree(e Evidence, denials []sandbox.Denial) *tree {
	t := &tree{Evidence: e, exits: map[int]sandbox.Exit{}, children: map[int][]sandbox.Exit{}, causes: map[int][]*sandbox.Denial{}, texts: map[string][]*syntax.Stmt{}, names: e.names()}
	for _, x := range e.Trace.Exits {
		t.exits[x.PID] = x
		t.children[x.Parent] = append(t.children[x.Parent], x)
	}
	t.processes = slices.Clone(e.Trace.Exits)
	for i := range denials {
		d := &denials[i]
		if t.root = d.PID; len(d.Chain) > 0 {
			t.root = d.Chain[len(d.Chain)-1].PID
		}
		if !t.spared(d) {
			t.denials = append(t.denials, d)
		}
	}
	t.denials = slices.DeleteFunc(slices.Clone(t.denials), t.dispensable)
	for _, d := range t.denials {
		if _, ended := t.exits[d.PID]; !ended && !t.passed() {
			x := sandbox.Exit{PID: d.PID, Comm: d.ProcessName(), Status: failed}
			if by := slices.IndexFunc(d.Chain, func(a sandbox.Ancestor) bool { return !t.exits[a.PID].Forked }); by >= 0 {
				x.By, x.ByComm = d.Chain[by].PID, d.Chain[by].ProcessName()
			}
			t.processes = append(t.processes, x)
		}
	}
	// The kernel gives out process IDs in rising order, and begins again at the bottom after the
	// highest. Counting from the first process keeps the order of the starts. The first process itself
	// comes last: by then it may have executed the last command.
	sort.SliceStable(t.processes, func(i, j int) bool { return uint32(t.processes[i].PID-t.root-1) < uint32(t.processes[j].PID-t.root-1) })
	return t
}

// spared reports whether d stopped nothing, whatever its process did.
func (t *tree) spared(d *sandbox.Denial) bool {
	switch {
	// A metadata change that was restored afterwards stopped no process, and a name of RFC
	// 6761 exists nowhere.
	case d.Moot, d.Operation == "restored", d.Operation == "not restored", d.Operation == "lookup" && strings.HasSuffix(d.Target, ".invalid"):
		return true
	}
	_, ended := t.exits[d.PID]
	return t.TimedOut && ended && d.Count == 1 // the command waited for a process that tried again or still ran
}

// dispensable reports whether another process was denied the same and exited with 0.
func (t *tree) dispensable(d *sandbox.Denial) bool {
	return slices.ContainsFunc(t.denials, func(o *sandbox.Denial) bool {
		x, ended := t.exits[o.PID]
		return o.PID != d.PID && o.Operation == d.Operation && o.Target == d.Target && ended && x.Status == 0
	})
}

// passed reports whether the command ended with 0.
func (t *tree) passed() bool { return !t.TimedOut && t.Status.Exit == 0 && t.Status.Signal == 0 }

// cause returns the denials that made the command fail, or made a part of it fail if it
// passed, and whether nothing else can explain the failure.
func (t *tree) cause() ([]*sandbox.Denial, bool) {
	if len(t.denials) == 0 {
		return nil, false
	}
	if text, errexit := t.parse(t.Argv); text != nil && !t.TimedOut {
		if out, sure, ok := t.lift(text, errexit); ok {
			return out, sure
		}
	}
	if t.passed() {
		return nil, false
	}
	return t.below(t.root), false
}

// below returns the denials whose failure became that of the process pid.
func (t *tree) below(pid int) []*sandbox.Denial {
	if out, ok := t.causes[pid]; ok {
		return out
	}
	t.causes[pid] = nil
	for _, d := range t.denials {
		if t.reaches(d, pid) {
			t.causes[pid] = append(t.causes[pid], d)
		}
	}
	return t.causes[pid]
}

// reaches reports whether the failure of the process that saw d became that of pid.
func (t *tree) reaches(d *sandbox.Denial, pid int) bool {
	since := d.Order
	self := sandbox.Ancestor{Program: d.Program, Comm: d.Comm, PID: d.PID}
	for i, p := range append([]sandbox.Ancestor{self}, d.Chain...) {
		e, ended := t.exits[p.PID]
		if ended && (e.Status == 0 && (p.PID == pid || !t.printed(d)) || e.Comm != p.ProcessName()) {
			return false
		}
		if i == 0 && ended && !e.Forked && t.wentOn(d, e) {
			return false
		}
		for _, x := range t.children[p.PID] {
			// Once a child has failed, denials of the process itself do not matter.
			if x.Order > since && x.Status != 0 && (i == 0 || len(t.below(x.PID)) == 0) {
				return false
			}
		}
		if p.PID == pid {
			return true
		} else if ended {
			since = e.Order
		}
	}
	return false
}

// wentOn reports whether a process that ended as e survived d: it used more processor time after d than
// before, and the command printed something that does not blame d. A program that is stopped by a denial
// prints its message and ends soon.
func (t *tree) wentOn(d *sandbox.Denial, e sandbox.Exit) bool {
	return d.Used > 0 && e.Used > 2*d.Used && strings.TrimSpace(strings.Join(t.Output, "")) != "" && !t.blames(d)
}

// refused reports whether pid, or a process below it, was denied something.
func (t *tree) refused(pid int) bool {
	return slices.ContainsFunc(t.denials, func(d *sandbox.Denial) bool {
		return d.PID == pid || slices.ContainsFunc(d.Chain, func(a sandbox.Ancestor) bool { return a.PID == pid })
	})
}
