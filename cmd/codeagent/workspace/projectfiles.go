package workspace

import (
	"context"
	"fmt"

	"codeagent/exec/worker"
	"codeagent/sandbox"
)

// ProjectFiles reads files that come with a project, inside the sandbox: such a file may be a link to
// anything. It reads what Policy allows, what lies in Root, and what no other user owns.
type ProjectFiles struct {
	ws     *Workspace
	ctx    context.Context // bounds the reading
	policy sandbox.Policy
	root   string
	files  *worker.Client // nil until the first file
}

// ProjectFiles returns the reader of the files in root, for commands under p.
func (ws *Workspace) ProjectFiles(ctx context.Context, p sandbox.Policy, root string) *ProjectFiles {
	return &ProjectFiles{ws: ws, ctx: ctx, policy: p, root: root}
}

// Read reads the start of a file.
func (f *ProjectFiles) Read(place string, most int64) ([]byte, error) {
	file, err := f.ws.follow("/", place)
	if err == nil && !sandbox.Covers(f.root, file) {
		err = fmt.Errorf("it leads out of the project, to %s", file)
	}
	if err == nil {
		_, err = TrustedFile(file, f.ws.Folder)
	}
	if err == nil {
		err = MayRead(f.policy, file)
	}
	if err == nil && f.files == nil {
		f.files, err = f.ws.Runner.Files(f.ctx, f.policy.OnlyRead(), nil)
	}
	if err != nil {
		return nil, err
	}
	data, _, err := f.files.ReadFile(file, 0, most)
	return data, err
}

// Close ends the reading.
func (f *ProjectFiles) Close() {
	if f.files != nil {
		_ = f.files.Close() // it only reads
	}
}

// MayRead returns an error if p does not allow to read a file.
func MayRead(p sandbox.Policy, file string) error {
	if j := p.JudgeRead(file); !j.Allowed {
		return fmt.Errorf("the sandbox does not allow to read %s (%s)", file, j.Rule)
	}
	return nil
}
