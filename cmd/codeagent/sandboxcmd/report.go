package sandboxcmd

import (
	"fmt"
	"io"
	"slices"
	"time"

	"codeagent/approvals/plain"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// Report is the JSON of `codeagent sandbox --report`, version 1.
type Report struct {
	Version    int                   `json:"version"`
	ExitCode   int                   `json:"exit_code"`
	Signal     string                `json:"signal"` // "SIGKILL", or "" when the command exited
	TimedOut   bool                  `json:"timed_out"`
	Limit      sandbox.Limit         `json:"limit,omitempty"` // the limit it reached
	DurationMS int64                 `json:"duration_ms"`
	Sandbox    enforcement           `json:"sandbox"`
	Denied     bool                  `json:"denied"`
	Confidence sandbox.Confidence    `json:"confidence"`
	Evidence   sandbox.EvidenceLevel `json:"evidence"`
	Denials    []sandbox.Denial      `json:"denials"`
	Suggest    sandbox.Grant         `json:"suggest"`
	// Connections are those to hosts.
	Connections sandbox.Connections `json:"connections,omitzero"`
}

// enforcement is what the backend enforced for the command; Layers are the active ones.
type enforcement struct {
	Backend     string             `json:"backend"`
	LandlockABI int                `json:"landlock_abi"`
	Layers      []string           `json:"layers"`
	Weaknesses  []sandbox.Weakness `json:"weaknesses"`
}

func newReport(e sandbox.Enforcement, o exec.Outcome) Report {
	r := Report{
		Version: 1, ExitCode: exitStatus(o), Signal: o.SignalName(), TimedOut: o.TimedOut, Limit: o.Limit,
		DurationMS: o.Duration.Milliseconds(),
		Sandbox:    enforcement{e.Backend, e.LandlockABI, e.Active(), e.Weaknesses},
		Denied:     o.Verdict.Denied, Confidence: o.Verdict.Confidence, Evidence: o.Verdict.Evidence,
		Denials: o.Verdict.Denials, Connections: o.Verdict.Connections, Suggest: o.Verdict.Suggest,
	}
	if r.Sandbox.Weaknesses == nil {
		r.Sandbox.Weaknesses = []sandbox.Weakness{}
	}
	if r.Denials == nil {
		r.Denials = []sandbox.Denial{}
	}
	return r
}

// summarize prints on stderr, for a person, what the sandbox denied, and flags that allow it, or what left
// says about why none does. It prints nothing for a command without a denial.
func (r Report) summarize(w io.Writer, flags []config.Flag, left []string) {
	for _, l := range plain.Denials(r.Denials) {
		fmt.Fprintf(w, "codeagent: ⊘ %s\n", visible.Log(visible.Line(l)))
	}
	if r.TimedOut {
		fmt.Fprintf(w, "codeagent: wall limit reached after %s; the command and all it started were ended\n", time.Duration(r.DurationMS)*time.Millisecond)
	}
	if r.Limit != "" && !r.TimedOut {
		fmt.Fprintf(w, "codeagent: %s\n", r.Limit.Words())
	}
	if !r.Denied {
		return
	}
	for _, f := range flags {
		note := ""
		if h, err := sandbox.ParseHostPort(f.Values[0]); err == nil && slices.Contains(r.Suggest.Hosts, sandbox.HostPort{Host: h.Host}) {
			note = " (only the name was looked up: check the port)"
		}
		hint(w, f.Name, f.Values[0], note)
	}
	for _, one := range left {
		fmt.Fprintf(w, "  no flag allows %s\n", visible.Log(visible.Line(one)))
	}
}

// hint prints a flag to paste. The command chose the name, so it is quoted as one word of the
// shell. For a name that cannot be shown unchanged it prints no flag, since the shown one
// would name something else.
func hint(w io.Writer, flag, name, note string) {
	if shown := visible.Log(visible.Line(name)); shown != name {
		fmt.Fprintf(w, "  no flag can name this: it has characters that cannot be shown: %s\n", shown)
		return
	}
	fmt.Fprintf(w, "  to allow it: %s %s%s\n", flag, short.ShellWord(name), note)
}

func exitStatus(o exec.Outcome) int {
	if status := o.ExitStatus(); status != 0 || len(o.Verdict.Unwritten()) == 0 {
		return status
	}
	return cli.ExitRefused
}
