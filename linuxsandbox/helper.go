//go:build linux

package linuxsandbox

import (
	"fmt"

	"codeagent/linuxsandbox/keeper"
	"codeagent/linuxsandbox/program"
	"codeagent/linuxsandbox/spec"

	"golang.org/x/sys/unix"
)

// image is an open file: its descriptor, and its state when it was opened. That of the helper is a
// sealed copy, with the state of the original file.
type image struct {
	fd    int
	state spec.FileState
}

func (o Options) openHelper() (image, error) {
	img, err := program.Open(o.Helper, o.HelperSum)
	return image{img.FD, keeper.StateIn(&img.Stat)}, err
}

// openExecutable opens the file of the running program.
func openExecutable() (image, error) {
	fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return image{}, fmt.Errorf("open the running program: %w", err)
	}
	state, err := keeper.StateOf(fd)
	return image{fd, state}, err
}

// HelperMain runs when codeagent is started under the helper's name: it does what the helper does. args
// is os.Args; the result is the exit status.
func HelperMain(args []string) int { return keeper.Main(args) }
