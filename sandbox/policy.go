// Package sandbox holds the vocabulary of the sandbox: what a command may touch (Policy), what
// widens that (Grant), what was refused (Denial, Verdict), what is not enforced on this machine
// (Weakness), and the interfaces between a backend and its users (Backend, Process, Holder,
// ChangeObserver). Of ours it imports only sandbox/protect, and it performs no IO: it reads paths through a
// FileSystem that the caller supplies. Start with Policy, then Backend.
package sandbox

import (
	"cmp"
	"maps"
	"slices"

	"codeagent/sandbox/protect"
)

// Policy declares what a command may touch. It is the same for every backend. The zero value reads
// everything, writes nothing and has no network. A Policy is plain data: copy it freely, and widen
// it only through With, which only the approvals room may call.
type Policy struct {
	// Read lists the readable roots. Empty means everything except DenyRead and DenyGlobs.
	Read []Root `json:"read,omitempty"`
	// Write lists the writable roots. A write root is readable too.
	Write []Root `json:"write,omitempty"`
	// WasWrite are write roots that OnlyRead made read-only. For root they retain the right to read
	// another user's files, as in a command that writes there.
	WasWrite []Root `json:"was_write,omitempty"`
	// ProtectedNames is read-only even inside a write root. Names that do not exist yet cannot be
	// created.
	Protected ProtectedNames `json:"protected,omitzero"`
	// DenyRead lists absolute paths that a command may neither read nor write. They are literal,
	// whatever characters they contain. A directory covers everything in it.
	DenyRead []string `json:"deny_read,omitempty"`
	// DenyGlobs lists path patterns ("**/.env") that a command may neither read nor write.
	DenyGlobs []string `json:"deny_globs,omitempty"`
	Network   Network  `json:"network,omitzero"`
	// Sockets lists the socket paths that the user granted.
	Sockets []string `json:"sockets,omitempty"`
	Limits  Limits   `json:"limits,omitzero"`
	// Programs are the files that a command may execute; empty: all. What an allowed program does in its own
	// process is not limited by this: a shell reads any script.
	Programs []string `json:"programs,omitempty"`
	// Workdirs are the folders in and below which a command may start; empty: all. Package exec checks it.
	Workdirs []string `json:"workdirs,omitempty"`
	Env      Env      `json:"env,omitzero"`
	// Temp is the session's private folder for temporary files. It is writable, and TMPDIR names
	// it. Empty means none.
	Temp string `json:"temp,omitempty"`
	// SharedTemp also makes the system's shared /tmp writable. It is always a Weakness.
	SharedTemp bool `json:"shared_temp,omitempty"`
	// Revision is the Number of the last Closing that the policy takes into account.
	Revision int `json:"revision,omitempty"`
	// Unconfined runs the command outside every sandbox (danger-full-access, or a granted
	// escalation). All fields except Env and Limits are then unused.
	Unconfined bool `json:"unconfined,omitempty"`
}

// HostsOf returns the texts of hosts, in the form that ParseHostPort reads.
func HostsOf(hosts []HostPort) (texts []string) {
	for _, h := range hosts {
		texts = append(texts, h.String())
	}
	return texts
}

// ProtectedNames names what stays read-only inside the write roots.
type ProtectedNames struct {
	// Paths are canonical and absolute; everything below them is protected too.
	Paths []string `json:"paths,omitempty"`
	// Names are relative ("hooks", ".vscode/tasks.json") and apply at any depth inside a write
	// root, in every spelling that a file system takes for the same (protect.Fold).
	Names []string `json:"names,omitempty"`
	// Own are codeagent's own binaries, settings, rules and records. They are protected wherever
	// they are and whatever is granted.
	Own []string `json:"own,omitempty"`
	// Reasons says of some of Paths why they are protected, by the path.
	Reasons map[string]string `json:"reasons,omitempty"`
	// Hidden are those of Own that no command may read either, whatever is granted: they contain
	// earlier states of files, and conversations.
	Hidden []string `json:"hidden,omitempty"`
}

// NetworkMode is how much network a command has.
type NetworkMode string

const (
	// NetworkDeny reaches nothing. It is the zero value.
	NetworkDeny NetworkMode = ""
	// NetworkAllow reaches only Network.Hosts.
	NetworkAllow NetworkMode = "allow"
	// NetworkFull is the host's own network.
	NetworkFull NetworkMode = "full"
)

// Network is what a command may reach. Under NetworkAllow an empty list of Hosts means nothing, never
// everything. The elements of both lists may be patterns (ParsePattern).
type Network struct {
	Mode  NetworkMode `json:"mode,omitempty"`
	Hosts []HostPort  `json:"hosts,omitempty"`
	// Deny is never reached, whatever is allowed or granted. Port 0 means every port.
	Deny []HostPort `json:"deny,omitempty"`
}

// Limits bound a command's use of the machine. Zero means no limit.
type Limits struct {
	WallMillis int64 `json:"wall_ms,omitempty"`
	CPUSeconds int64 `json:"cpu_s,omitempty"`
	// CPUPercent is the share of processor time of all processes together, in hundredths of one
	// processor: 150 is one and a half processors.
	CPUPercent int64 `json:"cpu_percent,omitempty"`
	// Memory, in bytes, bounds all processes together where the backend can enforce that, else the
	// address space of each process.
	Memory    int64 `json:"memory,omitempty"`
	Processes int64 `json:"processes,omitempty"`
	OpenFiles int64 `json:"open_files,omitempty"`
	// FileSize is the largest file a process may write, in bytes.
	FileSize int64 `json:"file_size,omitempty"`
	// Output is the most output that is written to disk, in bytes.
	Output int64 `json:"output,omitempty"`
}

// Limit names a limit of Limits that a command reached. It is never a denial: only a higher limit
// helps, and no grant does.
type Limit string

const (
	LimitWall      Limit = "wall"
	LimitCPU       Limit = "cpu"
	LimitMemory    Limit = "memory"
	LimitProcesses Limit = "processes"
	LimitOpenFiles Limit = "open-files"
	LimitFileSize  Limit = "file-size"
	// LimitOutput truncates the stored output; the command itself continues.
	LimitOutput Limit = "output"
)

// Words says what happened and which setting raises the limit.
func (l Limit) Words() string { return limitWords[l] }

var limitWords = map[Limit]string{
	LimitWall:      "the wall limit ended it (sandbox.limits.wall_s)",
	LimitCPU:       "the CPU time limit ended it (sandbox.limits.cpu_s)",
	LimitMemory:    "it ran into the memory limit (sandbox.limits.memory_mb; of a container: backends.NAME.memory)",
	LimitProcesses: "it ran into the limit on processes (sandbox.limits.processes; of a container: backends.NAME.tasks)",
	LimitOpenFiles: "it ran into the limit on open files (sandbox.limits.open_files)",
	LimitFileSize:  "it ran into the limit on the size of a file (sandbox.limits.file_size_mb)",
	LimitOutput:    "its output was longer than what is kept (sandbox.limits.output_mb)",
}

// ReadOnly is the preset that reads everything and changes nothing.
func ReadOnly() Policy { return Policy{} }

// WorkspaceWrite is the preset that writes inside the given roots: the workspace first, then extra
// folders. Paths must be canonical.
func WorkspaceWrite(roots ...string) Policy {
	var p Policy
	for _, r := range roots {
		p.Write = append(p.Write, Root{Path: r})
	}
	p.Protected.Names = protect.Names()
	return p
}

// FullAccess is the preset without a sandbox (danger-full-access).
func FullAccess() Policy { return Policy{Unconfined: true} }

// Strict is the preset for untrusted programs: readable system folders and workspace, one writable
// scratch folder, no network, one second of CPU time, 64 MiB of memory and 64 processes.
func Strict(workspace, scratch string) Policy {
	var p Policy
	for _, dir := range SystemFolders {
		p.Read = append(p.Read, Root{Path: dir, Optional: true})
	}
	p.Read = append(p.Read, Root{Path: workspace})
	p.Write = []Root{{Path: scratch}}
	p.Limits = Limits{CPUSeconds: 1, Memory: 64 << 20, Processes: 64}
	return p
}

// SystemFolders are what a dynamically linked program needs to start.
var SystemFolders = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt",
	"/etc", "/dev", "/proc", "/sys", "/nix", "/System", "/Library", "/private/etc",
}

// OnlyRead narrows p to what codeagent's own reading needs: it reads what p reads, writes nothing
// and reaches no network.
func (p Policy) OnlyRead() Policy {
	q := p.Clone()
	if len(q.Read) > 0 {
		q.Read = append(q.Read, q.Write...)
		if q.Temp != "" {
			q.Read = append(q.Read, Root{Path: q.Temp, Optional: true})
		}
	}
	q.WasWrite = append(q.WasWrite, q.Write...)
	q.Write, q.Sockets, q.Temp, q.SharedTemp = nil, nil, "", false
	q.Network = Network{Deny: q.Network.Deny}
	return q
}

// Reopened returns p with the roots that read-only closed. It serves to find what is protected in
// them, and what commands could change.
func (p Policy) Reopened() Policy {
	p.Write = slices.Concat(p.WasWrite, p.Write)
	return p
}

// Protect protects paths, for the reason that is a sentence without its end.
func (p *Policy) Protect(reason string, paths ...string) {
	reasons := maps.Clone(p.Protected.Reasons)
	if reasons == nil {
		reasons = map[string]string{}
	}
	for _, name := range paths {
		reasons[name] = cmp.Or(reasons[name], reason)
	}
	p.Protected.Reasons = reasons
	p.Protected.Paths = slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.Protected.Paths, paths))))
}

// ProtectFile protects the regular file that name, relative to folder, leads to, and each link on the
// way, as far as commands could change them.
func (p *Policy) ProtectFile(files FileSystem, reason, folder, name string) {
	way, err := Way(files, folder, name)
	if err != nil {
		return
	}
	if mode, err := files.Lstat(way[len(way)-1]); err == nil && mode.IsRegular() {
		p.Protect(reason, slices.DeleteFunc(way, func(entry string) bool { return !CoveredBy(PathsOf(p.Roots()), entry) })...)
	}
}

// Clone returns a deep copy: changing the copy's lists leaves p unchanged.
func (p Policy) Clone() Policy {
	c := p
	c.Read = slices.Clone(p.Read)
	c.Write = slices.Clone(p.Write)
	c.WasWrite = slices.Clone(p.WasWrite)
	c.Protected.Paths = slices.Clone(p.Protected.Paths)
	c.Protected.Names = slices.Clone(p.Protected.Names)
	c.Protected.Own = slices.Clone(p.Protected.Own)
	c.Protected.Reasons = maps.Clone(p.Protected.Reasons)
	c.Protected.Hidden = slices.Clone(p.Protected.Hidden)
	c.DenyRead = slices.Clone(p.DenyRead)
	c.DenyGlobs = slices.Clone(p.DenyGlobs)
	c.Network.Hosts, c.Network.Deny = slices.Clone(p.Network.Hosts), slices.Clone(p.Network.Deny)
	c.Sockets, c.Programs, c.Workdirs = slices.Clone(p.Sockets), slices.Clone(p.Programs), slices.Clone(p.Workdirs)
	c.Env = p.Env.clone()
	return c
}
