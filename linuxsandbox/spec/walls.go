//go:build linux

package spec

import "codeagent/linuxsandbox/kernel"

// Walls say what another program has mounted before it started the keeper, as process 1 of a PID namespace
// unless they are Shared.
// The keeper mounts nothing then and needs neither Landlock nor a broker; it tests the walls before the command starts.
type Walls struct {
	// Shown are files and folders of the host at the paths at which the command sees them.
	Shown []Place
	// Writable and below them everything may be writable; every other mount must be read-only, and ReadOnly below them.
	Writable, ReadOnly []string
	// Follows: mounts that the host makes later may appear here too, as the weakness "later-mounts" states. Else the keeper
	// makes its mounts its own.
	Follows bool
	// Shared: the keeper is one of several in a container. Landlock and the broker confine its command, Writable is empty,
	// and the keeper is not process 1.
	Shared bool
}

// Container is what the first process of a container says of it: the variables of its image, and the limits of its control
// group in the kernel's words. codeagent sends one back with the variables of each keeper.
type Container struct {
	Env                []string
	Memory, CPU, Tasks string
}

// Place is a file or folder and where it must be.
type Place struct {
	Path     string
	Dev, Ino uint64
}

// PlaceOf is what is at source now, where no link may be on the way, shown at path.
func PlaceOf(source, path string) (Place, error) {
	st, err := kernel.StatPath(source)
	return Place{Path: path, Dev: st.Dev, Ino: st.Ino}, err
}
