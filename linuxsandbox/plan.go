//go:build linux

package linuxsandbox

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"codeagent/internal/short"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
)

// This file decides what a policy becomes on a kernel. It does no IO, so its table of tests runs on
// any machine.

// plan returns the layers that enforce p on a kernel, and what they do not enforce. An error means
// that p must not run here; it names the part of p that cannot be enforced.
func plan(p sandbox.Policy, f facts) ([]sandbox.Layer, []sandbox.Weakness, error) {
	if err := f.CheckLandlock(); err != nil {
		return nil, nil, err
	}
	for _, check := range []func(sandbox.Policy) error{checkMode, checkRoots} {
		if err := check(p); err != nil {
			return nil, nil, err
		}
	}
	if err := checkNetwork(p, f); err != nil {
		return nil, nil, err
	}
	if err := checkSockets(p, f); err != nil {
		return nil, nil, err
	}
	if !f.Namespaces {
		if err := checkDenyRead(p); err != nil {
			return nil, nil, err
		}
	}
	return layers(p, f), weaknesses(p, f), nil
}

func checkMode(p sandbox.Policy) error {
	if p.Unconfined {
		return fmt.Errorf("the policy is unconfined: this backend only runs confined commands")
	}
	return p.Validate()
}

// checkNetwork refuses single hosts if no broker could connect to them. It fails closed: otherwise
// a command with a granted host would fail without a reason.
func checkNetwork(p sandbox.Policy, f facts) error {
	if p.Network.Mode != sandbox.NetworkAllow || len(p.Network.Hosts) == 0 || f.HostNet != 0 && pathSockets(p, f) {
		return nil
	}
	var names []string
	for _, h := range p.Network.Hosts {
		names = append(names, h.String())
	}
	why := networkLayer(p, f).Reason
	if f.HostNet != 0 {
		why = cmp.Or(f.NoSockets, notifyLayer(f).Reason)
	}
	return fmt.Errorf("single hosts cannot be opened inside this sandbox (%s): it has no network or all of it; "+
		"what needs %s can only run outside the sandbox", why, strings.Join(names, ", "))
}

// checkSockets refuses granted sockets if no broker could connect to them.
func checkSockets(p sandbox.Policy, f facts) error {
	if len(p.Sockets) == 0 || pathSockets(p, f) {
		return nil
	}
	return fmt.Errorf("single sockets cannot be opened inside this sandbox (%s); what needs %s can only run outside the sandbox",
		notifyLayer(f).Reason, strings.Join(p.Sockets, ", "))
}

// pathSockets reports whether commands under p can have sockets with a path.
func pathSockets(p sandbox.Policy, f facts) bool {
	network := p.Network.Mode == sandbox.NetworkFull || f.HostNet != 0
	return f.Broker && f.Sockets != sockets.TakesNone && (f.Sockets == sockets.TakesCopies || !network)
}

// writeRoots lists every root that a command may write, with its origin.
func writeRoots(p sandbox.Policy) []sandbox.Root {
	roots := append([]sandbox.Root(nil), p.Write...)
	if p.Temp != "" {
		roots = append(roots, sandbox.Root{Path: p.Temp})
	}
	if p.SharedTemp {
		roots = append(roots, sandbox.Root{Path: "/tmp", Optional: true}, sandbox.Root{Path: "/var/tmp", Optional: true})
	}
	return roots
}

func checkRoots(p sandbox.Policy) error {
	for _, root := range writeRoots(p) {
		if why := spec.NeverWritable(root.Path); why != "" {
			return fmt.Errorf("write root %s: %s", root.Path, why)
		}
		for _, own := range p.Protected.Own {
			if sandbox.Covers(own, root.Path) {
				return fmt.Errorf("write root %s is or lies inside %s, which belongs to codeagent itself and is never writable", root.Path, own)
			}
		}
	}
	return nil
}

// checkDenyRead refuses an exact deny-read path inside a write root. Landlock adds rights along a
// path and cannot take away any below a root.
func checkDenyRead(p sandbox.Policy) error {
	for _, deny := range p.DenyRead {
		for _, root := range writeRoots(p) {
			if sandbox.Covers(root.Path, deny) && root.Path != deny {
				return fmt.Errorf("deny_read %s lies inside the write root %s: Landlock cannot keep it unreadable there", deny, root.Path)
			}
		}
	}
	return nil
}

func layers(p sandbox.Policy, f facts) []sandbox.Layer {
	state := sandbox.LayerActive
	if f.LandlockABI < 6 {
		state = sandbox.LayerDegraded
	}
	out := []sandbox.Layer{
		{Name: "landlock", State: state, Reason: fmt.Sprintf("ABI %d; tried: a write that worked before was refused", f.LandlockABI)},
		{Name: "seccomp", State: sandbox.LayerActive, Reason: "tried: sockets were refused, and the kernel reports the filter"},
	}
	out = append(out, notifyLayer(f))
	out = append(out, namespaceLayers(p, f)...)
	return append(out, groupLayer(f.Groups)...)
}

// ownPIDs reports whether a command has its own PID namespace.
func (f facts) ownPIDs() bool { return f.Namespaces && f.NoPIDs == "" }

func namespaceLayers(p sandbox.Policy, f facts) []sandbox.Layer {
	state, reason := sandbox.LayerActive, ""
	if !f.Namespaces {
		state, reason = sandbox.LayerAbsent, f.NamespacesWhy
	}
	user := sandbox.Layer{Name: "userns", State: state, Reason: reason}
	if f.Namespaces && f.Root {
		user.State, user.Reason = sandbox.LayerAbsent, "not needed as root, who could not write other users' files in it"
	}
	proof := func(tried string) string {
		if f.Namespaces {
			return "tried: " + tried
		}
		return reason
	}
	if user.State == sandbox.LayerActive {
		user.Reason = proof("a helper was started in one, and could mount")
	}
	pids := sandbox.Layer{Name: "pidns", State: state, Reason: proof("a helper was the first process of one")}
	if f.Namespaces && f.NoPIDs != "" {
		pids.State, pids.Reason = sandbox.LayerAbsent, f.NoPIDs
	}
	return []sandbox.Layer{
		user,
		{Name: "mountns", State: state, Reason: proof("mounts were made in one, and made read-only")},
		networkLayer(p, f),
		pids,
	}
}

// networkLayer is the session's own network. Where it is absent the network is still shut: the
// filter then refuses every INET socket.
func networkLayer(p sandbox.Policy, f facts) sandbox.Layer {
	l := sandbox.Layer{Name: "netns", State: sandbox.LayerAbsent}
	switch {
	case p.Network.Mode == sandbox.NetworkFull:
		l.Reason = "the policy grants the host's network"
	case notHostNet(p, f) != 0:
		l.State, l.Reason = sandbox.LayerActive, "tried: a helper in the session's own one found no way out and no device but the loopback"
	default:
		l.Reason = f.NamespacesWhy
	}
	return l
}

// notifyLayer is the listener and the broker that serves it.
func notifyLayer(f facts) sandbox.Layer {
	l := sandbox.Layer{Name: "notify", State: sandbox.LayerActive, Reason: "tried: a filter's questions arrived, and who asked could be looked at"}
	if !f.Broker {
		l.State, l.Reason = sandbox.LayerAbsent, f.NoBroker
	}
	if f.Broker && f.NoSockets != "" && f.Sockets == sockets.TakesNone {
		l.Reason = "sockets with a path stay shut: " + f.NoSockets
	}
	if !f.Broker && l.Reason == "" {
		l.Reason = "only codeagent itself has a broker"
	}
	return l
}

func weaknesses(p sandbox.Policy, f facts) []sandbox.Weakness {
	var out []sandbox.Weakness
	if !f.Namespaces && !f.Broker {
		out = append(out, sandbox.Weakness{
			ID:   "metadata",
			What: "a command can change mode, owner, times and extended attributes of files outside the write roots, as far as the user may",
			Why: "Landlock does not handle metadata, read-only mounts cannot be made here (" + f.NamespacesWhy +
				"), and the broker is not there: " + notifyLayer(f).Reason,
		})
	}
	out = append(out, lockWeakness(f)...)
	if names := protectedNames(p); len(names) > 0 && len(writeRoots(p)) > 0 && !f.Broker {
		w := sandbox.Weakness{
			ID:   "protected",
			What: "a command can change these protected names inside the write roots: " + short.List(names, mostNamed),
			Why:  "Landlock cannot take a right away inside a root, and read-only mounts cannot be made here: " + f.NamespacesWhy,
		}
		if f.Namespaces {
			w.What = "a command can make these where they do not exist yet, and change them in folders below the top of a write root: " + short.List(names, mostNamed)
			w.Why = "a mount holds only what is there when the command starts and until another program renames over it, and no folder is searched for such names"
		}
		out = append(out, w)
	}
	if globs := p.DenyGlobs; len(globs) > 0 {
		out = append(out, globWeakness(short.List(globs, mostNamed), f))
	}
	if own := ownInside(p); len(own) > 0 && !f.Broker {
		out = append(out, sandbox.Weakness{
			ID:   "own-binaries",
			What: "a command can change codeagent's own files while it runs: " + short.List(own, mostNamed) + "; they are put back when it ends",
			Why:  "they lie inside a write root, and Landlock cannot take a right away there",
		})
	}
	if records := readableRecords(p); len(records) > 0 {
		out = append(out, recordsWeakness(short.List(records, mostNamed), f))
	}
	if p.SharedTemp {
		out = append(out, sandbox.Weakness{
			ID:     "shared-temp",
			What:   "a command can write the /tmp that all programs of this machine share",
			Why:    "the policy asks for it",
			Remedy: `leave tmp at "private"`,
		})
	}
	out = append(out, kernelWeaknesses(f)...)
	out = append(out, limitWeaknesses(p.Limits, f)...)
	if f.ownPIDs() {
		return out
	}
	return append(out, sandbox.Weakness{
		ID:   "process-death",
		What: "a process the command left behind survives when something outside kills codeagent and the keeper at the same time",
		Why:  "commands have no PID namespace of their own: " + cmp.Or(f.NoPIDs, f.NamespacesWhy),
	})
}

// readableRecords lists which of codeagent's hidden records p lets a command read. It leaves out
// what deny_read names, because Landlock keeps that shut.
func readableRecords(p sandbox.Policy) []string {
	var out []string
	for _, path := range p.Protected.Hidden {
		denied := slices.ContainsFunc(p.DenyRead, func(d string) bool { return sandbox.Covers(d, path) })
		open := len(p.Read) == 0 || slices.ContainsFunc(slices.Concat(p.Read, writeRoots(p)), func(r sandbox.Root) bool {
			return sandbox.Covers(r.Path, path) || sandbox.Covers(path, r.Path)
		})
		if open && !denied {
			out = append(out, path)
		}
	}
	return out
}

// recordsWeakness says what a command can read of codeagent's records. With Landlock alone, hiding
// them means opening each neighbour of every folder on the way to them. That takes time at each
// start, keeps those folders from being listed, and closes what other programs create there later.
// So codeagent does it only for paths that deny_read names.
func recordsWeakness(records string, f facts) sandbox.Weakness {
	w := sandbox.Weakness{
		ID:     "own-records",
		What:   "a command can read what files were before they were changed (kept for /undo) and what was said in sessions: " + records,
		Why:    "nothing can be mounted over these folders here: " + f.NamespacesWhy,
		Remedy: "name them in deny_read; the folders above them can then not be listed by commands",
	}
	if f.Namespaces {
		w.Why, w.Remedy = "they are not there, and a mount needs something to go over", ""
	}
	return w
}

// globWeakness says what a command can read although globs deny it.
func globWeakness(globs string, f facts) sandbox.Weakness {
	w := sandbox.Weakness{
		ID:     "deny-read-glob",
		What:   "a command can read files that match " + globs,
		Why:    "Landlock knows files, not patterns",
		Remedy: "name the files or folders as absolute paths",
	}
	switch {
	case !f.Namespaces:
	case f.Globs.Why != "":
		w.Why = "not all of them are known and kept shut: " + f.Globs.Why
	default:
		w.What = "a command can read files that match " + globs + " where they lie outside of the write roots and the read roots that are named, or appear after its start, in large trees also shortly before it"
		w.Why = "what is there is kept shut by mounts, and no layer knows patterns"
	}
	return w
}

func kernelWeaknesses(f facts) []sandbox.Weakness {
	var out []sandbox.Weakness
	const remedy = "a newer kernel"
	if f.LandlockABI < 5 {
		out = append(out, sandbox.Weakness{
			ID: "device-ioctl", What: "a command can control every device it can open", Remedy: remedy,
			Why: fmt.Sprintf("Landlock ABI %d does not handle device ioctls (ABI 5, Linux 6.10)", f.LandlockABI),
		})
	}
	if f.LandlockABI < 6 && !f.ownPIDs() {
		out = append(out, sandbox.Weakness{
			ID: "signals", What: "a command can signal the user's other processes, the keeper of its own sandbox too", Remedy: remedy,
			Why: fmt.Sprintf("Landlock ABI %d does not scope signals (ABI 6, Linux 6.12)", f.LandlockABI),
		})
	}
	if f.CoreHandler {
		out = append(out, sandbox.Weakness{
			ID: "core-handler", What: "the memory of a program that crashes is handed to the host's handler of crashes, which runs outside of the sandbox",
			Why:    "only a core limit of 1 keeps such a handler from running, and the limit was 0 for good before codeagent started",
			Remedy: "start codeagent under a hard core limit above 0 (ulimit -Hc)",
		})
	}
	return out
}

func protectedNames(p sandbox.Policy) []string {
	return append(append([]string(nil), p.Protected.Names...), p.Protected.Paths...)
}

// ownInside lists codeagent's own paths that lie inside a write root.
func ownInside(p sandbox.Policy) []string {
	var out []string
	for _, own := range p.Protected.Own {
		for _, root := range writeRoots(p) {
			if sandbox.Covers(root.Path, own) {
				out = append(out, own)
				break
			}
		}
	}
	return out
}

// mostNamed is the most names that a weakness lists.
const mostNamed = 8

// startError is the error of a command that was not started.
func startError(stage string, err error) *sandbox.StartError {
	return &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: stage, Err: err}
}

// notHostNet is the cookie of the network namespace in which commands under p must not run. It is 0
// if they run in codeagent's own, because p says so or because no other one can be made.
func notHostNet(p sandbox.Policy, f facts) uint64 {
	if p.Network.Mode == sandbox.NetworkFull {
		return 0
	}
	return f.HostNet
}

// asRoot reports whether commands of this process run as uid 0.
func asRoot() bool { return os.Geteuid() == 0 }

// locks reports whether commands can lock only the files that they may write.
func (f facts) locks() bool { return f.Broker && f.Sockets == sockets.TakesCopies }

// lockWeakness is the weakness that commands can lock other files; nil if they cannot.
func lockWeakness(f facts) []sandbox.Weakness {
	if f.locks() {
		return nil
	}
	why := "the broker is not there: " + notifyLayer(f).Reason
	if f.Broker {
		why = cmp.Or(f.NoSockets, "what is around codeagent refuses it copies of a command's descriptors (pidfd_getfd)")
	}
	return []sandbox.Weakness{{
		ID: "locks", What: "a command can lock (flock) files that it may only read: programs outside that lock them wait until it ends",
		Why: "a descriptor that is open to read is enough, and " + why,
	}}
}
