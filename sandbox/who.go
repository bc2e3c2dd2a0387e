package sandbox

import "strconv"

// Unexamined stands for a program whose executable the kernel does not show:
// one that runs from a file it may not read, or that has ended.
const Unexamined = "a program that cannot be examined"

// Who says which program was refused: its executable, as the kernel has it. The
// name that the process gave itself is quoted, and said to be just that. It is
// empty when nothing is known.
func (d Denial) Who() string {
	return who(d.Program, d.Executable, d.Comm, d.Evidence == EvidenceKernel && d.PID != 0)
}

// Who is that of Denial, for an ancestor.
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

// ProcessName is what the kernel calls the process of a denial: 15 bytes that a
// script's name, the program or the process itself chose. It is no fact to decide by.
func (d Denial) ProcessName() string { return processName(d.Program, d.Comm) }

// ProcessName is that of Denial, for an ancestor.
func (a Ancestor) ProcessName() string { return processName(a.Program, a.Comm) }

func processName(program, comm string) string {
	if comm != "" {
		return comm
	}
	return CommOf(program)
}

// CommOf is the name that the kernel gives a process at the start of a program
// called base: its first 15 bytes (TASK_COMM_LEN).
func CommOf(base string) string { return base[:min(len(base), 15)] }
