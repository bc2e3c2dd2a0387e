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

	"codeagent/internal/short"
	"codeagent/linuxsandbox/broker"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
)

// prepared is a policy made ready for one start.
type prepared struct {
	spec spec.Spec
	// mounts make spec.Mounts; nil where there are no namespaces.
	mounts *mountPlan
	// absent are the granted paths that do not exist yet: a rule needs a file.
	absent []string
	// granted are those that the broker opens instead (granted.go).
	granted []string
	// group asks for a control group.
	group bool
	// own are codeagent's own paths inside write roots, to watch and restore.
	own []string
	// folders are the write roots that are folders.
	folders []string
	// protection is what the broker holds; the zero value without a broker.
	protection broker.Protection

	layers     []sandbox.Layer
	weaknesses []sandbox.Weakness
}

// prepare makes a Spec of p. It looks at the file system and changes nothing. An error
// means that p cannot be enforced here.
func prepare(p sandbox.Policy, f facts) (*prepared, error) {
	denied, err := exactDenials(p, osFiles{})
	if err != nil {
		return nil, err
	}
	// What a denied link leads to is judged like the link.
	q := p.Clone()
	q.DenyRead = denied
	out := &prepared{own: ownFiles(p, f)}
	records := readableRecords(q)
	if f.Namespaces {
		if err := checkRoots(p); err != nil {
			return nil, err
		}
		// What is there is held by mounts: it is no weakness.
		held := heldPaths(p)
		q.Protected.Paths = slices.DeleteFunc(q.Protected.Paths, func(path string) bool { return sandbox.CoveredBy(held, path) })
		q.Protected.Own = slices.DeleteFunc(q.Protected.Own, func(path string) bool { return sandbox.CoveredBy(held, path) })
		q.Protected.Hidden = slices.DeleteFunc(q.Protected.Hidden, present)
	} else {
		q.Protected.Hidden = slices.DeleteFunc(q.Protected.Hidden, outOfReach)
	}
	if out.layers, out.weaknesses, err = plan(q, f); err != nil {
		return nil, err
	}
	if err := checkOwn(p, f); err != nil {
		return nil, err
	}
	if w, ok := secondNames(denied); ok {
		out.weaknesses = append(out.weaknesses, w)
	}
	rules, err := rulesFor(p, denied, osDir{})
	if err != nil {
		return nil, err
	}
	out.spec = spec.Spec{
		Rules: rules, Unreadable: denied, Limits: f.Groups.rest(p.Limits),
		Network: p.Network.Mode == sandbox.NetworkFull, HostNet: notHostNet(p, f), Ask: f.Broker, Locks: f.locks(), PathSockets: pathSockets(p, f),
	}
	out.group = wantsGroup(p.Limits) && (f.Groups.Memory || f.Groups.Processes || f.Groups.CPU)
	if err := out.checkRules(brokeredGrant(p, f)); err != nil {
		return nil, err
	}
	for _, root := range p.WasWrite {
		if st, err := kernel.StatPath(root.Path); err == nil {
			out.keepFileCaps(st)
		}
	}
	if f.Namespaces {
		out.mounts = planMounts(p, out.spec.Rules, denied)
		out.spec.Mounts = out.mounts.Mounts
		out.mounts.HostProc = f.NoPIDs != ""
		if unheld := out.mounts.unheld; len(unheld) > 0 {
			out.weaknesses = append(out.weaknesses, laterFiles(unheld))
		}
		if shown := out.mounts.shownInTemp(); len(shown) > 0 && !f.Broker {
			out.weaknesses = append(out.weaknesses, shownPipes(shown))
		}
		masked := slices.Concat(f.Globs.Paths, records)
		for _, path := range masked {
			out.mounts.hide(path)
		}
		out.spec.Unreadable = slices.Concat(denied, masked)
	}
	if f.Broker {
		out.leaveToBroker(p)
	}
	return out, nil
}

// outOfReach reports whether codeagent itself may not read the folder at path, as in a
// sandbox around codeagent that hides the records.
func outOfReach(path string) bool { return unix.Access(path, unix.R_OK) == unix.EACCES }

// leaveToBroker plans what the broker answers for. With Spec.Ask the keeper grants
// no folder for writing.
func (p *prepared) leaveToBroker(policy sandbox.Policy) {
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

// holdsFolders reports whether codeagent's own folders inside a write root are held. The
// broker refuses each change in them and each move of what leads to them, by the file it
// has opened. Without it mounts hold what is there, until something on the way to it is
// renamed. Reading takes mounts: Landlock cannot take a right away below a root.
func (f facts) holdsFolders() bool { return f.Broker && f.Namespaces }

// checkOwn refuses a write root that holds one of codeagent's own directories where they
// are not held: single files in it are put back after a command, a directory cannot be.
func checkOwn(p sandbox.Policy, f facts) error {
	if f.holdsFolders() {
		return nil
	}
	for _, own := range ownInside(p) {
		if info, err := os.Lstat(own); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("a write root contains %s, which belongs to codeagent itself, and it takes mounts and codeagent's broker to keep it shut there: choose a smaller root", own)
		}
	}
	return nil
}

// ownFiles are codeagent's own inside write roots that are watched, and put back. Where
// folders of its own are held, its records are no files to be put back: codeagent itself
// writes them while commands run.
func ownFiles(p sandbox.Policy, f facts) []string {
	own := ownInside(p)
	if !f.holdsFolders() {
		return own
	}
	return slices.DeleteFunc(own, func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && !info.Mode().IsRegular() || sandbox.CoveredBy(p.Protected.Hidden, path)
	})
}

// secondNames is the weakness of denied files with hard links: Landlock judges the name
// by which a file is opened, and the other names are not known.
func secondNames(denied []string) (sandbox.Weakness, bool) {
	var linked []string
	for _, path := range denied {
		if st, err := kernel.StatPath(path); err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 {
			linked = append(linked, path)
		}
	}
	return sandbox.Weakness{
		ID: "deny-read-link", What: "a command can read these denied files by the other names (hard links) they have: " + short.List(linked, mostNamed),
		Why: "Landlock judges the name by which a file is opened", Remedy: "find them with find -samefile and deny or remove them",
	}, len(linked) > 0
}

// laterFiles is the weakness of denied paths that do not exist yet.
func laterFiles(unheld []string) sandbox.Weakness {
	return sandbox.Weakness{
		ID: "deny-read-later", What: "a command can read these denied paths if another program makes them while it runs: " + short.List(unheld, mostNamed),
		Why:    "they lie in /tmp beside a write root, where Landlock opens all that is mounted, and a mount needs something to go over",
		Remedy: "keep workspaces out of /tmp",
	}
}

// shownPipes is the weakness of named pipes, which a read-only mount does not hold.
func shownPipes(shown []string) sandbox.Weakness {
	return sandbox.Weakness{
		ID: "temp-pipes", What: "a command can write to named pipes of the host in " + short.List(shown, mostNamed),
		Why:    "without a broker Landlock opens the command's own folder for temporary files with all that is mounted in it, and a pipe is no part of a file system that is read-only",
		Remedy: "keep workspaces out of /tmp",
	}
}

// checkRules looks at each root of the policy: whether it exists, whether a link is on
// the way, who owns a write root. brokered says which granted paths are the broker's.
func (p *prepared) checkRules(brokered func(spec.Rule) bool) error {
	kept := p.spec.Rules[:0]
	for _, rule := range p.spec.Rules {
		if rule.Access == spec.AccessDevice || (rule.Optional && rule.Access != spec.AccessWrite) {
			kept = append(kept, rule) // the keeper leaves it out when it is not there
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
				// Its folder may be protected, and then is read-only in a write root too.
				p.granted = append(p.granted, rule.Path)
			case !p.writable(filepath.Dir(rule.Path)):
				p.absent = append(p.absent, rule.Path)
				kept = append(kept, rule)
			}
		case rule.Optional && errors.Is(err, fs.ErrPermission):
			// Out of the user's reach, so out of the command's too.
		default:
			return rule.Failed(err)
		}
	}
	p.spec.Rules = kept
	return nil
}

// keepFileCaps leaves root its rights over files where a root is another user's.
func (p *prepared) keepFileCaps(st unix.Stat_t) {
	p.spec.KeepFileCaps = p.spec.KeepFileCaps || asRoot() && st.Uid != 0
}

// writable reports whether another write rule covers path.
func (p *prepared) writable(path string) bool {
	return slices.ContainsFunc(p.spec.Rules, func(r spec.Rule) bool {
		return r.Access == spec.AccessWrite && sandbox.Covers(r.Path, path)
	})
}

func parentExists(path string) bool {
	st, err := kernel.StatPath(filepath.Dir(path))
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// brokeredGrant says which write rules are left to the broker: those of grants,
// which are optional, unless the command has a folder of its own in the place of
// the one that the grant is in, or may read only what Landlock has a rule for.
func brokeredGrant(p sandbox.Policy, f facts) func(spec.Rule) bool {
	return func(r spec.Rule) bool {
		replaced := f.Namespaces && sandbox.CoveredBy([]string{"/tmp", "/var/tmp", kernel.DevDir}, r.Path)
		return f.Broker && r.Optional && !replaced && len(p.Read) == 0
	}
}
