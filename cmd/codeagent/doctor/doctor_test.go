package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/sandbox"
)

// TestDoctorOnMachines shows doctor's report for each kind of machine. The tests of the Linux
// sandbox record what is found there.
func TestDoctorOnMachines(t *testing.T) {
	files, err := filepath.Glob("../../../linuxsandbox/plan/testdata/machines/*.json")
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
		verdict := "sandbox: " + verdictOf(e, nil, 0) + "\n"
		describeLayers(&out, e)
		describeWeaknesses(&out, e)
		for line := range strings.Lines(out.String()) {
			if len([]rune(line))-1 > doctorColumns {
				t.Errorf("%s: a line of %d columns: %s", file, len(line), line)
			}
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		golden.Check(t, "doctor/"+name+".txt", verdict+out.String())
	}
}

// TestDoctorWithoutSandbox shows doctor's report for machines on which no command can run.
func TestDoctorWithoutSandbox(t *testing.T) {
	there := func(name string) sandbox.Layer {
		return sandbox.Layer{Name: name, State: sandbox.LayerActive, Reason: "the kernel has it; not tried"}
	}
	absent := func(name, why string) sandbox.Layer {
		return sandbox.Layer{Name: name, State: sandbox.LayerAbsent, Reason: why}
	}
	stage := func(stage, why string) error {
		return &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: stage, Err: errors.New(why)}
	}
	for name, m := range map[string]struct {
		layers []sandbox.Layer
		err    error
	}{
		"no-landlock":     {[]sandbox.Layer{absent("landlock", "the kernel has none, it was not switched on (lsm=landlock), or a container refuses its calls"), there("seccomp"), there("notify")}, stage("landlock", "the kernel has no Landlock")},
		"no-seccomp":      {[]sandbox.Layer{there("landlock"), absent("seccomp", "seccomp(2): function not implemented"), absent("notify", "seccomp(2): function not implemented")}, stage("seccomp", "function not implemented")},
		"no-helper":       {[]sandbox.Layer{there("landlock"), there("seccomp"), there("notify")}, stage("backend", "sandbox helper: open /usr/bin/linux-sandbox-helper: permission denied")},
		"required-layers": {[]sandbox.Layer{there("landlock"), there("seccomp"), absent("mountns", "clone: operation not permitted")}, stage("backend", "sandbox.required_layers: not active here: mountns")},
	} {
		var out bytes.Buffer
		out.WriteString("sandbox: " + verdictOf(sandbox.Enforcement{}, m.err, 0) + "\n")
		describeMissing(&out, m.layers, m.err)
		golden.Check(t, "doctor/"+name+".txt", out.String())
	}
}

// TestVerdict: doctor's first line is correct for every machine.
func TestVerdict(t *testing.T) {
	whole := sandbox.Enforcement{Backend: "linux"}
	open := sandbox.Enforcement{Backend: "linux", Weaknesses: []sandbox.Weakness{{ID: "a"}, {ID: "b"}}}
	plain := sandbox.Enforcement{Backend: "none", Weaknesses: []sandbox.Weakness{{ID: "unconfined"}}}
	for want, got := range map[string]string{
		"complete": verdictOf(whole, nil, 0),
		"works, but not all is enforced on this machine: a, b":            verdictOf(open, nil, 0),
		"does not hold: 2 of the guarantees tried failed":                 verdictOf(open, nil, 2),
		"off: commands run without one, and may do all that the user may": verdictOf(plain, nil, 0),
		"cannot run commands here: x":                                     verdictOf(whole, errors.New("x"), 0),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDoctorOnAppArmor: where AppArmor denies user namespaces, doctor prints a profile.
func TestDoctorOnAppArmor(t *testing.T) {
	dir := t.TempDir()
	without := []sandbox.Layer{{Name: "mountns", State: sandbox.LayerAbsent, Reason: "mount_setattr: permission denied"}}
	with := []sandbox.Layer{{Name: "mountns", State: sandbox.LayerActive}}
	for _, row := range []struct {
		value, program string
		layers         []sandbox.Layer
		golden         string
	}{
		{"1\n", "/usr/bin/codeagent", without, "apparmor.txt"},
		{"1\n", "/home/ada/{x}/codeagent", without, "apparmor-pattern.txt"},
		{"1\n", "/usr/bin/codeagent", with, ""},
		{"0\n", "/usr/bin/codeagent", without, ""},
		{"", "/usr/bin/codeagent", without, ""},
	} {
		file := filepath.Join(dir, "restricted")
		if err := os.WriteFile(file, []byte(row.value), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		describeAppArmor(t.Context(), &out, row.layers, file, row.program)
		if row.golden == "" {
			if out.Len() > 0 {
				t.Errorf("%q, %v: %s", row.value, row.layers, out.String())
			}
			continue
		}
		golden.Check(t, "doctor/"+row.golden, out.String())
	}
	var out bytes.Buffer
	if describeAppArmor(t.Context(), &out, without, filepath.Join(dir, "absent"), "/x"); out.Len() > 0 {
		t.Errorf("without AppArmor: %s", out.String())
	}
}
