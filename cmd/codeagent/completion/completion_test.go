package completion

import (
	"slices"
	"testing"

	"codeagent/cmd/codeagent/cli"

	"github.com/spf13/cobra"
)

// TestAdd: an argument that names one thing is offered once, and a flag offers what the settings take.
func TestAdd(t *testing.T) {
	s := cli.Stdio{Environ: []string{"HOME=" + t.TempDir()}}
	root := &cobra.Command{Use: "codeagent"}
	root.PersistentFlags().String("sandbox", "", "")
	undo := &cobra.Command{Use: "undo", Run: func(*cobra.Command, []string) {}}
	other := &cobra.Command{Use: "other", Run: undo.Run}
	root.AddCommand(undo, other)
	Add(root, s, &cli.Flags{})
	if undo.ValidArgsFunction == nil || other.ValidArgsFunction != nil {
		t.Error("sessions are offered to undo, and to no command that takes none")
	}
	if got, how := undo.ValidArgsFunction(undo, []string{"a session"}, ""); got != nil || how != noFile {
		t.Errorf("after the one argument: %q, %v", got, how)
	}
	offer, ok := root.GetFlagCompletionFunc("sandbox")
	if !ok {
		t.Fatal("--sandbox offers nothing")
	}
	got, _ := offer(root, nil, "")
	for _, mode := range []string{"read-only", "workspace-write", "danger-full-access"} {
		if !slices.Contains(got, mode) {
			t.Errorf("%q lacks %s", got, mode)
		}
	}
}

// TestLines: a name from a file cannot move the cursor.
func TestLines(t *testing.T) {
	if got := lines([]string{"gpt\x1b[2J", "b"}); len(got) != 2 || got[1] != "b" || slices.Contains([]byte(got[0]), 0x1b) {
		t.Errorf("%q", got)
	}
}
