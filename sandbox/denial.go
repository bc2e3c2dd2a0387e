package sandbox

import (
	"encoding/json"
	"unicode/utf8"
)

// DenialKind groups denials by what would permit them.
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
)

// Evidence says where the knowledge of a denial comes from, best first.
type Evidence string

const (
	// EvidenceKernel: the kernel told the broker.
	EvidenceKernel Evidence = "kernel"
	// EvidenceBackend: the backend itself refused, or its log says so.
	EvidenceBackend Evidence = "backend"
	// EvidenceOutput: read from what the command printed; a guess.
	EvidenceOutput Evidence = "output"
)

// Denial is one thing the sandbox refused, aggregated over identical attempts.
type Denial struct {
	Kind DenialKind `json:"kind"`
	// Operation is the system call or action ("openat", "connect").
	Operation string `json:"operation"`
	// Target is an absolute resolved path, "host:port", a bare name (a lookup),
	// a socket path, or a system call's name.
	Target string `json:"target"`
	// Requested is what the program itself named, where that differs: a path as it
	// was written, the address that a name was looked up for.
	Requested string `json:"requested,omitempty"`
	// Program is the base name of Executable; where that is not known, the name
	// in a message that the command printed, or empty.
	Program string `json:"program"`
	// Executable is the program's file, as the kernel has it and the host names
	// it; with " (deleted)" behind it when that name is gone, "memfd:NAME" for a
	// file in memory. It is empty when the process could not be examined.
	Executable string `json:"executable,omitempty"`
	// Comm is the name that the process gave itself, where it is another one.
	Comm string `json:"comm,omitempty"`
	PID  int    `json:"pid"`
	// Chain is who started the program, from its parent to the command's first
	// process.
	Chain []Ancestor `json:"chain,omitempty"`
	// Order counts denials and exits of one command together, from 1; 0 when
	// unknown. Of identical attempts by several processes it is the first one of the
	// latest process, which PID and Chain tell of.
	Order int `json:"order,omitempty"`
	// Why says in words why it is refused where no grant would allow it; else empty.
	Why string `json:"why,omitempty"`
	// Note is one sentence on what Target alone does not say: which name led to it.
	Note string `json:"note,omitempty"`
	// Errno is what the call returned, e.g. "EACCES"; empty when unknown.
	Errno    string   `json:"errno,omitempty"`
	Evidence Evidence `json:"evidence"`
	// Moot: it would have failed without the sandbox too, or did not matter;
	// MootReason says why in words.
	Moot       bool   `json:"moot"`
	MootReason string `json:"moot_reason,omitempty"`
	Count      int    `json:"count"`
}

// MarshalJSON adds the bytes of a target that JSON cannot carry as text: what
// stands there in place of an invalid byte would name another file.
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

// MootPermissions is the reason of a denial that the user's own permissions would
// have brought about without a sandbox too.
const MootPermissions = "the user's own permissions refuse it too"

// Ancestor is a process on the way from the command's first one to another.
// Its fields are those of Denial.
type Ancestor struct {
	Program    string `json:"program"`
	Executable string `json:"executable,omitempty"`
	Comm       string `json:"comm,omitempty"`
	PID        int    `json:"pid"`
}

// Exit is how one process of a command ended by itself. One that a signal killed
// has none.
type Exit struct {
	PID, Parent int
	// Comm is the name of the process, which it may have chosen.
	Comm string
	// Status is 0 to 255.
	Status int
	// Order is counted together with that of denials.
	Order int
}

// Trace is what a backend saw of one command.
type Trace struct {
	// Evidence is how much it could see: EvidenceFull, EvidenceNetworkOnly,
	// EvidencePartial or EvidenceNothing.
	Evidence EvidenceLevel
	Denials  []Denial
	// Exits are in order, and told from the first denial on: before it they cannot
	// have been its doing.
	Exits []Exit
}

// Confidence is how sure a verdict is.
type Confidence string

const (
	Certain      Confidence = "certain"
	Likely       Confidence = "likely"
	NoConfidence Confidence = "none"
)

// EvidenceLevel is how much of what happened a verdict could see.
type EvidenceLevel string

const (
	EvidenceFull        EvidenceLevel = "full"
	EvidenceNetworkOnly EvidenceLevel = "network"
	EvidencePartial     EvidenceLevel = "partial"
	EvidenceOutputOnly  EvidenceLevel = "output"
	EvidenceNothing     EvidenceLevel = "none"
)

// Verdict says whether a command failed because of the sandbox. exec judges,
// sandbox names.
type Verdict struct {
	// Denied: the command failed and would have passed without the sandbox.
	Denied     bool          `json:"denied"`
	Confidence Confidence    `json:"confidence"`
	Evidence   EvidenceLevel `json:"evidence"`
	Denials    []Denial      `json:"denials"`
	// Suggest is the least grant that would have let it pass. A suggestion is
	// what could be asked for; it permits nothing.
	Suggest Grant `json:"suggest"`
	// Failed: the command failed, whatever it was for.
	Failed bool `json:"-"`
}

// MarshalJSON writes an empty list of denials as [].
func (v Verdict) MarshalJSON() ([]byte, error) {
	type plain Verdict
	p := plain(v)
	p.Denials = list(v.Denials)
	return json.Marshal(p)
}

// Weakness is one guarantee that is not enforced on this machine: data to show
// to the user and the model, never a silent nothing.
type Weakness struct {
	// ID is stable and short: "metadata", "protected", "deny-read-glob".
	ID string `json:"id"`
	// What is one sentence: what a command can do that the policy says it cannot.
	What string `json:"what"`
	// Why names the missing layer or fact.
	Why string `json:"why"`
	// Remedy says what the user can do about it; empty when nothing.
	Remedy string `json:"remedy,omitempty"`
}
