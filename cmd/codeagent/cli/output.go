package cli

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"codeagent/hostfile"
)

// OutputFile is a file that a flag names; it is written when there is output.
type OutputFile struct {
	flag string
	file *hostfile.Replacement
}

// OpenOutput finds the folder of the file that flag names before any command of the run
// starts. It follows no link that an earlier command may have planted. It returns nil if no
// file is named.
func OpenOutput(g hostfile.Ground, flag, name string) (*OutputFile, error) {
	if name == "" {
		return nil, nil
	}
	file, err := Replace(g, name, 0o666)
	if err != nil {
		return nil, Usage(fmt.Errorf("%s: %w", flag, err))
	}
	return &OutputFile{flag, file}, nil
}

// Replace prepares to replace the file name. It follows no link that a command may have
// planted in ground g.
func Replace(g hostfile.Ground, name string, perm fs.FileMode) (*hostfile.Replacement, error) {
	name, err := filepath.Abs(name)
	if err == nil {
		name, err = g.Resolve("/", name)
	}
	if err != nil {
		return nil, err
	}
	return hostfile.Replace(name, perm)
}

// Write replaces the file with the output of write.
func (o *OutputFile) Write(write func(io.Writer) error) error {
	if err := o.file.Write(write); err != nil {
		return fmt.Errorf("%s: %w", o.flag, err)
	}
	return nil
}

// Close releases a file that was not written.
func (o *OutputFile) Close() {
	if o != nil {
		_ = o.file.Close() // only a folder was opened
	}
}
