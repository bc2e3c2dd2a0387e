// Package resolved makes a policy exact for one machine: a sandbox.Policy declares what a command may
// touch, and a Policy here is what backends enforce, prompts describe and questions judge by. It is
// pure: facts about the file system are looked up first (Look), and the step from both is Of. A
// backend names no other policy, and computes nothing of it again.
package resolved

import (
	"fmt"
	"slices"

	"codeagent/sandbox"
)

// Policy is what one command may touch on this machine. Fields that have the name of a field of
// sandbox.Policy mean the same.
type Policy struct {
	// declared is what the fields were made of, with the targets of DenyRead. All judging is its own.
	declared sandbox.Policy
	machine  Machine

	Unconfined bool
	// Roots is all that the command may write, each with its origin: the declared roots first, then
	// the folders for temporary files.
	Roots []sandbox.Root
	// Read is empty if everything is readable.
	Read, WasWrite []sandbox.Root
	Protected      sandbox.ProtectedNames
	// DenyRead are the closed paths, and the paths to which links there lead.
	DenyRead, DenyGlobs []string
	Network             sandbox.Network
	Sockets             []string
	Limits              sandbox.Limits
	Programs            []string
	Temp                string
}

// Machine is what the file system says about a policy.
type Machine struct {
	// Targets is where entries of DenyRead lead, if that is another path.
	Targets map[string]string
	// SharedTemp are the shared folders for temporary files that this system has.
	SharedTemp []string
}

// Look finds out what files says about p. What it cannot find out is an error.
func Look(files sandbox.FileSystem, p sandbox.Policy) (Machine, error) {
	m := Machine{Targets: map[string]string{}}
	for _, entry := range p.DenyRead {
		target, err := sandbox.Canonical(files, "/", entry)
		if err != nil {
			return m, fmt.Errorf("deny_read %s: %w", entry, err)
		}
		if target != entry {
			m.Targets[entry] = target
		}
	}
	for _, dir := range sandbox.SharedTempFolders {
		if !p.SharedTemp {
			break
		}
		if mode, err := files.Lstat(dir); err == nil && mode.IsDir() {
			m.SharedTemp = append(m.SharedTemp, dir)
		}
	}
	return m, nil
}

// Of makes p exact for m. An error means that no machine can enforce p.
func Of(p sandbox.Policy, m Machine) (Policy, error) {
	if p.Unconfined {
		return of(p, m), nil
	}
	if err := p.Validate(); err != nil {
		return Policy{}, err
	}
	r := of(p, m)
	for _, root := range r.Roots {
		for _, own := range p.Protected.Own {
			if sandbox.Covers(own, root.Path) {
				return Policy{}, fmt.Errorf("write root %s is or lies inside %s, which belongs to codeagent itself and is never writable", root.Path, own)
			}
		}
	}
	return r, nil
}

// On is Of with what files says.
func On(files sandbox.FileSystem, p sandbox.Policy) (Policy, error) {
	m, err := Look(files, p)
	if err != nil {
		return Policy{}, err
	}
	return Of(p, m)
}

// ReadOnly is the policy that reads everything and writes nothing, on any machine.
func ReadOnly() Policy { return of(sandbox.ReadOnly(), Machine{}) }

func of(p sandbox.Policy, m Machine) Policy {
	p = p.Clone()
	for _, entry := range p.DenyRead {
		// The target of a closed link is closed like the link.
		if target := m.Targets[entry]; target != "" && !slices.Contains(p.DenyRead, target) {
			p.DenyRead = append(p.DenyRead, target)
		}
	}
	return Policy{
		declared: p, machine: m, Unconfined: p.Unconfined,
		Roots: slices.DeleteFunc(p.Roots(), func(r sandbox.Root) bool {
			return r.Origin == sandbox.FromSharedTemp && !slices.Contains(m.SharedTemp, r.Path)
		}),
		Read: p.Read, WasWrite: p.WasWrite, Protected: p.Protected, DenyRead: p.DenyRead, DenyGlobs: p.DenyGlobs,
		Network: p.Network, Sockets: p.Sockets, Limits: p.Limits, Programs: p.Programs, Temp: p.Temp,
	}
}

// JudgeWrite, JudgeRead and JudgeHost decide like those of sandbox.Policy.
func (p Policy) JudgeWrite(target string) sandbox.Judgement { return p.declared.JudgeWrite(target) }

// JudgeInOwn decides it in a repository that the session made.
func (p Policy) JudgeInOwn(target string) sandbox.Judgement { return p.declared.JudgeInOwn(target) }

// InPackages reports whether target lies where names of agents, editors and shells are data.
func (p Policy) InPackages(target string) bool { return p.declared.InPackages(target) }

// JudgeTracked decides it for content that the person's own repository brings.
func (p Policy) JudgeTracked(target string) sandbox.Judgement {
	return p.declared.JudgeTracked(target)
}

// JudgeRead decides whether the command may read the canonical path.
func (p Policy) JudgeRead(target string) sandbox.Judgement { return p.declared.JudgeRead(target) }

// JudgeHost decides whether the command may connect to h.
func (p Policy) JudgeHost(h sandbox.HostPort) sandbox.Judgement { return p.declared.JudgeHost(h) }

// Observes reports whether changes at path are reported to a ChangeObserver.
func (p Policy) Observes(path string) bool { return p.declared.Observes(path) }

// Origin is that of the root that decides about path; ok is false if none does.
func (p Policy) Origin(path string) (origin sandbox.Origin, ok bool) { return p.declared.Origin(path) }

// Paths are those of Roots.
func (p Policy) Paths() []string { return sandbox.PathsOf(p.Roots) }

// OfGit reports whether a root at path is a part of a git directory elsewhere.
func (p Policy) OfGit(path string) bool {
	return slices.ContainsFunc(p.Roots, func(r sandbox.Root) bool { return r.Git && r.Path == path })
}

// With returns p widened by a grant to the running command, and Closed returns it without what c
// revokes: both are policies of their own.
func (p Policy) With(g sandbox.Grant) Policy { return of(p.declared.With(g), p.machine) }

// Closed returns p without what c revokes.
func (p Policy) Closed(c sandbox.Revocation) Policy { return of(p.declared.Closed(c), p.machine) }

// ReadingAll returns p with all readable but DenyRead.
func (p Policy) ReadingAll() Policy {
	q := p.declared
	q.Read = nil
	return of(q, p.machine)
}

// Limited returns p with other limits.
func (p Policy) Limited(l sandbox.Limits) Policy {
	q := p.declared
	q.Limits = l
	return of(q, p.machine)
}

// Starting returns p with other programs.
func (p Policy) Starting(programs []string) Policy {
	q := p.declared
	q.Programs = programs
	return of(q, p.machine)
}

// Encode returns p in the form that sandbox.DecodePolicy reads, without the environment.
func (p Policy) Encode() ([]byte, error) {
	q := p.declared
	q.Env = sandbox.Env{}
	return sandbox.EncodePolicy(q)
}

// Plus returns p with further roots that the backend itself needs or gives to this command: read are
// added if reading is restricted.
func (p Policy) Plus(write, read []string) Policy {
	q := p.declared.Clone()
	for _, path := range write {
		q.Write = append(q.Write, sandbox.Root{Path: path})
	}
	for _, path := range read {
		if len(q.Read) > 0 {
			q.Read = append(q.Read, sandbox.Root{Path: path})
		}
	}
	return of(q, p.machine)
}
