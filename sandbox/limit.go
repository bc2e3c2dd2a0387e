package sandbox

// Limit names a limit of Limits that a command reached. It is never a denial: only a higher limit
// helps, and no grant does.
type Limit string

const (
	LimitWall      Limit = "wall"
	LimitCPU       Limit = "cpu"
	LimitMemory    Limit = "memory"
	LimitProcesses Limit = "processes"
	LimitOpenFiles Limit = "open-files"
	LimitFileSize  Limit = "file-size"
	// LimitOutput truncates the stored output; the command itself continues.
	LimitOutput Limit = "output"
)

// Words says what happened and which setting raises the limit.
func (l Limit) Words() string {
	switch l {
	case LimitWall:
		return "the wall limit ended it (sandbox.limits.wall_s)"
	case LimitCPU:
		return "the CPU time limit ended it (sandbox.limits.cpu_s)"
	case LimitMemory:
		return "it ran into the memory limit (sandbox.limits.memory_mb)"
	case LimitProcesses:
		return "it ran into the limit on processes (sandbox.limits.processes)"
	case LimitOpenFiles:
		return "it ran into the limit on open files (sandbox.limits.open_files)"
	case LimitFileSize:
		return "it ran into the limit on the size of a file (sandbox.limits.file_size_mb)"
	case LimitOutput:
		return "its output was longer than what is kept (sandbox.limits.output_mb)"
	}
	return ""
}
