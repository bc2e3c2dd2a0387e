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

// Version is the version of Spec. Both halves come from one build. A helper of another
// version refuses to run anything.
const Version = 2

// maxSpec bounds an encoded Spec, command line and environment included.
const maxSpec = 1 << 20

// Spec is the order that the keeper carries out: what codeagent decided, in the terms
// of the kernel. The keeper refuses another version, another field and a value that
// codeagent never sends (stage "spec"); the command does not run then.
type Spec struct {
	// Rules are all that Landlock opens; a path without a rule stays shut.
	Rules []Rule
	// Unreadable are exact deny-read paths; the self-test tries to open each.
	Unreadable []string
	// Network lets INET sockets pass the filter, and Landlock handles no right of
	// theirs: the policy grants the host's own network, or the keeper is not in it.
	Network bool
	// HostNet is the cookie of the network namespace that codeagent itself is in,
	// where the keeper must be in another one.
	HostNet uint64
	// Ask and PathSockets give the filter a listener, which goes to codeagent's broker
	// with FrameReady. Ask is for changes of files, PathSockets for AF_UNIX sockets
	// with a path, which are shut without it.
	Ask         bool
	PathSockets bool
	// Locks goes with Ask: the broker makes flock(2) too.
	Locks bool
	// KeepFileCaps keeps DAC_OVERRIDE, FOWNER and CHOWN: for root in a workspace
	// that is another user's.
	KeepFileCaps bool
	// Limits become resource limits of the command. Wall time and output are limited
	// by codeagent.
	Limits sandbox.Limits
	// Group is the descriptor by which the command joins its control group, or 0.
	Group int
	// Own are codeagent's binaries that lie where the command may write. The keeper
	// restores them if codeagent has ended before the command does.
	Own []OwnFile
	// Mounts are set where the keeper has mount and IPC namespaces of its own, and
	// a PID namespace unless it keeps the host's /proc.
	Mounts *Mounts
	// Probe asks for everything up to the self-test and no command.
	Probe bool
	// Command is what to start; unset with Probe.
	Command Command
}

// Rule opens one file, or one directory with everything below it.
type Rule struct {
	Path   string
	Access Access
	// Optional rules are left out when the path is missing or out of reach. Optional
	// read rules are also left out when it is a symbolic link, as /bin on most
	// systems: what the link leads to must have a rule of its own.
	Optional bool
}

// Failed is the error of a rule whose path could not be opened.
func (r Rule) Failed(err error) error {
	what := "read root"
	if r.Access == AccessWrite {
		what = "write root"
	}
	if errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("%s %s: a symbolic link stands in the way, which it did not when the policy was made", what, r.Path)
	}
	return fmt.Errorf("%s %s: %w", what, r.Path, err)
}

// Access is what a Rule permits.
type Access string

const (
	// AccessList reads directories, not files.
	AccessList Access = "list"
	// AccessRead reads and executes.
	AccessRead Access = "read"
	// AccessWrite is AccessRead and every change but making device nodes. With
	// Spec.Ask it is AccessRead for a folder: the broker makes every change there.
	AccessWrite Access = "write"
	// AccessDevice reads, writes and controls one device node.
	AccessDevice Access = "device"
)

// Command is what the keeper starts.
type Command struct {
	// Path is a path, a name to look for in the PATH of Env, or sandbox.FileWorker.
	Path string
	Args []string
	Env  []string
	Dir  string
	// Foreground leaves the command in codeagent's session, with its terminal.
	Foreground bool
	// Terminal makes file 0 the controlling terminal of the command's own session.
	Terminal bool
}

// Encode is s as it crosses the control socket: the version, then the fields.
func (s *Spec) Encode() ([]byte, error) {
	data := append(binary.BigEndian.AppendUint64(nil, Version), Encode(*s)...)
	if len(data) > maxSpec {
		return nil, fmt.Errorf("the command line, environment and policy take %d bytes together, more than %d", len(data), maxSpec)
	}
	return data, nil
}

// DecodeSpec reads what Spec.Encode wrote and refuses anything else.
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

// FileCaps are what root may keep to work in another user's workspace.
const FileCaps = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_CHOWN

// KeptCaps are the capabilities that the command has.
func (s *Spec) KeptCaps() uint64 {
	if s.KeepFileCaps {
		return FileCaps
	}
	return 0
}

// Validate refuses what codeagent never sends.
func (s *Spec) Validate() error {
	for _, r := range s.Rules {
		switch r.Access {
		case AccessList, AccessRead, AccessDevice:
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

// NeverWritable says why no policy opens path for writing, or "".
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
