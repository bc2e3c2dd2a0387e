package sandbox

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// DenialKind groups denials by the kind of grant that would permit them.
type DenialKind string

const (
	KindWrite      DenialKind = "write"
	KindRead       DenialKind = "read"
	KindNetwork    DenialKind = "network"
	KindSocket     DenialKind = "socket"
	KindMetadata   DenialKind = "metadata"
	KindProtected  DenialKind = "protected"
	KindCapability DenialKind = "capability"
	KindSyscall    DenialKind = "syscall"
	KindSignal     DenialKind = "signal"
	// KindLoss is a deletion or replacement that the policy allows and undo cannot reverse.
	KindLoss DenialKind = "loss"
)

// Evidence is the source of a denial, best first.
type Evidence string

const (
	// EvidenceKernel means that the kernel reported it to the broker.
	EvidenceKernel Evidence = "kernel"
	// EvidenceBackend means that the backend itself refused, or that its log says so.
	EvidenceBackend Evidence = "backend"
	// EvidenceOutput is a guess from what the command printed.
	EvidenceOutput Evidence = "output"
)

// Denial is one thing that the sandbox refused. Identical attempts are counted in one Denial.
type Denial struct {
	Kind DenialKind `json:"kind"`
	// Operation is the system call or action ("openat", "connect").
	Operation string `json:"operation"`
	// Target is an absolute resolved path, "host:port", a bare name (a lookup),
	// a socket path, or a system call's name.
	Target string `json:"target"`
	// Requested is what the program itself named, if that differs: a path as written, or the
	// address for which a name was looked up.
	Requested string `json:"requested,omitempty"`
	// Program is the base name of Executable. If that is unknown, it is the name in a message that
	// the command printed, or empty.
	Program string `json:"program"`
	// Executable is the program's file as the kernel reports it, with the host's path. " (deleted)"
	// follows if that path is gone, and it is "memfd:NAME" for a file in memory. It is empty if the
	// process could not be examined.
	Executable string `json:"executable,omitempty"`
	// Comm is the name that the process gave itself, if it differs.
	Comm string `json:"comm,omitempty"`
	PID  int    `json:"pid"`
	// Chain are the ancestors of the program, from its parent to the command's first process.
	Chain []Ancestor `json:"chain,omitempty"`
	// Order is the position among all denials and exits of one command, from 1; 0 if unknown. If
	// several processes made identical attempts, it is the first attempt of the latest process,
	// which PID and Chain describe.
	Order int `json:"order,omitempty"`
	// Why is the reason in words if no grant would allow it; else empty.
	Why string `json:"why,omitempty"`
	// Note is one sentence on what Target does not show: which name led to it.
	Note string `json:"note,omitempty"`
	// Errno is what the call returned, e.g. "EACCES"; empty if unknown.
	Errno    string   `json:"errno,omitempty"`
	Evidence Evidence `json:"evidence"`
	// Moot means that the call would have failed without the sandbox too, or made no difference.
	// MootReason is the reason in words.
	Moot       bool   `json:"moot"`
	MootReason string `json:"moot_reason,omitempty"`
	Count      int    `json:"count"`
	// Named means that the command's own text names the target. Then the target is likely the purpose
	// of the command, and not a side effect of a program.
	Named bool `json:"named,omitempty"`
	// Lost means that a part of a command failed for this, and not the command: a process whose status
	// nobody looked at, or one that printed it as its error.
	Lost bool `json:"lost,omitempty"`
	// Unwritten, if set, means that the command went on, and that the file is not as it checked it out.
	Unwritten *Unwritten `json:"-"`
	// Used is the processor time that the process had used before, 0 if unknown.
	Used time.Duration `json:"-"`
	// Probe means that the call would open an existing file for reading and writing: programs that
	// are refused it often only read the file then.
	Probe bool `json:"-"`
	// Exclusive means that the call would make a file that must not exist (O_EXCL): a lock, or a file of a
	// passing name that is to replace another.
	Exclusive bool `json:"-"`
}

// Unwritten is a file with a protected name as a checkout of the command made it. Until a person has seen the
// content, it is not written.
type Unwritten struct {
	Content []byte // nil: too long to be kept, or the file could not be removed
	Mode    uint32
}

// MarshalJSON adds the raw bytes of a target that JSON cannot represent as text: a replacement for
// an invalid byte would name another file.
func (d Denial) MarshalJSON() ([]byte, error) {
	type plain Denial
	out := struct {
		plain
		TargetBytes []byte `json:"target_bytes,omitempty"`
	}{plain: plain(d)}
	if !utf8.ValidString(d.Target) {
		out.TargetBytes = []byte(d.Target)
	}
	return json.Marshal(out)
}

// MootPermissions is the reason of a denial that the user's own permissions would have caused
// without a sandbox too.
const MootPermissions = "the user's own permissions refuse it too"

// Ancestor is a process between the command's first one and another one. Its fields are those of
// Denial.
type Ancestor struct {
	Program    string `json:"program"`
	Executable string `json:"executable,omitempty"`
	Comm       string `json:"comm,omitempty"`
	PID        int    `json:"pid"`
}

// Unexamined stands for a program whose executable the kernel does not show: it runs from a file
// that it may not read, or it has ended.
const Unexamined = "a program that cannot be examined"

// Who names the refused program by its executable, as the kernel reports it. The name that the
// process gave itself is quoted and marked as such. It is empty if nothing is known.
func (d Denial) Who() string {
	return who(d.Program, d.Executable, d.Comm, d.Evidence == EvidenceKernel && d.PID != 0)
}

// Who names an ancestor in the same way as Denial.Who.
func (a Ancestor) Who() string { return who(a.Program, a.Executable, a.Comm, a.PID != 0) }

func who(program, executable, comm string, process bool) string {
	name := cmp.Or(executable, program)
	if name == "" && process {
		name = Unexamined
	}
	if comm != "" {
		name += " (calls itself " + strconv.Quote(comm) + ")"
	}
	return name
}

// ProcessName is the kernel's name of the process: 15 bytes chosen by a script's name, the program
// or the process itself. No decision may depend on it.
func (d Denial) ProcessName() string { return cmp.Or(d.Comm, CommOf(d.Program)) }

// ProcessName is the same for an ancestor.
func (a Ancestor) ProcessName() string { return cmp.Or(a.Comm, CommOf(a.Program)) }

// CommOf is the name that the kernel gives a process when it starts a program called base: the
// first 15 bytes (TASK_COMM_LEN).
func CommOf(base string) string { return base[:min(len(base), 15)] }

// Exit is the exit of one process of a command. A process that a signal killed has none.
type Exit struct {
	PID, Parent int
	// By is the nearest ancestor that has executed a program, ByComm its name at that time: to a shell's
	// own forks, the shell. Forked means that the process itself is such a fork and executed nothing.
	By     int
	ByComm string
	Forked bool
	// Comm is the name of the process, which the process may have chosen.
	Comm string
	// Status is 0 to 255.
	Status int
	// Used is the processor time of the process.
	Used time.Duration
	// Order is in the same sequence as that of denials.
	Order int
}

// Trace is what a backend saw of one command.
type Trace struct {
	// Evidence is how much the backend could see: EvidenceFull, EvidenceNetworkOnly,
	// EvidencePartial or EvidenceNothing.
	Evidence EvidenceLevel
	// Reads means that Denials has the refused reads too. Otherwise no refused read is seen.
	Reads   bool
	Denials []Denial
	// Exits are in order.
	Exits []Exit
	// Connections are those that have ended, and those that were denied.
	Connections Connections
}

// Confidence is how sure a verdict is.
type Confidence string

const (
	Certain      Confidence = "certain"
	Likely       Confidence = "likely"
	NoConfidence Confidence = "none"
)

// EvidenceLevel is how much of the events was visible to a verdict.
type EvidenceLevel string

const (
	EvidenceFull        EvidenceLevel = "full"
	EvidenceNetworkOnly EvidenceLevel = "network"
	EvidencePartial     EvidenceLevel = "partial"
	EvidenceOutputOnly  EvidenceLevel = "output"
	EvidenceNothing     EvidenceLevel = "none"
)

// Verdict says whether a command failed because of the sandbox. Package exec/verdict judges; this
// package only defines the type.
type Verdict struct {
	// Denied means that the command failed and would have succeeded without the sandbox.
	Denied     bool          `json:"denied"`
	Confidence Confidence    `json:"confidence"`
	Evidence   EvidenceLevel `json:"evidence"`
	Denials    []Denial      `json:"denials"`
	// Suggest is the least grant with which it would have succeeded. It is a suggestion and permits
	// nothing.
	Suggest Grant `json:"suggest"`
	// Experiment says in a sentence what running the command again on drafts showed; "" where nothing was tried.
	Experiment string `json:"experiment,omitempty"`
	// Connections are the command's connections to hosts, and those that were denied.
	Connections Connections `json:"connections,omitzero"`
	// Left is what no grant would have helped, each with the reason.
	Left []string `json:"-"`
	// Failed means that the command failed, for whatever reason.
	Failed bool `json:"-"`
}

// Lost are the denials that a command has hidden: part of its task was not done, and its status does not
// say so. The text of a command that passed names their targets, or a part of it failed for them.
func (v Verdict) Lost() []Denial {
	var out []Denial
	for _, d := range v.Denials {
		if (d.Lost || d.Named && !v.Failed) && !d.Moot && d.Evidence != EvidenceOutput {
			out = append(out, d)
		}
	}
	return out
}

// Unwritten are the files with protected names that are not as the command checked them out.
func (v Verdict) Unwritten() []Denial {
	return slices.DeleteFunc(slices.Clone(v.Denials), func(d Denial) bool { return d.Unwritten == nil || d.Moot })
}

// Written returns v after those of paths were written. failed: the command failed otherwise.
func (v Verdict) Written(paths []string, failed bool) Verdict {
	v.Denials = slices.Clone(v.Denials)
	for i := range v.Denials {
		if d := &v.Denials[i]; d.Unwritten != nil && slices.Contains(paths, d.Target) {
			d.Moot, d.MootReason = true, "it was allowed and written afterwards"
		}
	}
	if !failed && len(v.Unwritten()) == 0 {
		v.Denied, v.Failed, v.Confidence = false, false, NoConfidence
	}
	return v
}

// Needs are the denials that prevented something: what the command lost, or what made it fail.
func (v Verdict) Needs() []Denial {
	if !v.Denied {
		return v.Lost()
	}
	return slices.DeleteFunc(slices.Clone(v.Denials), func(d Denial) bool { return d.Moot || d.Evidence == EvidenceOutput })
}

// MarshalJSON encodes an empty list of denials as [].
func (v Verdict) MarshalJSON() ([]byte, error) {
	type plain Verdict
	p := plain(v)
	p.Denials = list(v.Denials)
	return json.Marshal(p)
}

// Weakness is one guarantee that is not enforced on this machine. It is shown to the user and to
// the model, and never omitted.
type Weakness struct {
	// ID is stable and short: "metadata", "protected", "deny-read-glob".
	ID string `json:"id"`
	// What is one sentence: what a command can do although the policy forbids it.
	What string `json:"what"`
	// Why names the missing layer or fact.
	Why string `json:"why"`
	// Remedy is what the user can do about it; empty if nothing.
	Remedy string `json:"remedy,omitempty"`
}
