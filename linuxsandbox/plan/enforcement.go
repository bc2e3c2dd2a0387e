//go:build linux

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// This file does no IO, so its table of tests runs on any machine.

// Facts are what this machine can enforce, as the keeper found and codeagent tried.
type Facts struct {
	spec.Facts

	// Namespaces reports that keepers get mount and IPC namespaces and, for an ordinary user, a
	// user namespace.
	Namespaces bool
	// NamespacesWhy is the reason if they do not.
	NamespacesWhy string
	// NoPIDs is the reason why keepers get no PID namespace; "" if they get one.
	NoPIDs string
	// HostNet is the cookie of codeagent's own network namespace. It is set only where commands can
	// get another one.
	HostNet uint64
	// Beside reports that codeagent serves names to commands in its own network (netns.Beside).
	Beside bool

	// Outer is the name of another program that makes mounts and namespaces before the keeper starts; "" if the keeper
	// makes them. Commands have Landlock and a broker then only in containers. Lacks is what these lack.
	Outer string
	Lacks []sandbox.Weakness
	// Follows: mounts of the host that are made later appear in those of Outer.
	Follows bool

	// Reads reports that the broker sees the opens of this command that only read too.
	Reads bool
	// Sockets is how the broker gets hold of a command's sockets.
	Sockets sockets.Access
	// NoSockets is the reason if it cannot.
	NoSockets string
	// Groups is set if the policy has a limit that a control group can enforce.
	Groups cgroup.Facts
	// Globs are the files that match the policy's deny-read globs. It is set only where mounts can
	// cover them.
	Globs Matches
	// Held are the protected paths inside write roots that exist and that mounts cover. Shut are the
	// hidden records that no command can read: a mount covers them, or codeagent itself may not.
	Held, Shut []string
}

// unheld leaves out of paths what mounts hold.
func (f Facts) unheld(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return sandbox.CoveredBy(f.Held, path) })
}

// enforcement returns the layers that enforce p on a kernel, and what they do not enforce. An error means
// that p must not run here; it names the part of p that cannot be enforced.
func enforcement(p resolved.Policy, f Facts) ([]sandbox.Layer, []sandbox.Weakness, error) {
	for _, check := range []func(resolved.Policy, Facts) error{checkLandlock, checkMode, checkRoots, checkNetwork, checkSockets, checkDenyRead, checkPrograms} {
		if err := check(p, f); err != nil {
			return nil, nil, err
		}
	}
	return layers(p, f), weaknesses(p, f), nil
}

// checkLandlock refuses what needs Landlock on a kernel without it. Mounts, a PID namespace and the broker hold the rest of
// a policy: the broker makes each change, and the kernel opens files only to read.
func checkLandlock(p resolved.Policy, f Facts) error {
	const without = "this kernel has no Landlock, and "
	switch {
	case f.LandlockABI > 0 || f.Outer != "": // which also opens only what may be read
	case !f.ownPIDs():
		return fmt.Errorf(without+"namespaces cannot stand in for it here (%s): it cannot confine writes; what is needed is Linux 5.13 or newer with Landlock enabled, or namespaces", cmp.Or(f.NoPIDs, f.NamespacesWhy))
	case !f.Broker:
		return fmt.Errorf(without+"nothing answers for it (%s): it cannot confine writes; what is needed is Linux 5.13 or newer with Landlock enabled, or seccomp's user notification", notifyLayer(f).Reason)
	case len(p.Read) > 0:
		return fmt.Errorf("this kernel has no Landlock, which limits reads: they cannot be limited to %s; list in deny_read what must stay closed instead", list(sandbox.PathsOf(p.Read)))
	}
	return nil
}

func checkMode(p resolved.Policy, _ Facts) error {
	if p.Unconfined {
		return fmt.Errorf("the policy is unconfined: this backend only runs confined commands")
	}
	return nil
}

// checkNetwork refuses single hosts if no broker could connect to them. It fails closed: otherwise
// a command with a granted host would fail without a reason.
func checkNetwork(p resolved.Policy, f Facts) error {
	if p.Network.Mode != sandbox.NetworkAllow || len(p.Network.Hosts) == 0 || f.HostNet != 0 && pathSockets(p, f) || asksNetwork(p, f) {
		return nil
	}
	names := sandbox.HostsOf(p.Network.Hosts)
	why := cmp.Or(f.NoSockets, notifyLayer(f).Reason)
	if f.HostNet == 0 {
		why = networkLayer(p, f).Reason + "; " + f.noCopies()
	}
	return fmt.Errorf("single hosts cannot be opened inside this sandbox (%s): it has no network or all of it; "+
		"what needs %s can only run outside the sandbox", why, strings.Join(names, ", "))
}

// checkPrograms refuses a list of programs without Landlock, which alone has a right to execute, and without a broker,
// which refuses the dynamic loader as a program: that executes any file.
func checkPrograms(p resolved.Policy, f Facts) error {
	why := "Landlock, which judges what is executed, is missing"
	switch {
	case len(p.Programs) == 0:
		return nil
	case f.LandlockABI == 0:
	case f.Outer != "":
		why = "the programs of an image are not those of this machine"
	case f.Broker:
		return nil
	default:
		why = notifyLayer(f).Reason
	}
	return fmt.Errorf("single programs cannot be allowed inside this sandbox (%s): remove sandbox.allowed_programs, or choose another backend", why)
}

// checkSockets refuses granted sockets if no broker could connect to them.
func checkSockets(p resolved.Policy, f Facts) error {
	if len(p.Sockets) == 0 || pathSockets(p, f) {
		return nil
	}
	return fmt.Errorf("single sockets cannot be opened inside this sandbox (%s); what needs %s can only run outside the sandbox",
		notifyLayer(f).Reason, strings.Join(p.Sockets, ", "))
}

// pathSockets reports whether commands under p can have sockets with a path.
func pathSockets(p resolved.Policy, f Facts) bool {
	network := p.Network.Mode == sandbox.NetworkFull || f.HostNet != 0
	return f.Broker && f.Sockets != sockets.TakesNone && (f.Sockets == sockets.TakesCopies || !network)
}

// asksNetwork reports whether the broker makes the connections of commands under p in codeagent's own
// network, since they have none of their own. It needs copies of their sockets.
func asksNetwork(p resolved.Policy, f Facts) bool {
	return f.HostNet == 0 && f.Beside && p.Network.Mode != sandbox.NetworkFull && pathSockets(p, f) && f.Sockets == sockets.TakesCopies
}

func checkRoots(p resolved.Policy, _ Facts) error {
	for _, root := range p.Roots {
		if why := spec.NeverWritable(root.Path); why != "" {
			return fmt.Errorf("write root %s: %s", root.Path, why)
		}
	}
	return nil
}

// checkDenyRead refuses an exact deny-read path inside a write root where nothing can be mounted.
// Landlock adds rights along a path and cannot take away any below a root.
func checkDenyRead(p resolved.Policy, f Facts) error {
	if f.Namespaces {
		return nil
	}
	for _, deny := range p.DenyRead {
		for _, root := range p.Roots {
			if sandbox.Covers(root.Path, deny) && root.Path != deny {
				return fmt.Errorf("deny_read %s lies inside the write root %s: Landlock cannot keep it unreadable there", deny, root.Path)
			}
		}
	}
	return nil
}

func layers(p resolved.Policy, f Facts) []sandbox.Layer {
	landlock := sandbox.Layer{Name: "landlock", State: sandbox.LayerActive, Reason: fmt.Sprintf("ABI %d; tried: a write that worked before was refused", f.LandlockABI)}
	switch {
	case f.Outer != "" && f.LandlockABI == 0:
		landlock.State, landlock.Reason = sandbox.LayerAbsent, f.Outer+" does without"
	case f.LandlockABI == 0:
		landlock.State, landlock.Reason = sandbox.LayerAbsent, "the kernel has none, it was not switched on (lsm=landlock), or a container refuses its calls"
	case f.LandlockABI < 6:
		landlock.State = sandbox.LayerDegraded
	}
	user := cmp.Or(f.NamespacesWhy, "codeagent runs as root and needs none; in one it could not write other users' files")
	var outer []sandbox.Layer
	if f.Outer != "" {
		user = f.Outer + " makes what it needs"
		outer = []sandbox.Layer{layer(f.Outer, true, "it started a helper, which found the mounts of the policy", "")}
	}
	return slices.Concat(outer, []sandbox.Layer{
		landlock,
		layer("seccomp", true, "sockets were refused, and the kernel reports the filter", ""),
		notifyLayer(f),
		layer("userns", f.Namespaces && !f.Root, "a helper was started in one, and could mount", user),
		layer("mountns", f.Namespaces, "mounts were made in one, and made read-only", f.NamespacesWhy),
		networkLayer(p, f),
		layer("pidns", f.ownPIDs(), "a helper ran as process 1 of its own", cmp.Or(f.NoPIDs, f.NamespacesWhy)),
	}, connectLayer(p, f), groupLayer(f.Groups))
}

// connectLayer is the broker as the maker of every connection; nil where commands have a network of their own
// or all of the host's.
func connectLayer(p resolved.Policy, f Facts) []sandbox.Layer {
	if f.HostNet != 0 || p.Network.Mode == sandbox.NetworkFull {
		return nil
	}
	return []sandbox.Layer{layer("connect", asksNetwork(p, f), "a command's socket could be copied, and names are served", f.noCopies())}
}

// noCopies is why the broker cannot copy a command's sockets.
func (f Facts) noCopies() string {
	if !f.Broker {
		return "the broker is not there: " + notifyLayer(f).Reason
	}
	return cmp.Or(f.NoSockets, "what is around codeagent refuses it copies of a command's descriptors (pidfd_getfd)")
}

// copiesRemedy is how the broker gets copies where something around codeagent refuses them; "" if nothing does.
func (f Facts) copiesRemedy() string {
	if f.Broker && f.NoSockets == "" {
		return "let the filter around codeagent pass pidfd_getfd; Docker's does with --cap-add SYS_PTRACE"
	}
	return ""
}

// layer is one that is active, as what was tried showed, or absent for the reason why.
func layer(name string, active bool, tried, why string) sandbox.Layer {
	if active {
		return sandbox.Layer{Name: name, State: sandbox.LayerActive, Reason: "tried: " + tried}
	}
	return sandbox.Layer{Name: name, State: sandbox.LayerAbsent, Reason: why}
}

// ownPIDs reports whether a command has its own PID namespace.
func (f Facts) ownPIDs() bool { return f.Namespaces && f.NoPIDs == "" }

// networkLayer is the session's own network. Where it is absent the network is still shut: the
// broker makes every connection (connectLayer), or the filter refuses every INET socket.
func networkLayer(p resolved.Policy, f Facts) sandbox.Layer {
	why := f.NamespacesWhy
	if p.Network.Mode == sandbox.NetworkFull {
		why = "the policy grants the host's network"
	}
	return layer("netns", notHostNet(p, f) != 0, "a helper in the session's own one found no way out and no device but the loopback", why)
}

// notifyLayer is the listener and the broker that serves it.
func notifyLayer(f Facts) sandbox.Layer {
	l := layer("notify", f.Broker, "a filter's questions arrived, and who asked could be looked at", cmp.Or(f.NoBroker, "only codeagent itself has a broker"))
	if f.Broker && f.NoSockets != "" && f.Sockets == sockets.TakesNone {
		l.Reason = "sockets with a path stay shut: " + f.NoSockets
	}
	return l
}

// groupLayer is the layer of control groups; nil if no policy asks for one.
func groupLayer(f cgroup.Facts) []sandbox.Layer {
	if !f.Tried {
		return nil
	}
	l := layer("cgroup", f.Memory || f.Processes || f.CPU, "a group was made and took its limits", f.Why)
	if l.State == sandbox.LayerActive && f.Why != "" {
		l.State, l.Reason = sandbox.LayerDegraded, f.Why
	}
	return []sandbox.Layer{l}
}

// readableRecords lists which of codeagent's hidden records Landlock lets a command read under p. It
// leaves out what deny_read names.
func readableRecords(p resolved.Policy) []string {
	var out []string
	for _, path := range p.Protected.Hidden {
		open := len(p.Read) == 0 || slices.ContainsFunc(slices.Concat(p.Read, p.Roots), func(r sandbox.Root) bool {
			return sandbox.Covers(r.Path, path) || sandbox.Covers(path, r.Path)
		})
		if open && !sandbox.CoveredBy(p.DenyRead, path) {
			out = append(out, path)
		}
	}
	return out
}

// ownInside lists codeagent's own paths that lie inside a write root.
func ownInside(p resolved.Policy) []string {
	roots := p.Paths()
	return slices.DeleteFunc(slices.Clone(p.Protected.Own), func(own string) bool { return !sandbox.CoveredBy(roots, own) })
}

// notHostNet is the cookie of the network namespace in which commands under p must not run. It is 0
// if they run in codeagent's own, because p says so or because no other one can be made.
func notHostNet(p resolved.Policy, f Facts) uint64 {
	if p.Network.Mode == sandbox.NetworkFull {
		return 0
	}
	return f.HostNet
}

// locks reports whether commands can lock only the files that they may write.
func (f Facts) locks() bool { return f.Broker && f.Sockets == sockets.TakesCopies }
