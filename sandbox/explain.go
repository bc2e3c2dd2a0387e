package sandbox

import "strings"

// LayerReport is a layer and what it provides on this machine.
type LayerReport struct {
	Layer
	// Holds is the purpose of the layer, or what is left of it if the layer is degraded.
	Holds string
	// Losses are what it does not enforce here; empty if it is active.
	Losses []Loss
}

// Loss is one protection of a layer that is missing here.
type Loss struct {
	What string
	// Layer provides it instead, and How says in which way. Layer is empty if the backend itself
	// does. How is empty if nothing does.
	Layer, How string
	// Weakness is the ID of the Weakness that describes the gap.
	Weakness string
}

// Explain says what each layer enforces. If a layer is missing or partial, it also says what is
// lost and what still enforces that. It uses only e.
func (e Enforcement) Explain() []LayerReport {
	active, stated := map[string]bool{"": true}, map[string]bool{}
	for _, l := range e.Layers {
		active[l.Name] = l.State != LayerAbsent
	}
	for _, w := range e.Weaknesses {
		stated[w.ID] = true
	}
	var out []LayerReport
	for _, l := range e.Layers {
		worth := layerWorth[l.Name]
		x := LayerReport{Layer: l, Holds: worth.holds}
		var kept []string
		for _, d := range worth.duties {
			// A degraded layer loses what its ABI lacks or what a weakness states.
			partly := l.State == LayerDegraded && (e.LandlockABI < d.since || d.since == 0 && stated[d.weakness])
			if l.State == LayerAbsent || partly {
				x.Losses = append(x.Losses, d.without(active, stated))
			} else {
				kept = append(kept, d.what)
			}
		}
		if l.State == LayerDegraded {
			x.Holds = strings.Join(kept, "; ")
		}
		out = append(out, x)
	}
	return out
}

// duty is one thing that a layer enforces.
type duty struct {
	what string
	// since is the Landlock ABI that introduced it; 0 for other layers.
	since int
	// weakness is the ID of the Weakness that says that this is not, or not fully, enforced.
	weakness string
	// partly means that the Weakness covers only part of the duty, and layer enforces the rest.
	partly bool
	// layer enforces it too, in the way that how says. The layer "" is the backend itself; without
	// how nothing else enforces it.
	layer, how string
}

func (d duty) without(active, stated map[string]bool) Loss {
	loss := Loss{What: d.what}
	if stated[d.weakness] {
		loss.Weakness = d.weakness
	}
	if active[d.layer] && (loss.Weakness == "" || d.partly) {
		loss.Layer, loss.How = d.layer, d.how
	}
	return loss
}

const noLimit = "no limit that is set needs it"

// layerWorth gives the purpose of each layer by its name. Nothing replaces seccomp: without it no command runs.
var layerWorth = map[string]struct {
	holds  string
	duties []duty
}{
	"landlock": {"limits on files outside the roots, TCP, devices, signals and abstract sockets", []duty{
		{what: "limits on files outside the roots", since: 1, layer: "notify", how: "codeagent makes each change, the kernel opens files to read alone, and mounts cover what may not be read"},
		{what: "moves from folder to folder in the kernel", since: 2, how: "codeagent makes them, or programs copy as between disks"},
		{what: "limits on emptying files that are not opened for writing", since: 3, layer: "seccomp", how: "such calls are refused, or codeagent makes them"},
		{what: "limits on TCP", since: 4, layer: "seccomp", how: "no internet socket can be created, or codeagent makes its connections"},
		{what: "limits on the control of devices", since: 5, weakness: "device-ioctl"},
		{what: "refusal of signals to other processes", since: 6, weakness: "signals", partly: true, layer: "pidns", how: "the command sees no process but its own and the keeper"},
		{what: "refusal of abstract sockets", since: 6, layer: "seccomp", how: "the filter or codeagent refuses to bind and to connect them"},
	}},
	"wasm":    {"what a module opens, by the policy: codeagent-extra walks each name, and has no processes and no network for it", nil},
	"seccomp": {"refusal of system calls that lead out of the sandbox: tracing, mounting, namespaces, keys, modules, unusual sockets", nil},
	"notify": {"calls that codeagent answers: protected names, mode, owner and times, sockets with a path", []duty{
		{what: "protection of names that do not exist yet", weakness: "protected"},
		{what: "protection of mode, owner and times outside the roots", weakness: "metadata", layer: "mountns", how: "mounts are read-only there"},
		{what: "refusal of locks on files outside the roots", weakness: "locks"},
		{what: "sockets with a path between the session's commands, and granted ones", layer: "seccomp", how: "none can be created"},
		{what: "the kernel's report of each denial", how: "codeagent judges by the command's output, and calls the result likely"},
		{what: "a refused call that waits for an answer", how: "the call fails; the command can be run again with more permissions"},
	}},
	"userns": {"an ordinary user's right to create the other namespaces", nil},
	"mountns": {"read-only mounts outside the roots, a private /tmp, protected names that exist, hidden records of codeagent", []duty{
		{what: "codeagent's own records hidden from commands", weakness: "own-records", how: "they are closed by deny_read, by the read roots, or by a sandbox around codeagent"},
		{what: "protection of mode, owner and times outside the roots", weakness: "metadata", layer: "notify", how: "codeagent makes or refuses each change"},
		{what: "protected names inside the roots", weakness: "protected", layer: "notify", how: "codeagent makes or refuses each change near them"},
		{what: "a private /tmp", weakness: "shared-temp", layer: "landlock", how: "/tmp cannot be written; TMPDIR names a private folder"},
	}},
	"netns": {"a network that contains only the session's own servers", []duty{
		{what: "servers of commands that only the session's own reach", weakness: "local-servers", layer: "seccomp", how: "no internet socket can be created, so no command serves another"},
	}},
	"connect": {"connections that codeagent makes for commands without a network of their own: to allowed hosts, and to the session's own servers", []duty{
		{what: "allowed hosts, and a loopback that the session's commands share", layer: "seccomp", how: "no internet socket can be created, so no command reaches a host or serves another"},
	}},
	"pidns": {"nothing outlives the command; other processes and their memory are hidden", []duty{
		{what: "the end of all processes that a command leaves behind", weakness: "process-death", partly: true, how: "the keeper finds and ends them"},
		{what: "hidden processes", layer: "seccomp", how: "other processes are visible, but cannot be traced, changed or read"},
	}},
	"cgroup": {"limits on memory, processes and processor time of a command as a whole", []duty{
		{what: "limit on the memory of all processes together", weakness: "memory-limit", how: noLimit},
		{what: "limit on the number of processes", weakness: "process-limit", how: noLimit},
		{what: "limit on the share of processor time", weakness: "cpu-share", how: noLimit},
		{what: "a bound on all commands of a session together: three quarters of memory and swap, and 4,096 tasks", how: "start codeagent in a group of its own: systemd-run --user --scope -p Delegate=yes codeagent"},
	}},
	"seatbelt": {"the whole policy, as a profile of the system's own sandbox", nil},
}
