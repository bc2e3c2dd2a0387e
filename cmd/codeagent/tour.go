package main

import (
	"context"
	"os"
	"path/filepath"

	"codeagent/model/tour"
	"codeagent/sandbox"
)

// outsideName is the file that the tour tries to write outside the workspace.
const outsideName = "codeagent-tour-outside.txt"

// startTour plays the built-in tour in this workspace. The file outside lies in
// the home folder, else in the system's folder for temporary files, whichever
// commands may not write; one that was opened by its own name stays the file.
func startTour(ctx context.Context, b *box, attended bool) (*tour.Tour, error) {
	outside := filepath.Join(os.TempDir(), outsideName)
	if home := b.s.Env("HOME"); home != "" && !b.policy.JudgeWrite(home).Allowed {
		outside = filepath.Join(home, outsideName)
	}
	if folder, err := sandbox.Canonical(b.files, "/", filepath.Dir(outside)); err == nil {
		outside = filepath.Join(folder, outsideName)
	}
	o := tour.Options{Workspace: b.workspace, Outside: outside, Path: b.s.Env("PATH"), Attended: attended}
	if attended {
		o.Held, o.NotHeld = b.notHeld() == "", b.networkNotHeld()
	}
	return tour.Start(ctx, o)
}
