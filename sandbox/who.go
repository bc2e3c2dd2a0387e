package sandbox

import "strconv"

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
	name := executable
	switch {
	case name != "":
	case program != "":
		name = program
	case process:
		name = Unexamined
	}
	if comm != "" {
		name += " (calls itself " + strconv.Quote(comm) + ")"
	}
	return name
}

// ProcessName is the kernel's name of the process: 15 bytes chosen by a script's name, the program
// or the process itself. No decision may depend on it.
func (d Denial) ProcessName() string { return processName(d.Program, d.Comm) }

// ProcessName is the same for an ancestor.
func (a Ancestor) ProcessName() string { return processName(a.Program, a.Comm) }

func processName(program, comm string) string {
	if comm != "" {
		return comm
	}
	return CommOf(program)
}

// CommOf is the name that the kernel gives a process when it starts a program called base: the
// first 15 bytes (TASK_COMM_LEN).
func CommOf(base string) string { return base[:min(len(base), 15)] }
