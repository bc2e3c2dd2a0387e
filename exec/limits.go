package exec

import (
	"slices"
	"strings"

	"codeagent/sandbox"
)

// Reached returns the limit that o reached under l, or "" if no limit is known to be
// reached. It checks in this order: what the supervisor did, what the backend counted, how
// the command ended, what it printed. Printed words count only for a limit that is set and
// a command that failed.
func Reached(l sandbox.Limits, o Outcome) sandbox.Limit {
	switch {
	case o.Interrupted:
		return ""
	case o.TimedOut:
		return sandbox.LimitWall
	case o.Status.Limit != "":
		return o.Status.Limit
	}
	if limit := byEnd(l, o.Status); limit != "" {
		return limit
	}
	if o.Failed() {
		if limit := byWords(l, string(o.Output.end())); limit != "" {
			return limit
		}
	}
	if o.Output.Spill != "" && o.Output.Spilled < o.Output.Total && !o.Output.Disk {
		return sandbox.LimitOutput
	}
	return ""
}

// Signals of the limits, with the same numbers on Linux and macOS. A shell whose child
// was ended by one exits with 128 plus the number.
const (
	sigXCPU = 24
	sigXFSZ = 25
)

func byEnd(l sandbox.Limits, st sandbox.Status) sandbox.Limit {
	ended := func(signal int) bool { return st.Signal == signal || st.Exit == 128+signal }
	switch {
	case l.CPUSeconds > 0 && ended(sigXCPU):
		return sandbox.LimitCPU
	case l.FileSize > 0 && ended(sigXFSZ):
		return sandbox.LimitFileSize
	}
	return ""
}

// limitWords are the C library's messages for the errno of each limit, and messages of
// programs that print their own. They are searched for in the last lines.
var limitWords = []struct {
	limit sandbox.Limit
	set   func(sandbox.Limits) int64
	words []string
}{
	{sandbox.LimitCPU, func(l sandbox.Limits) int64 { return l.CPUSeconds }, []string{"CPU time limit exceeded"}},
	{sandbox.LimitFileSize, func(l sandbox.Limits) int64 { return l.FileSize }, []string{"File size limit exceeded", "File too large", "file too large"}},
	{sandbox.LimitMemory, func(l sandbox.Limits) int64 { return l.Memory }, []string{
		"Cannot allocate memory", "cannot allocate memory", "MemoryError", "out of memory", "Out of memory", "std::bad_alloc",
		"memory exhausted", "failed to reserve", "OutOfMemoryError",
	}},
	{sandbox.LimitProcesses, func(l sandbox.Limits) int64 { return l.Processes }, []string{
		"Resource temporarily unavailable", "resource temporarily unavailable", "can't start new thread", "failed to create new OS thread",
	}},
	{sandbox.LimitOpenFiles, func(l sandbox.Limits) int64 { return l.OpenFiles }, []string{"Too many open files", "too many open files", "EMFILE"}},
}

func byWords(l sandbox.Limits, text string) sandbox.Limit {
	for _, w := range limitWords {
		said := func(word string) bool { return strings.Contains(text, word) }
		if w.set(l) > 0 && slices.ContainsFunc(w.words, said) {
			return w.limit
		}
	}
	return ""
}
