package sandboxcmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"

	"github.com/google/go-cmp/cmp"
)

// TestSandboxPage: the report on the page could come from the program.
func TestSandboxPage(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "sandbox.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```json\n(.*?)^```").FindAllStringSubmatch(string(data), -1)
	if len(blocks) != 1 {
		t.Fatalf("%d reports", len(blocks))
	}
	var r Report
	dec := json.NewDecoder(strings.NewReader(blocks[0][1]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := cli.PrintJSON(&out, r, "  "); err != nil {
		t.Fatal(err)
	}
	var have, want any
	if json.Unmarshal([]byte(blocks[0][1]), &have) != nil || json.Unmarshal(out.Bytes(), &want) != nil {
		t.Fatal("not JSON")
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("fields are missing on the page: %s", d)
	}
}
