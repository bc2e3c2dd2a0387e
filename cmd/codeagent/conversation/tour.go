package conversation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/internal/short"
	"codeagent/model/tour"
	"codeagent/sandbox"
)

// outsideName is the file that the tour tries to write outside the workspace.
const outsideName = "codeagent-tour-outside.txt"

// startTour starts the built-in tour in this workspace. The file outside is in the home
// folder, or else in the system's folder for temporary files: the first where commands may
// not write. A file that has been granted by its own name is kept.
func startTour(ctx context.Context, b *workspace.Workspace, attended bool) (*tour.Tour, error) {
	outside := filepath.Join(os.TempDir(), outsideName)
	if home := b.Stdio.Env("HOME"); home != "" && !b.Policy.JudgeWrite(home).Allowed {
		outside = filepath.Join(home, outsideName)
	}
	if folder, err := sandbox.Canonical(b.Files, "/", filepath.Dir(outside)); err == nil {
		outside = filepath.Join(folder, outsideName)
	}
	o := tour.Options{Workspace: b.Folder, Outside: outside, Attended: attended}
	if attended {
		o.NotHeld = b.NetworkNotHeld()
	}
	return tour.Start(ctx, o)
}

// ReportTourFiles names the files that the tour left.
func (ses *Session) ReportTourFiles() {
	made := ses.Tour.Made()
	if len(made) == 0 {
		return
	}
	words := make([]string, len(made))
	for i, name := range made {
		words[i] = short.ShellWord(name)
	}
	fmt.Fprintf(ses.Workspace.Stdio.Err, "the tour made: %s\n  to remove: rm %s\n", strings.Join(made, ", "), strings.Join(words, " "))
}
