package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/sandbox"
)

// TestDoctorOnMachines shows doctor's words about each kind of machine. What is
// found there is written down by the Linux sandbox's own tests.
func TestDoctorOnMachines(t *testing.T) {
	files, err := filepath.Glob("../../linuxsandbox/testdata/machines/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no machines: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var e sandbox.Enforcement
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		describeLayers(&out, e)
		describeWeaknesses(&out, e)
		for line := range strings.Lines(out.String()) {
			if len([]rune(line))-1 > doctorColumns {
				t.Errorf("%s: a line of %d columns: %s", file, len(line), line)
			}
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		golden.Check(t, "doctor/"+name+".txt", out.String())
	}
}
