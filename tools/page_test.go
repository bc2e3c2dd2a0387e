package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/tools"
)

// TestToolsAreListed: the page names each tool that can be disabled.
func TestToolsAreListed(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	_, row, found := strings.Cut(text, "`tools.NAME.enabled`")
	row, _, _ = strings.Cut(row, "\n")
	names := tools.All(tools.Options{Workspace: t.TempDir()}).Names()
	if !found || len(names) < 8 {
		t.Fatalf("no such setting, or only the tools %q", names)
	}
	for _, name := range names {
		if !strings.Contains(row, "`"+name+"`") {
			t.Errorf("%s is not named in %q", name, row)
		}
	}
}
