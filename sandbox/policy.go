// Package sandbox holds the vocabulary of the sandbox: what a command may touch (Policy),
// what widens that (Grant), what was refused (Denial, Verdict), what is not enforced on
// this machine (Weakness), and the interfaces between a backend and its users (Backend,
// Process, Holder, ChangeObserver). It imports nothing of ours and performs no IO: it looks
// at paths through a FileSystem that the caller hands in. Start reading at Policy, then at
// Backend.
package sandbox

import "slices"

// Policy declares what a command may touch, the same for every backend. The
// zero value reads everything, writes nothing and has no network. A Policy is
// plain data: copy it freely, and widen it only through With, which only the
// approvals room may call.
type Policy struct {
	// Read lists the readable roots. Empty means everything but DenyRead and DenyGlobs.
	Read []Root `json:"read,omitempty"`
	// Write lists the writable roots. A write root is readable too.
	Write []Root `json:"write,omitempty"`
	// WasWrite are write roots that OnlyRead made read-only: root may read in them
	// what it may as a command that writes there, another user's files among it.
	WasWrite []Root `json:"was_write,omitempty"`
	// Protected is read-only even inside a write root, also when absent.
	Protected Protected `json:"protected,omitzero"`
	// DenyRead lists absolute paths that may be neither read nor written, whatever
	// characters their names have. A directory covers what is below it.
	DenyRead []string `json:"deny_read,omitempty"`
	// DenyGlobs lists patterns of paths ("**/.env") that may be neither read nor written.
	DenyGlobs []string `json:"deny_globs,omitempty"`
	Network   Network  `json:"network,omitzero"`
	// Sockets lists path sockets the user granted.
	Sockets []string `json:"sockets,omitempty"`
	Limits  Limits   `json:"limits,omitzero"`
	Env     Env      `json:"env,omitzero"`
	// Temp is the session's private directory for temporary files: writable,
	// and what TMPDIR names. Empty: none.
	Temp string `json:"temp,omitempty"`
	// SharedTemp also makes the system's shared /tmp writable; always a Weakness.
	SharedTemp bool `json:"shared_temp,omitempty"`
	// Unconfined runs the command outside every sandbox (danger-full-access, or
	// a granted escalation). All other fields but Env and Limits are then unused.
	Unconfined bool `json:"unconfined,omitempty"`
}

// Root is one directory or file of a policy, as a canonical absolute path.
type Root struct {
	Path string `json:"path"`
	// Optional roots may be missing; a missing root that is not is an error.
	Optional bool `json:"optional,omitempty"`
}

// Protected names what stays read-only inside the write roots.
type Protected struct {
	// Paths are canonical and absolute; what lies below them is protected too.
	Paths []string `json:"paths,omitempty"`
	// Names are relative ("hooks", ".vscode/tasks.json") and hold at any depth
	// inside a write root.
	Names []string `json:"names,omitempty"`
	// Own are codeagent's own binaries, settings, rules and records: protected
	// wherever they lie and whatever is granted.
	Own []string `json:"own,omitempty"`
	// Hidden are those of Own that no command may read either, whatever is granted:
	// they hold what files were, and what was said.
	Hidden []string `json:"hidden,omitempty"`
}

// NetworkMode says how much network a command has.
type NetworkMode string

const (
	// NetworkDeny reaches nothing: the zero value.
	NetworkDeny NetworkMode = ""
	// NetworkAllow reaches only Network.Hosts.
	NetworkAllow NetworkMode = "allow"
	// NetworkFull is the host's own network.
	NetworkFull NetworkMode = "full"
)

// Network is what a command may reach. An empty list under NetworkAllow means
// nothing, never everything.
type Network struct {
	Mode  NetworkMode `json:"mode,omitempty"`
	Hosts []HostPort  `json:"hosts,omitempty"`
}

// Limits bound a command's use of the machine. Zero means unset.
type Limits struct {
	WallMillis int64 `json:"wall_ms,omitempty"`
	CPUSeconds int64 `json:"cpu_s,omitempty"`
	// CPUPercent is the share of processor time of all processes together, in
	// hundredths of one processor: 150 is one and a half.
	CPUPercent int64 `json:"cpu_percent,omitempty"`
	// Memory, in bytes, is that of all processes together where the backend can
	// hold that, else the address space of each.
	Memory    int64 `json:"memory,omitempty"`
	Processes int64 `json:"processes,omitempty"`
	OpenFiles int64 `json:"open_files,omitempty"`
	// FileSize is the largest file a process may write, in bytes.
	FileSize int64 `json:"file_size,omitempty"`
	// Output is how much output is spilled to disk, in bytes.
	Output int64 `json:"output,omitempty"`
}

// ReadOnly is the preset that reads everything and changes nothing.
func ReadOnly() Policy { return Policy{} }

// WorkspaceWrite is the preset that writes inside the given roots: the
// workspace first, then extra folders. Paths are canonical.
func WorkspaceWrite(roots ...string) Policy {
	var p Policy
	for _, r := range roots {
		p.Write = append(p.Write, Root{Path: r})
	}
	p.Protected.Names = append([]string(nil), ProtectedNames...)
	return p
}

// FullAccess is the preset without a sandbox (danger-full-access).
func FullAccess() Policy { return Policy{Unconfined: true} }

// Strict is the preset for untrusted programs: system folders and the workspace
// readable, one scratch folder writable, no network, one second of CPU and
// 64 MiB of memory.
func Strict(workspace, scratch string) Policy {
	var p Policy
	for _, dir := range SystemFolders {
		p.Read = append(p.Read, Root{Path: dir, Optional: true})
	}
	p.Read = append(p.Read, Root{Path: workspace})
	p.Write = []Root{{Path: scratch}}
	p.Limits = Limits{CPUSeconds: 1, Memory: 64 << 20}
	return p
}

// SystemFolders is what a dynamically linked program needs to start.
var SystemFolders = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt",
	"/etc", "/dev", "/proc", "/sys", "/nix", "/System", "/Library", "/private/etc",
}

// ProtectedNames are protected at any depth of every write root: places whose
// content some program outside the sandbox later runs or trusts.
var ProtectedNames = []string{
	".codeagent",         // our own project settings
	".claude", ".cursor", // settings, hooks and commands of other agents
	".codex", ".gemini", ".agents", ".mcp.json",
	".envrc",             // direnv runs it at cd
	".vscode/tasks.json", // editors run it at folder open
	".vscode/settings.json",
	".idea",
}

// GitProtected returns what must stay unchanged of the git directory at dir
// (canonical): the files from which git takes programs to run and places to
// trust. Work such as add, commit, stash and rebase needs none of them.
func GitProtected(dir string) []string {
	var out []string
	for _, name := range []string{"config", "config.worktree", "hooks", "commondir", "gitdir"} {
		out = append(out, dir+"/"+name)
	}
	return out
}

// OnlyRead narrows p to what codeagent's own reading needs: it reads what p does,
// and could write nothing and reach nothing even if it tried.
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
	q.Network = Network{}
	return q
}

// Clone returns a deep copy: changing the copy's lists leaves p as it was.
func (p Policy) Clone() Policy {
	c := p
	c.Read = slices.Clone(p.Read)
	c.Write = slices.Clone(p.Write)
	c.WasWrite = slices.Clone(p.WasWrite)
	c.Protected.Paths = slices.Clone(p.Protected.Paths)
	c.Protected.Names = slices.Clone(p.Protected.Names)
	c.Protected.Own = slices.Clone(p.Protected.Own)
	c.Protected.Hidden = slices.Clone(p.Protected.Hidden)
	c.DenyRead = slices.Clone(p.DenyRead)
	c.DenyGlobs = slices.Clone(p.DenyGlobs)
	c.Network.Hosts = slices.Clone(p.Network.Hosts)
	c.Sockets = slices.Clone(p.Sockets)
	c.Env = p.Env.clone()
	return c
}
