package sandbox

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Backend confines commands. Every implementation is held to sandboxtest.Run.
type Backend interface {
	// Name is "linux", "seatbelt" or "none".
	Name() string
	// Enforcement says what this backend does for p on this machine, found by
	// doing. An error means p cannot be confined here and must not run: a
	// required layer is missing, or p asks for what cannot be held.
	Enforcement(p Policy) (Enforcement, error)
	// Start runs cmd under p. It returns a *StartError when the command did not
	// run. h may be nil: nothing is then held. The command ends when ctx does.
	Start(ctx context.Context, p Policy, cmd Command, h Holder) (Process, error)
}

// Process is one running command with all its descendants.
type Process interface {
	// Wait returns once the command and every process it left behind are gone.
	// The error is a *StartError when the command could not be executed.
	Wait() (Status, error)
	// Kill ends the command and everything it started. It may be called at any
	// time, from any goroutine, more than once.
	Kill()
	// Signal passes an os signal number (1 to 64) to the command; SIGINT, as a
	// terminal does, to the whole process group of a command that leads one.
	Signal(number int) error
	// Refused is what the backend has refused so far, also while the command runs. What
	// becomes known at its end alone is missing: Trace has it.
	Refused() []Denial
	// Trace is what the backend saw; complete after Wait.
	Trace() Trace
}

// Holder answers a denial while the refused call waits. The only one that can
// say yes for a model's command stands in agent/held.go.
type Holder interface {
	// Hold reports the grant under which the call may go on, or false. Several may
	// be asked at once; one that was answered is not asked again for the same kind
	// and target. When ctx ends nobody waits for the answer any more.
	Hold(ctx context.Context, d Denial) (Grant, bool)
}

// FileWorker as a Command's Path starts the backend's own file worker (package
// internal/fileworker) instead of a program: it serves on stdin and stdout
// until end of file.
const FileWorker = "codeagent:file-worker"

// Command is what to start. It inherits nothing but the three files.
type Command struct {
	// Path is an absolute program path, or FileWorker. A Path without a
	// separator is looked up in the PATH of Env.
	Path string
	// Args is the whole argv; Args[0] is the name the program sees.
	Args []string
	// Dir is the working directory, absolute.
	Dir string
	// Env is the complete environment, "K=V".
	Env []string
	// Evidence is how much of what is refused the backend is to see and record:
	// EvidenceFull, EvidenceNetworkOnly or EvidenceNothing; empty is full. What is
	// enforced does not depend on it.
	Evidence EvidenceLevel
	// Observer hears of changes in write roots before they happen; it may be nil.
	// Enforcement.Observes says whether a backend calls it.
	Observer ChangeObserver
	// Learn, when set, is called for each refusal that a grant could lift, and answers at
	// once what that one call may do: so the needs of a command are learned in one run.
	// No Holder is asked then. What is protected or closed to reading (Policy.Protected,
	// DenyRead) stays refused, and Learn does not see it. The command waits meanwhile:
	// Learn must neither block nor take long. Its calls come one at a time. A grant that
	// does not reach Denial.Target is a no. A backend without a broker never calls it.
	Learn func(Denial) (Grant, bool)
	// Stdin, Stdout and Stderr are handed to the command as 0, 1 and 2. A nil
	// file is /dev/null.
	Stdin, Stdout, Stderr *os.File
	// Foreground keeps the caller's session, terminal and process group (for
	// `codeagent sandbox`). Otherwise the command gets a session of its own and
	// no controlling terminal.
	Foreground bool
	// Terminal: the three files are one terminal, which becomes the controlling
	// terminal of the command's own session. Not with Foreground.
	Terminal bool
}

// Status is how a command ended. Exactly one of Exit and Signal is meaningful.
type Status struct {
	// Exit is the exit status; -1 when a signal ended the command.
	Exit int
	// Signal is the signal number that ended it; 0 when it exited.
	Signal int
	// Limit is the limit that ended it or stood in its way, where the backend
	// knows for certain; see exec.Reached for the rest.
	Limit Limit
}

// Exit statuses that report a failed start, as env(1) and timeout(1) use them.
const (
	ExitCannotConfine = 125
	ExitCannotExec    = 126
	ExitNotFound      = 127
)

// StartError says that the command did not run and why. It is never the
// command's own doing.
type StartError struct {
	// Code is ExitCannotConfine, ExitCannotExec or ExitNotFound.
	Code int
	// Stage names the step, e.g. "landlock", "seccomp", "exec".
	Stage string
	Err   error
}

func (e *StartError) Error() string {
	switch e.Code {
	case ExitNotFound:
		return fmt.Sprintf("command not found: %v", e.Err)
	case ExitCannotExec:
		return fmt.Sprintf("command cannot be executed: %v", e.Err)
	}
	return fmt.Sprintf("sandbox: %s: %v (the command did not run)", e.Stage, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// LeftError says that processes of a command outlived every attempt to kill them:
// they hang in the kernel, in a frozen group or on a file system that is gone. They
// stay confined.
type LeftError struct {
	// Processes are "PID (program)".
	Processes []string
}

func (e *LeftError) Error() string {
	return "could not be killed and still there: process " + strings.Join(e.Processes, ", ")
}

// LayerState says how far a layer works here.
type LayerState string

const (
	LayerActive   LayerState = "active"
	LayerDegraded LayerState = "degraded"
	LayerAbsent   LayerState = "absent"
)

// Layer is one mechanism of a backend: "landlock", "seccomp", "notify",
// "userns", "mountns", "netns", "pidns", "cgroup", "seatbelt".
type Layer struct {
	Name  string     `json:"name"`
	State LayerState `json:"state"`
	// Reason says what was found, e.g. "ABI 7" or the error of the probe.
	Reason string `json:"reason,omitempty"`
}

// Enforcement is what a backend does for one policy on this machine.
type Enforcement struct {
	Backend string `json:"backend"`
	// LandlockABI is 0 where there is no Landlock.
	LandlockABI int        `json:"landlock_abi"`
	Layers      []Layer    `json:"layers"`
	Weaknesses  []Weakness `json:"weaknesses"`
	// Observes: Command.Observer hears of every change in a write root. If false it
	// hears of none, and undo needs another way. The same for every policy.
	Observes bool `json:"-"`
}

// Weak reports whether e lists the weakness of that ID.
func (e Enforcement) Weak(id string) bool {
	return slices.ContainsFunc(e.Weaknesses, func(w Weakness) bool { return w.ID == id })
}

// Active lists the names of the active layers, in order.
func (e Enforcement) Active() []string {
	names := []string{}
	for _, l := range e.Layers {
		if l.State == LayerActive {
			names = append(names, l.Name)
		}
	}
	return names
}
