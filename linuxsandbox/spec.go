//go:build linux

package linuxsandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
)

// SpecVersion is the version of Spec. Both halves come from one build, and a
// helper of another version refuses to run anything.
const SpecVersion = 1

// maxSpec bounds the JSON of a Spec, command line and environment included.
const maxSpec = 1 << 20

// Spec is the order the keeper carries out: what codeagent decided, in the terms
// of the kernel. It goes over the control socket as one JSON object. An unknown
// version or field is refused (stage "spec"), and the command does not run.
type Spec struct {
	// Version is SpecVersion, always.
	Version int `json:"version"`
	// Rules are all that Landlock opens; what no rule names stays shut.
	Rules []Rule `json:"rules"`
	// Unreadable are exact deny-read paths; the self-test tries to open each.
	Unreadable []string `json:"unreadable,omitempty"`
	// Network lets INET sockets pass the filter, and Landlock handles no right of
	// theirs: the policy grants the host's own network, or the keeper is not in it.
	Network bool `json:"network,omitempty"`
	// HostNet is the cookie of the network namespace that codeagent itself is in,
	// where the keeper must be in another one.
	HostNet uint64 `json:"host_net,omitempty"`
	// Ask and PathSockets put a listener on the filter, which goes to
	// codeagent's broker with "ready": the first for changes of files, the
	// second for AF_UNIX sockets with a path, which are shut without it.
	Ask         bool `json:"ask,omitempty"`
	PathSockets bool `json:"path_sockets,omitempty"`
	// Locks goes with Ask: the broker makes flock(2) too.
	Locks bool `json:"locks,omitempty"`
	// KeepFileCaps keeps DAC_OVERRIDE, FOWNER and CHOWN: for root in a workspace
	// that is another user's.
	KeepFileCaps bool `json:"keep_file_caps,omitempty"`
	// Limits become resource limits of the command; wall time and output are the
	// exec layer's business.
	Limits sandbox.Limits `json:"limits,omitzero"`
	// Group is the descriptor by which the command joins its control group, or 0.
	Group int `json:"group,omitempty"`
	// Own are codeagent's binaries that lie where the command may write, for the
	// keeper to restore when codeagent is gone by the time the command ends.
	Own []ownFile `json:"own,omitempty"`
	// Mounts are set where the keeper has mount and IPC namespaces of its own, and
	// a PID namespace unless it keeps the host's /proc.
	Mounts *mountPlan `json:"mounts,omitempty"`
	// Probe asks for everything up to the self-test and no command.
	Probe bool `json:"probe,omitempty"`
	// Command is what to start; unset with Probe.
	Command specCommand `json:"command,omitzero"`

	// proc is the descriptor of a /proc that is writable until Landlock comes;
	// the keeper sets it where there are Mounts.
	proc int
	// lastFD is what closeOnExec returned.
	lastFD int
}

// Rule opens one file or one directory with everything below it.
type Rule struct {
	Path   string `json:"path"`
	Access Access `json:"access"`
	// Optional rules are left out when the path is missing or out of reach, and
	// optional read rules when it is a symbolic link (/bin on most systems): what
	// the link leads to must have a rule of its own.
	Optional bool `json:"optional,omitempty"`
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
	// accessTerminals is AccessDevice for a whole folder, of terminals that the
	// keeper itself mounted there.
	accessTerminals Access = "terminals"
)

// specCommand is the command as it crosses the socket.
type specCommand struct {
	Path       text   `json:"path"`
	Args       []text `json:"args"`
	Env        []text `json:"env"`
	Dir        text   `json:"dir"`
	Foreground bool   `json:"foreground,omitempty"`
	Terminal   bool   `json:"terminal,omitempty"`
}

// text is a byte string. In JSON it is a string when it is valid UTF-8, else
// {"base64": "…"}: arguments and variables are bytes, and JSON would change them.
type text string

type encodedText struct {
	Base64 string `json:"base64"`
}

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(encodedText{base64.StdEncoding.EncodeToString([]byte(t))})
}

func encodeSpec(s Spec) ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if len(data) > maxSpec {
		return nil, fmt.Errorf("the command line, environment and policy take %d bytes together, more than %d", len(data), maxSpec)
	}
	return data, nil
}

func decodeSpec(data []byte) (*Spec, error) {
	if len(data) > maxSpec {
		return nil, fmt.Errorf("%d bytes are more than %d", len(data), maxSpec)
	}
	s, err := readSpec(data)
	if err != nil {
		return nil, err
	}
	if s.Version != SpecVersion {
		return nil, fmt.Errorf("version %d, want %d", s.Version, SpecVersion)
	}
	return s, s.validate()
}

// keptCaps are the capabilities that the command has.
func (s *Spec) keptCaps() uint64 {
	if s.KeepFileCaps {
		return kernel.FileCaps
	}
	return 0
}

// validate refuses what the parent half never writes.
func (s *Spec) validate() error {
	for _, r := range s.Rules {
		switch r.Access {
		case AccessList, AccessRead, AccessDevice:
		case AccessWrite:
			if why := neverWritable(r.Path); why != "" {
				return fmt.Errorf("write rule for %q: %s", r.Path, why)
			}
		default:
			return fmt.Errorf("rule for %q: unknown access %q", r.Path, r.Access)
		}
	}
	if s.Mounts != nil {
		for _, path := range s.Mounts.Writable {
			if why := neverWritable(path); why != "" {
				return fmt.Errorf("writable mount of %q: %s", path, why)
			}
		}
	}
	c := s.Command
	if !s.Probe && (c.Path == "" || len(c.Args) == 0 || c.Dir == "") {
		return errors.New("no command")
	}
	for _, list := range [][]text{{c.Path, c.Dir}, c.Args, c.Env} {
		for _, t := range list {
			if bytes.IndexByte([]byte(t), 0) >= 0 {
				return errors.New("the command contains a NUL byte")
			}
		}
	}
	return nil
}
