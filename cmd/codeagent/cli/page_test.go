package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// TestExitStatuses: the page of exec names every exit status.
func TestExitStatuses(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "exec.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, status := range []int{ExitOK, ExitFailed, ExitUsage, ExitRefused, ExitSignIn, ExitFindings, ExitTimeLimit, sandbox.ExitCannotConfine, ExitHangup, ExitInterrupt, ExitTerminate} {
		if !strings.Contains(text, "\n| "+strconv.Itoa(status)+" | ") {
			t.Errorf("status %d is not in the table", status)
		}
	}
}
