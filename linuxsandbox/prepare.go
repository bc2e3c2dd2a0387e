//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"codeagent/linuxsandbox/broker"
	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// startPlan is a policy made ready for one start.
type startPlan struct {
	spec spec.Spec
	// mounts builds spec.Mounts; nil if there are no namespaces.
	mounts *mountPlan
	// absent are the granted paths that do not exist yet and need a placeholder: a Landlock rule
	// needs a file.
	absent []string
	// made are those directly in a folder that the private one replaces. The command makes them there, of
	// whatever kind, and they are moved to the host's folder when it has ended.
	made []string
	// granted are the granted paths that the broker opens instead (broker/hold_grant.go).
	granted []string
	// group means that the command gets a control group.
	group bool
	// own are codeagent's own paths inside write roots, which are watched and restored.
	own []string
	// folders are the write roots that are folders.
	folders []string
	// protection is what the broker enforces; the zero value without a broker.
	protection broker.Protection

	layers     []sandbox.Layer
	weaknesses []sandbox.Weakness
}

// withFiles adds to f what the file system says about p.
func (f machineFacts) withFiles(p resolved.Policy) machineFacts {
	shut := outOfReach
	if f.Namespaces {
		f.Held, shut = heldPaths(p), present
	}
	f.Shut = slices.DeleteFunc(slices.Clone(p.Protected.Hidden), func(path string) bool { return !shut(path) })
	return f
}

// prepare makes a Spec of p. It reads the file system and changes nothing. An error means that p
// cannot be enforced here.
func prepare(p resolved.Policy, f machineFacts) (*startPlan, error) {
	f = f.withFiles(p)
	var err error
	out := &startPlan{own: ownFiles(p, f)}
	if out.layers, out.weaknesses, err = plan(p, f); err != nil {
		return nil, err
	}
	if err := checkOwn(p, f); err != nil {
		return nil, err
	}
	rules, err := rulesFor(p, os.ReadDir)
	if err != nil {
		return nil, err
	}
	out.spec = spec.Spec{
		Rules: rules, Unreadable: p.DenyRead, Limits: f.Groups.Rest(p.Limits),
		Network: p.Network.Mode == sandbox.NetworkFull, HostNet: notHostNet(p, f), Ask: f.Broker, Locks: f.locks(), PathSockets: pathSockets(p, f),
		Signals: f.Broker && (f.ownPIDs() || f.LandlockABI >= 6),
	}
	out.group = cgroup.Wanted(p.Limits) && (f.Groups.Memory || f.Groups.Processes || f.Groups.CPU)
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
		out.mounts = planMounts(p, out.spec.Rules, f.Held)
		for _, path := range out.granted {
			out.mounts.show(path)
		}
		out.spec.Mounts = out.mounts.Mounts
		out.mounts.HostProc = f.NoPIDs != ""
		unheld = out.mounts.unheld
		if !f.Broker {
			piped = out.mounts.shownInTemp()
		}
		masked := slices.Concat(f.Globs.Paths, readableRecords(p))
		for _, path := range masked {
			out.mounts.hide(path)
		}
		out.spec.Unreadable = slices.Concat(p.DenyRead, masked)
	}
	out.weaknesses = append(out.weaknesses, pathWeaknesses(linkedFiles(p.DenyRead), unheld, piped)...)
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
func (p *startPlan) leaveToBroker(policy resolved.Policy) {
	var own []string
	if p.spec.Mounts != nil && p.spec.Mounts.Memory {
		own = []string{kernel.ShmDir}
	}
	p.protection = broker.PlanProtection(policy, p.folders, own)
	if m := p.mounts; m != nil {
		p.protection.Fixed = append(p.protection.Fixed, m.waysInTemp(policy.Temp)...)
	}
	p.protection.PlanGrants(p.granted, p.folders)
}

// holdsFolders reports whether the sandbox protects codeagent's own folders inside a write root.
// The broker identifies a file by what it has opened, and refuses each change in these folders and
// each move of a folder that leads to them. Mounts alone protect only what exists, until something
// on the way to it is renamed. Mounts are needed against reading: Landlock cannot take away a right
// below a root.
func (f machineFacts) holdsFolders() bool { return f.Broker && f.Namespaces }

// checkOwn refuses a write root that contains one of codeagent's own directories, unless the
// sandbox protects these. A single file can be restored after a command; a directory cannot.
func checkOwn(p resolved.Policy, f machineFacts) error {
	if f.holdsFolders() {
		return nil
	}
	for _, own := range ownInside(p) {
		if info, err := os.Lstat(own); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("a write root contains %s, which belongs to codeagent itself, and only mounts and codeagent's broker can protect it there: choose a smaller root", own)
		}
	}
	return nil
}

// ownFiles are codeagent's own files inside write roots, which are watched and restored. Where the
// sandbox protects folders, the records are left out: codeagent itself writes them while commands
// run.
func ownFiles(p resolved.Policy, f machineFacts) []string {
	own := ownInside(p)
	if !f.holdsFolders() {
		return own
	}
	return slices.DeleteFunc(own, func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && !info.Mode().IsRegular() || sandbox.CoveredBy(p.Protected.Hidden, path)
	})
}

// linkedFiles lists the denied files with several names (hard links).
func linkedFiles(denied []string) []string {
	return slices.DeleteFunc(slices.Clone(denied), func(path string) bool {
		st, err := kernel.StatPath(path)
		return err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink < 2
	})
}

// checkRules checks each root of the policy: whether it exists, whether its path contains a link,
// and who owns a write root.
func (p *startPlan) checkRules(policy resolved.Policy, f machineFacts) error {
	brokered := brokeredGrant(policy, f)
	kept := p.spec.Rules[:0]
	for _, rule := range p.spec.Rules {
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
				p.made = append(p.made, rule.Path)
			case !p.writable(filepath.Dir(rule.Path)) && !policy.OfGit(rule.Path): // an empty file in a git directory has a meaning, such as a lock
				p.absent = append(p.absent, rule.Path)
				kept = append(kept, rule)
			}
		case rule.Optional && errors.Is(err, fs.ErrPermission):
			// The user cannot reach it, so the command cannot either.
		default:
			return rule.Failed(err)
		}
	}
	p.spec.Rules = kept
	return nil
}

// keepFileCaps leaves root its file capabilities if a root belongs to another user.
func (p *startPlan) keepFileCaps(st unix.Stat_t) {
	p.spec.KeepFileCaps = p.spec.KeepFileCaps || asRoot() && st.Uid != 0
}

// writable reports whether another write rule covers path.
func (p *startPlan) writable(path string) bool {
	return slices.ContainsFunc(p.spec.Rules, func(r spec.Rule) bool {
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
func brokeredGrant(p resolved.Policy, f machineFacts) func(spec.Rule) bool {
	return func(r spec.Rule) bool {
		dir := filepath.Dir(r.Path)
		// A root of git is shown as part of its repository.
		replaced := f.Namespaces && !p.OfGit(r.Path) && (sandbox.Covers(kernel.DevDir, dir) || slices.ContainsFunc(tempFolders, func(temp string) bool {
			return sandbox.Covers(temp, dir) && (dir == temp || len(p.Read) > 0)
		}))
		return f.Broker && r.Optional && !replaced && (len(p.Read) == 0 || f.Reads)
	}
}

// keepFor reports to a change observer each single file that Landlock lets the command write. The
// broker makes every change in folders, but a write to one of these files goes past it. They are
// the files that exist and the names at which codeagent is about to create one (absent.go).
func (p *startPlan) keepFor(policy resolved.Policy, cmd sandbox.Command) {
	paths := slices.Clone(p.made)
	for _, rule := range p.spec.Rules {
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
