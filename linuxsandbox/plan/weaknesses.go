//go:build linux

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// This file says what the layers do not enforce, in tables.

// possible is a weakness that some policies have on some machines. "" is no remedy.
type possible struct {
	applies               bool
	id, what, why, remedy string
}

// those returns the weaknesses that apply.
func those(all []possible) (out []sandbox.Weakness) {
	for _, w := range all {
		if w.applies {
			out = append(out, sandbox.Weakness{ID: w.id, What: w.what, Why: w.why, Remedy: w.remedy})
		}
	}
	return out
}

// mostNamed is the most names that a sentence lists.
const mostNamed = 8

func list(names []string) string { return short.List(names, mostNamed) }

func weaknesses(p resolved.Policy, f Facts) []sandbox.Weakness {
	return append(those(slices.Concat(fileWeaknesses(p, f), recordWeaknesses(p, f), kernelWeaknesses(f), limitWeaknesses(p.Limits, f), []possible{
		{asksNetwork(p, f), "local-servers",
			"a program of this machine, of any user, can connect to what a command serves on the loopback",
			"commands have no network of their own: " + f.NamespacesWhy, ""},
		{f.Outer != "" && !f.Broker, "evidence",
			"what the sandbox refuses is only known from the output of the command; a refused call cannot wait for an answer, and undo copies files without seeing them change",
			"there is no broker: " + f.NoBroker, "the native backend, where this machine has Landlock and seccomp's user notification"},
		{f.Outer != "" && f.LandlockABI == 0, "pipes",
			"a command can write to named pipes of this machine, as far as the user may",
			"a read-only mount does not stop writes to pipes, and there is no Landlock", ""},
		{f.Follows, "later-mounts",
			"what is mounted on this machine while a command runs, such as a disk, may appear for the command, and writable",
			f.Outer + " has the set-user-ID bit, and gives the helper no right to cut its mounts off", f.Outer + " without that bit, where user namespaces work"},
		{f.Outer != "" && !f.Broker && len(p.Roots) > 0, "set-user-id",
			"a command can give files that it makes in the write roots the set-user-ID and set-group-ID bits: other users of this machine can then run them with the user's rights",
			"the filter cannot read all modes, and nothing answers for it", ""},
		{!f.ownPIDs() && f.Outer == "", "process-death",
			"a process the command left behind survives when something outside kills codeagent and the keeper at the same time",
			"commands have no PID namespace of their own: " + cmp.Or(f.NoPIDs, f.NamespacesWhy), ""},
	})), f.Lacks...)
}

// fileWeaknesses are what a command can do to files.
func fileWeaknesses(p resolved.Policy, f Facts) []possible {
	noBroker := "the broker is not there: " + notifyLayer(f).Reason
	names := slices.Concat(p.Protected.Names, f.unheld(p.Protected.Paths))
	unprotected := len(names) > 0 && len(p.Roots) > 0 && !f.Broker
	matching := "a command can read files that match " + list(p.DenyGlobs)
	globs := len(p.DenyGlobs) > 0
	const nameThem = "name the files or folders as absolute paths"
	return []possible{
		{!f.Namespaces && !f.Broker, "metadata",
			"a command can change mode, owner, times and extended attributes of files outside the write roots, as far as the user may",
			"Landlock does not handle metadata, read-only mounts cannot be made here (" + f.NamespacesWhy + "), and " + noBroker, ""},
		{!f.locks(), "locks",
			"a command can lock (flock) files that it may only read: programs outside that lock them wait until it ends",
			"a descriptor that is open to read is enough, and " + f.noCopies(), f.copiesRemedy()},
		{unprotected && !f.Namespaces, "protected",
			"a command can change these protected names inside the write roots: " + list(names),
			"Landlock cannot take a right away inside a root, and read-only mounts cannot be made here: " + f.NamespacesWhy, ""},
		{unprotected && f.Namespaces, "protected",
			"a command can make these where they do not exist yet, and change them in folders below the top of a write root: " + list(names),
			"a mount holds only what is there when the command starts and until another program renames over it, and no folder is searched for such names", ""},
		{globs && !f.Namespaces, "deny-read-glob", matching, "Landlock knows files, not patterns", nameThem},
		{globs && f.Namespaces && f.Globs.Why != "", "deny-read-glob",
			matching, "not all of them are known and kept shut: " + f.Globs.Why, nameThem},
		{globs && f.Namespaces && f.Globs.Why == "", "deny-read-glob",
			matching + " where they lie outside of the write roots and the read roots that are named, or appear after its start, in large trees also shortly before it",
			"what is there is kept shut by mounts, and no layer knows patterns", nameThem},
	}
}

// recordWeaknesses are what a command can do to codeagent's own files. With Landlock alone, hiding
// the records means opening each neighbour of every folder on the way to them. That takes time at
// each start, keeps those folders from being listed, and closes what other programs create there
// later. So codeagent does it only for paths that deny_read names.
func recordWeaknesses(p resolved.Policy, f Facts) []possible {
	records := slices.DeleteFunc(readableRecords(p), func(path string) bool { return slices.Contains(f.Shut, path) })
	reading := "a command can read what files were before they were changed (kept for /undo) and what was said in sessions: " + list(records)
	return []possible{
		{len(records) > 0 && !f.Namespaces, "own-records",
			reading, "nothing can be mounted over these folders here: " + f.NamespacesWhy,
			"name them in deny_read; the folders above them can then not be listed by commands"},
		{len(records) > 0 && f.Namespaces, "own-records",
			reading, "they are not there, and a mount needs something to go over", ""},
		{slices.ContainsFunc(p.Roots, func(r sandbox.Root) bool { return r.Origin == sandbox.FromSharedTemp }), "shared-temp",
			"a command can write the /tmp that all programs of this machine share",
			"the settings ask for it", `set sandbox.tmp to "private"`},
	}
}

// pathWeaknesses are those of denied paths and of what is shown of /tmp. linked are denied files
// with hard links: codeagent does not know their other names. unheld are denied paths that do not
// exist yet. piped are shown although a read-only mount does not stop writes to a pipe.
func pathWeaknesses(f Facts, linked, unheld, piped []string) []sandbox.Weakness {
	late := "they lie in a part of /tmp that is shown to commands, where Landlock opens all that is mounted, and a mount needs something to go over"
	if f.LandlockABI == 0 {
		late = "there is no Landlock, and a mount needs something to go over"
	}
	return those([]possible{
		{len(linked) > 0, "deny-read-link",
			"a command can read these denied files by the other names (hard links) they have: " + list(linked),
			"Landlock and mounts judge the name by which a file is opened", "find them with find -samefile and deny or remove them"},
		{len(unheld) > 0, "deny-read-later",
			"a command can read these denied paths if another program makes them while it runs: " + list(unheld),
			late,
			"make them before the session starts: what exists is hidden"},
		{len(piped) > 0, "temp-pipes",
			"a command can write to named pipes of the host in " + list(piped),
			"without a broker Landlock opens the command's own folder for temporary files with all that is mounted in it, and a read-only file system does not stop writes to its pipes",
			"move these out of /tmp, or the pipes in them"},
	})
}

// oldLandlock is why no Landlock does that here.
func (f Facts) oldLandlock(does string) string {
	if f.LandlockABI == 0 {
		return "there is no Landlock, which would " + does
	}
	return fmt.Sprintf("Landlock ABI %d does not %s", f.LandlockABI, does)
}

func kernelWeaknesses(f Facts) []possible {
	const scopes = "Linux 6.12 or newer, with Landlock switched on"
	return []possible{
		{f.LandlockABI < 5, "device-ioctl", "a command can control every device it can open",
			f.oldLandlock("handle device ioctls (ABI 5, Linux 6.10)"), "Linux 6.10 or newer, with Landlock switched on"},
		{f.LandlockABI < 6 && !f.ownPIDs(), "signals", "a command can signal the user's other processes, the keeper of its own sandbox too",
			f.oldLandlock("scope signals (ABI 6, Linux 6.12)"), scopes},
		{f.LandlockABI < 6 && f.ownPIDs(), "keeper-signals", "a command can signal the keeper of its own sandbox, and so end itself before its time",
			f.oldLandlock("scope signals (ABI 6, Linux 6.12)") + ", and the keeper is in the command's PID namespace", scopes},
		{f.CoreHandler, "core-handler",
			"the memory of a program that crashes is handed to the host's handler of crashes, which runs outside of the sandbox",
			"only a core limit of 1 keeps such a handler from running, and the limit was 0 for good before codeagent started",
			"start codeagent under a hard core limit above 0 (ulimit -Hc)"},
	}
}

const groupRemedy = "start codeagent in a control group of its own: systemd-run --user --scope -p Delegate=yes codeagent"

// limitWeaknesses are the limits of l that do not hold for the command as a whole.
func limitWeaknesses(l sandbox.Limits, f Facts) []possible {
	noGroup := "no control group can be had: " + f.Groups.Why
	processes := l.Processes > 0 && !f.Groups.Processes
	return []possible{
		{l.Memory > 0 && !f.Groups.Memory, "memory-limit",
			"the memory limit holds for the address space of each process, not for all of them together", noGroup, groupRemedy},
		{l.CPUPercent > 0 && !f.Groups.CPU, "cpu-share",
			"a command can use more than its share of processor time", noGroup, groupRemedy},
		{processes && f.Root, "process-limit",
			"the process limit is not enforced", "the kernel exempts root from it, and " + noGroup, groupRemedy},
		{processes && !f.Root, "process-limit",
			"the process limit counts all processes of the user, not only the command's", noGroup, groupRemedy},
		{l.CPUSeconds > 0, "cpu-limit",
			"the CPU time limit holds for each process, not for all of them together",
			"the kernel has no such limit for several processes; the wall limit ends them all", ""},
	}
}
