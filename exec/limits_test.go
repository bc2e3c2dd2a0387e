package exec

import (
	"testing"

	"codeagent/sandbox"
)

func TestReached(t *testing.T) {
	all := sandbox.Limits{WallMillis: 1, CPUSeconds: 1, Memory: 1, Processes: 1, OpenFiles: 1, FileSize: 1, Output: 1}
	printed := func(text string) Output {
		return Output{Head: []byte(text), Total: int64(len(text))}
	}
	for _, c := range []struct {
		name    string
		limits  sandbox.Limits
		outcome Outcome
		want    sandbox.Limit
	}{
		{"fine", all, Outcome{}, ""},
		{"time was up", all, Outcome{TimedOut: true, Status: sandbox.Status{Signal: 9, Exit: -1}}, sandbox.LimitWall},
		{"an interrupt is not a limit", all, Outcome{Interrupted: true, Status: sandbox.Status{Signal: sigXCPU, Exit: -1}}, ""},
		{"the backend counted", all, Outcome{Status: sandbox.Status{Signal: 9, Exit: -1, Limit: sandbox.LimitMemory}}, sandbox.LimitMemory},
		{"SIGXCPU", all, Outcome{Status: sandbox.Status{Signal: sigXCPU, Exit: -1}}, sandbox.LimitCPU},
		{"SIGXCPU of a shell's child", all, Outcome{Status: sandbox.Status{Exit: 152}}, sandbox.LimitCPU},
		{"SIGXCPU without the limit", sandbox.Limits{}, Outcome{Status: sandbox.Status{Signal: sigXCPU, Exit: -1}}, ""},
		{"SIGXFSZ", all, Outcome{Status: sandbox.Status{Signal: sigXFSZ, Exit: -1}}, sandbox.LimitFileSize},
		{"EFBIG", all, Outcome{Status: sandbox.Status{Exit: 1}, Output: printed("dd: error writing 'x': File too large\n")}, sandbox.LimitFileSize},
		{"MemoryError", all, Outcome{Status: sandbox.Status{Exit: 1}, Output: printed("Traceback\nMemoryError\n")}, sandbox.LimitMemory},
		{"MemoryError without the limit", sandbox.Limits{CPUSeconds: 1}, Outcome{Status: sandbox.Status{Exit: 1}, Output: printed("MemoryError\n")}, ""},
		{"MemoryError, and yet well", all, Outcome{Output: printed("MemoryError\n")}, ""},
		{"fork", all, Outcome{Status: sandbox.Status{Exit: 254}, Output: printed("sh: 1: Cannot fork: Resource temporarily unavailable")}, sandbox.LimitProcesses},
		{"open files", all, Outcome{Status: sandbox.Status{Exit: 1}, Output: printed("OSError: [Errno 24] Too many open files")}, sandbox.LimitOpenFiles},
		{"spill cut", all, Outcome{Output: Output{Total: 9, Skipped: 5, Spill: "/s", Spilled: 4}}, sandbox.LimitOutput},
		{"spilled whole", all, Outcome{Output: Output{Total: 9, Skipped: 5, Spill: "/s", Spilled: 9}}, ""},
	} {
		if got := Reached(c.limits, c.outcome); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestEveryLimitHasWords(t *testing.T) {
	for _, l := range []sandbox.Limit{
		sandbox.LimitWall, sandbox.LimitCPU, sandbox.LimitMemory, sandbox.LimitProcesses,
		sandbox.LimitOpenFiles, sandbox.LimitFileSize, sandbox.LimitOutput,
	} {
		if l.Words() == "" {
			t.Errorf("no words for %q", l)
		}
	}
}

// TestLimitIsNoDenial: the same words mean a denial without the limit, and no denial if the
// limit ended the command.
func TestLimitIsNoDenial(t *testing.T) {
	p := sandbox.WorkspaceWrite("/ws")
	o := Outcome{
		Status: sandbox.Status{Exit: 1},
		Trace:  sandbox.Trace{Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Operation: "openat", Target: "/etc/hosts", Evidence: sandbox.EvidenceKernel}}},
	}
	if v := Judge(p, o, OS{}, "/ws"); !v.Denied {
		t.Errorf("without a limit: %+v", v)
	}
	o.Limit = sandbox.LimitMemory
	if v := Judge(p, o, OS{}, "/ws"); v.Denied || len(v.Denials) != 1 {
		t.Errorf("with a limit: %+v", v)
	}
}
