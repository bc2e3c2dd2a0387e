//go:build linux

package spec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Version is the version of Spec. Both halves come from one build; a helper of another version
// refuses to run anything.
const Version = 12

// maxSpec bounds an encoded Spec in bytes, including command line and environment.
const maxSpec = 1 << 20

// Spec is the order that the keeper carries out: codeagent's decisions in the kernel's terms. The
// keeper refuses another version, an unknown field and a value that codeagent never sends (stage
// "spec"); the command then does not run.
type Spec struct {
	// LandlockABI is what the plan counts on. The keeper refuses a kernel with less.
	LandlockABI int
	// Rules are all that Landlock opens. A path without a rule stays shut.
	Rules []Rule
	// Unreadable are exact deny-read paths; the self-test tries to open each.
	Unreadable []string
	// Network lets INET sockets pass the filter, and Landlock handles none of their rights. It is
	// set if the policy grants the host's own network, or if the keeper is not in that network.
	Network bool
	// HostNet is the cookie of codeagent's own network namespace. If it is set, the keeper must be
	// in another one.
	HostNet uint64
	// AskNetwork lets TCP and UDP sockets of codeagent's own network pass the filter; it requires
	// PathSockets, and excludes Network. The broker makes each call that gives one an address.
	AskNetwork bool
	// Ask and PathSockets give the filter a listener, which goes to codeagent's broker with
	// FrameReady. Ask is for changes of files. PathSockets is for AF_UNIX sockets with a path,
	// which are shut without it.
	Ask         bool
	PathSockets bool
	// Locks requires Ask and a broker that copies descriptors. It carries out flock(2) and ftruncate(2) too.
	Locks bool
	// Reads requires Ask: the broker sees the opens that only read too.
	Reads bool
	// Looks requires Ask: the broker sees each name that is looked up.
	Looks bool
	// Programs: Landlock lets only the files of AccessRun execute. With Ask the broker sees each start.
	Programs bool
	// Signals requires Ask: the broker sees the processes that signals are for. A PID namespace or
	// Landlock confines them.
	Signals bool
	// KeepFileCaps retains DAC_OVERRIDE, FOWNER and CHOWN, for root in another user's workspace.
	KeepFileCaps bool
	// Limits become resource limits of the command. codeagent itself limits wall time and output.
	Limits sandbox.Limits
	// OpenFiles is the soft limit of open files, if Limits has no lower one; 0: the keeper's.
	OpenFiles uint64
	// Group is the descriptor by which the command joins its control group, or 0.
	Group int
	// Mounts is set if the keeper has its own mount and IPC namespaces, and a PID namespace unless
	// it retains the host's /proc.
	Mounts *Mounts
	// Walls is set if another program made mounts and namespaces. It excludes Mounts.
	Walls *Walls
	// First is set if the keeper was cloned into the namespaces that the session's commands will
	// share. It has set them up as a Session says, and gets its files with the Spec.
	First bool
	// Probe asks for everything up to the self-test, and for no command.
	Probe bool
	// Command is the command to start; it is unset with Probe.
	Command Command
}

// Session is what the first keeper of a session does for the ones after it, before it gets its Spec:
// it sets the network up and hands over sockets (FrameDoor).
type Session struct {
	// NameServers are the addresses of this machine's name servers.
	NameServers []string
}

// Rule opens one file, or one directory with everything in it.
type Rule struct {
	Path   string
	Access Access
	// Optional rules are skipped if the path is missing or not reachable. Optional read rules are
	// also skipped if the path is a symbolic link, such as /bin on most systems: the link's target
	// must have a rule of its own.
	Optional bool
}

// Failed returns the error for a rule whose path could not be opened.
func (r Rule) Failed(err error) error {
	what := "read root"
	if r.Access == AccessWrite {
		what = "write root"
	}
	if errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("%s %s: a symbolic link is on the way that was not there when the policy was made", what, r.Path)
	}
	return fmt.Errorf("%s %s: %w", what, r.Path, err)
}

// Access is what a Rule permits.
type Access string

const (
	// AccessList reads directories, not files.
	AccessList Access = "list"
	// AccessRun executes one file, which another rule must open for reading.
	AccessRun Access = "run"
	// AccessRead reads and, without Spec.Programs, executes.
	AccessRead Access = "read"
	// AccessWrite is AccessRead and every change except creating device nodes. With Spec.Ask it is
	// AccessRead for a folder, because the broker makes every change there.
	AccessWrite Access = "write"
	// AccessDevice reads, writes and controls one device node.
	AccessDevice Access = "device"
)

// Command is what the keeper starts.
type Command struct {
	// Path is a path, a name to look up in the PATH of Env, or sandbox.FileWorker.
	Path string
	Args []string
	Env  []string
	Dir  string
	// Foreground leaves the command in codeagent's session, with its terminal.
	Foreground bool
	// Terminal makes descriptor 0 the controlling terminal of the command's own session.
	Terminal bool
	// Idle gives the command the lowest priority.
	Idle bool
}

// Encode encodes s for the control socket: the version, then the fields.
func (s *Spec) Encode() ([]byte, error) {
	data := append(binary.BigEndian.AppendUint64(nil, Version), Encode(*s)...)
	if len(data) > maxSpec {
		return nil, fmt.Errorf("the command line, environment and policy take %d bytes together, more than %d", len(data), maxSpec)
	}
	return data, nil
}

// DecodeSpec decodes what Spec.Encode wrote and refuses anything else.
func DecodeSpec(data []byte) (*Spec, error) {
	if len(data) > maxSpec {
		return nil, fmt.Errorf("%d bytes are more than %d", len(data), maxSpec)
	}
	if len(data) < 8 {
		return nil, errShort
	}
	if v := binary.BigEndian.Uint64(data); v != Version {
		return nil, fmt.Errorf("version %d, want %d", v, Version)
	}
	s := &Spec{}
	if err := Decode(data[8:], s); err != nil {
		return nil, err
	}
	return s, s.Validate()
}

// FileCaps are the capabilities that root may retain to work in another user's workspace.
const FileCaps = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_CHOWN

// KeptCaps are the capabilities that the command retains.
func (s *Spec) KeptCaps() uint64 {
	if s.KeepFileCaps {
		return FileCaps
	}
	return 0
}

// Sends reports whether the broker sends each message that could have an address. In the host's own network,
// which a policy grants, messages go anywhere.
func (s *Spec) Sends() bool {
	return s.AskNetwork || s.PathSockets && s.Locks && (!s.Network || s.HostNet != 0)
}

// Validate refuses what codeagent never sends.
func (s *Spec) Validate() error {
	for _, r := range s.Rules {
		switch r.Access {
		case AccessList, AccessRead, AccessRun, AccessDevice:
		case AccessWrite:
			if why := NeverWritable(r.Path); why != "" {
				return fmt.Errorf("write rule for %q: %s", r.Path, why)
			}
		default:
			return fmt.Errorf("rule for %q: unknown access %q", r.Path, r.Access)
		}
	}
	if s.Mounts != nil {
		for _, path := range s.Mounts.Writable {
			if why := NeverWritable(path); why != "" {
				return fmt.Errorf("writable mount of %q: %s", path, why)
			}
		}
	}
	c := s.Command
	if !s.Probe && (c.Path == "" || len(c.Args) == 0 || c.Dir == "") {
		return errors.New("no command")
	}
	for _, list := range [][]string{{c.Path, c.Dir}, c.Args, c.Env} {
		for _, t := range list {
			if strings.IndexByte(t, 0) >= 0 {
				return errors.New("the command contains a NUL byte")
			}
		}
	}
	return nil
}

// NeverWritable returns why no policy may open path for writing, or "".
func NeverWritable(path string) string {
	switch {
	case path == "/":
		return "the whole system cannot be a write root"
	case sandbox.Covers(kernel.ProcDir, path), sandbox.Covers("/sys", path):
		return "kernel interfaces are never writable inside the sandbox"
	case path == kernel.DevDir, path == kernel.PtsDir:
		return "it holds every device or terminal of the machine; grant the single one that is needed"
	}
	return ""
}
