package tools

import (
	"context"
	"errors"
	"fmt"

	"codeagent/exec"
	"codeagent/sandbox"
)

// Lines returns the lines first to last, counted from 1, of a file that the user names, each with its
// number. The path may be relative to workspace. Of the file it reads what p allows.
func Lines(ctx context.Context, r *exec.Runner, files sandbox.FileSystem, p sandbox.Policy, workspace, path string, first, last int) (string, error) {
	if first < 1 || last < first || last-first >= readLines {
		return "", fmt.Errorf("there is no such range: write #20, or #20-45 for at most %d lines", readLines)
	}
	path, err := paths{files: files, workspace: workspace}.canonical(path)
	if err != nil {
		return "", err
	}
	if j := p.JudgeRead(path); !j.Allowed {
		return "", fmt.Errorf("the policy hides it (%s)", j.Rule)
	}
	worker, err := r.Files(ctx, p.OnlyRead(), nil)
	if err != nil {
		return "", err
	}
	defer worker.Close()
	v := view{first: first, limit: last - first + 1}
	switch err := v.read(worker, path); {
	case err != nil:
		return "", err
	case v.image != nil || v.binary != "":
		return "", errors.New("it is not a text file")
	case v.complete && v.line < last:
		return "", fmt.Errorf("it has only %d lines", v.line)
	}
	return v.text(), nil
}
