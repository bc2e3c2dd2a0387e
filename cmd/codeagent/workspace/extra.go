package workspace

import (
	"fmt"
	"os"
	"path/filepath"

	"codeagent/cmd/codeagent/cli"
	"codeagent/hostfile"
)

// ExtraName is the file name of the side program, which links what is large. It lies beside codeagent.
const ExtraName = "codeagent-extra"

// Extra returns the command line of the side program, to which a command and its arguments are appended. The error
// says what to do where it is missing. It refuses to run for a codeagent of another build (125). No command can replace
// it (OwnPrograms).
func Extra(p cli.Process) (argv []string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	path := filepath.Join(filepath.Dir(exe), ExtraName)
	if info, err := hostfile.Seen(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is missing: install it beside codeagent, from the same build (make install)", path)
	}
	return []string{path, p.Version}, nil
}
