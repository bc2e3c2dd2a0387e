//go:build linux

// Package plan decides, in codeagent, what a resolved policy becomes on a kernel: the layers that
// enforce it and what they leave open (enforcement.go, weaknesses.go), the rules of Landlock
// (rules.go), what is mounted (mounts.go), and which files match the globs of a policy (globs.go). It
// reads the file system and changes nothing.
package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Plan is a policy made ready for one start.
type Plan struct {
	Spec spec.Spec
	// Mounts builds Spec.Mounts; nil if there are no namespaces.
	Mounts *Mounts
	// Absent are the granted paths that do not exist yet and need a placeholder: a Landlock rule
	// needs a file.
	Absent []string
	// Made are those directly in a folder that the private one replaces. The command makes them there, of
	// whatever kind, and they are moved to the host's folder when it has ended.
	Made []string
	// granted are the granted paths that the broker opens instead (broker/judge/grant.go).
	granted []string
	// Group means that the command gets a control group.
	Group bool
	// folders are the write roots that are folders.
	folders []string
	// Protection is what the broker enforces; the zero value without a broker.
	Protection judge.Protection

	Layers     []sandbox.Layer
	Weaknesses []sandbox.Weakness
}

// withFiles adds to f what the file system says about p.
func (f Facts) withFiles(p resolved.Policy) Facts {
	shut := outOfReach
	if f.Namespaces {
		f.Held, shut = heldPaths(p), present
	}
	f.Shut = slices.DeleteFunc(slices.Clone(p.Protected.Hidden), func(path string) bool { return !shut(path) })
	return f
}

// New makes a plan of p for a machine with the facts f. It reads the file system and changes nothing. An error means that p
// cannot be enforced here.
func New(p resolved.Policy, f Facts) (*Plan, error) {
	f = f.withFiles(p)
	var err error
	out := &Plan{}
	if out.Layers, out.Weaknesses, err = enforcement(p, f); err != nil {
		return nil, err
	}
	if err := checkOwn(p, f); err != nil {
		return nil, err
	}
	var rules []spec.Rule
	if f.Outer != "" && f.LandlockABI > 0 {
		rules = rulesOfImage(p)
	} else if rules, err = rulesFor(p, os.ReadDir); err != nil {
		return nil, err
	}
	out.Spec = spec.Spec{
		LandlockABI: f.LandlockABI, Rules: slices.Concat(rules, loaders(rules)), Programs: len(p.Programs) > 0, Unreadable: p.DenyRead, Limits: f.Groups.Rest(p.Limits),
		Network: p.Network.Mode == sandbox.NetworkFull, HostNet: notHostNet(p, f), AskNetwork: asksNetwork(p, f), Ask: f.Broker, Locks: f.locks(), PathSockets: pathSockets(p, f),
		Signals: f.Broker && (f.ownPIDs() || f.LandlockABI >= 6),
	}
	out.Group = cgroup.Wanted(p.Limits) && (f.Groups.Memory || f.Groups.Processes || f.Groups.CPU)
	if err := out.checkRules(p, f); err != nil {
		return nil, err
	}
	for _, root := range p.WasWrite {
		if st, err := kernel.StatPath(root.Path); err == nil {
			out.keepFileCaps(st)
		}
	}
	var unheld, piped []string
	if f.Namespaces {
		out.Mounts = planMounts(p, out.Spec.Rules, f)
		for _, path := range out.granted {
			out.Mounts.show(path)
		}
		out.Spec.Mounts = out.Mounts.Mounts
		if f.LandlockABI == 0 && !out.Mounts.Devices {
			return nil, errors.New("this kernel has no Landlock, and without a /dev of its own a command could open every device")
		}
		out.Mounts.HostProc = f.NoPIDs != ""
		unheld = out.Mounts.unheld
		if !f.Broker && f.Outer == "" { // else see the weakness "pipes"
			piped = out.Mounts.shownInTemp()
		}
		masked := slices.Concat(f.Globs.Paths, readableRecords(p))
		for _, path := range masked {
			out.Mounts.Hide(path)
		}
		out.Spec.Unreadable = slices.Concat(p.DenyRead, masked)
	}
	out.Weaknesses = append(out.Weaknesses, pathWeaknesses(f, linkedFiles(p.DenyRead), unheld, piped)...)
	if f.Broker {
		out.leaveToBroker(p)
	}
	return out, nil
}

// outOfReach reports whether codeagent itself may not read the folder at path. That is the case in
// an outer sandbox that hides the records.
func outOfReach(path string) bool { return unix.Access(path, unix.R_OK) == unix.EACCES }

// leaveToBroker plans what the broker decides. With Spec.Ask the keeper's Landlock rules open no
// folder for writing.
func (p *Plan) leaveToBroker(policy resolved.Policy) {
	var own []string
	if p.Spec.Mounts != nil && p.Spec.Mounts.Memory {
		own = []string{kernel.ShmDir}
	}
	p.Protection = judge.PlanProtection(policy, p.folders, own)
	if m := p.Mounts; m != nil {
		p.Protection.Fixed = append(p.Protection.Fixed, m.waysInTemp(policy.Temp)...)
	}
	p.Protection.PlanGrants(p.granted, p.folders)
}

// checkOwn refuses a write root that contains something of codeagent's own which nothing protects there. Landlock cannot
// take away a right below a root, and the broker knows a file by its path: one with other names (hard links) could be
// changed by another.
func checkOwn(p resolved.Policy, f Facts) error {
	for _, own := range ownInside(p) {
		info, err := os.Lstat(own)
		file := err != nil || info.Mode().IsRegular()
		switch {
		case !f.Broker, !file && !f.Namespaces:
			return fmt.Errorf("a write root contains %s, which belongs to codeagent itself, and only mounts and codeagent's broker can protect it there: choose a smaller root", own)
		case file && !sandbox.CoveredBy(p.Protected.Hidden, own) && len(linkedFiles([]string{own})) > 0:
			return fmt.Errorf("a write root contains %s, which belongs to codeagent itself and has other names (hard links), by which a command could change it: replace it by a copy, or choose a smaller root", own)
		}
	}
	return nil
}

// linkedFiles lists those of the files that have several names (hard links).
func linkedFiles(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(path string) bool {
		st, err := kernel.StatPath(path)
		return err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink < 2
	})
}

// checkRules checks each root of the policy: whether it exists, whether its path contains a link,
// and who owns a write root.
func (p *Plan) checkRules(policy resolved.Policy, f Facts) error {
	brokered := brokeredGrant(policy, f)
	kept := p.Spec.Rules[:0]
	for _, rule := range p.Spec.Rules {
		if rule.Access == spec.AccessDevice || (rule.Optional && rule.Access != spec.AccessWrite) {
			kept = append(kept, rule) // the keeper skips the rule if the path is missing
			continue
		}
		st, err := kernel.StatPath(rule.Path)
		switch {
		case err == nil:
			if rule.Access == spec.AccessWrite {
				switch st.Mode & unix.S_IFMT {
				case unix.S_IFCHR, unix.S_IFBLK:
					rule.Access = spec.AccessDevice
				case unix.S_IFDIR:
					p.folders = append(p.folders, rule.Path)
				}
				p.keepFileCaps(st)
				if kind := st.Mode & unix.S_IFMT; brokered(rule) && (kind == unix.S_IFREG || kind == unix.S_IFDIR) {
					p.granted = append(p.granted, rule.Path)
					if kind == unix.S_IFREG {
						rule.Access = spec.AccessRead
					}
				}
			}
			kept = append(kept, rule)
		case errors.Is(err, fs.ErrNotExist) && rule.Optional:
			switch {
			case !parentExists(rule.Path):
			case brokered(rule) && rule.Access == spec.AccessWrite:
				// Its folder may be protected and so read-only, even inside a write root.
				p.granted = append(p.granted, rule.Path)
			case f.Namespaces && f.Broker && policy.Temp != "" && slices.Contains(tempFolders, filepath.Dir(rule.Path)) && !p.writable(filepath.Dir(rule.Path)):
				p.Made = append(p.Made, rule.Path)
			case !p.writable(filepath.Dir(rule.Path)) && !policy.OfGit(rule.Path): // an empty file in a git directory has a meaning, such as a lock
				p.Absent = append(p.Absent, rule.Path)
				kept = append(kept, rule)
			}
		case rule.Optional && errors.Is(err, fs.ErrPermission):
			// The user cannot reach it, so the command cannot either.
		default:
			return rule.Failed(err)
		}
	}
	p.Spec.Rules = kept
	return nil
}

// keepFileCaps leaves root its file capabilities if a root belongs to another user.
func (p *Plan) keepFileCaps(st unix.Stat_t) {
	p.Spec.KeepFileCaps = p.Spec.KeepFileCaps || os.Geteuid() == 0 && st.Uid != 0
}

// writable reports whether another write rule covers path.
func (p *Plan) writable(path string) bool {
	return slices.ContainsFunc(p.Spec.Rules, func(r spec.Rule) bool {
		return r.Access == spec.AccessWrite && sandbox.Covers(r.Path, path)
	})
}

func parentExists(path string) bool {
	st, err := kernel.StatPath(filepath.Dir(path))
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// brokeredGrant reports which write rules the broker carries out: the optional ones, which come
// from grants. Two cases are left to Landlock. The command does not see the host's folder that contains
// the grant, since a mount replaces it and shows only what rules name, or entries of it. Or the policy
// restricts reading and the broker sees no reads, so that Landlock must have a rule for each readable
// path.
func brokeredGrant(p resolved.Policy, f Facts) func(spec.Rule) bool {
	return func(r spec.Rule) bool {
		dir := filepath.Dir(r.Path)
		// A root of git is shown as part of its repository.
		replaced := f.Namespaces && !p.OfGit(r.Path) && (sandbox.Covers(kernel.DevDir, dir) || slices.ContainsFunc(tempFolders, func(temp string) bool {
			return sandbox.Covers(temp, dir) && (dir == temp || len(p.Read) > 0)
		}))
		return f.Broker && r.Optional && !replaced && (len(p.Read) == 0 || f.Reads)
	}
}

// KeepFor reports to a change observer each single file that Landlock lets the command write. The
// broker makes every change in folders, but a write to one of these files goes past it. They are
// the files that exist and the names at which codeagent is about to create one (linuxsandbox/absent.go).
func (p *Plan) KeepFor(policy resolved.Policy, cmd sandbox.Command) {
	paths := slices.Clone(p.Made)
	for _, rule := range p.Spec.Rules {
		if rule.Access == spec.AccessWrite && !slices.Contains(p.folders, rule.Path) {
			paths = append(paths, rule.Path)
		}
	}
	for _, path := range paths {
		if cmd.Changed != nil {
			cmd.Changed(path)
		}
		if cmd.Observer == nil || !policy.Observes(path) {
			continue
		}
		dir, err := kernel.OpenPath(filepath.Dir(path))
		if err != nil {
			continue // nothing can be created or changed there
		}
		cmd.Observer.BeforeChange(dir, filepath.Base(path), path)
		unix.Close(dir)
	}
}
