package main

import (
	"bytes"
	"strings"
	"testing"

	"codeagent/internal/machine"
)

func TestVerdict(t *testing.T) {
	const pass = `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p"}` + "\n"
	const skip = `{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:1: node is not installed\n"}` + "\n" +
		`{"Action":"skip","Package":"p","Test":"TestB"}` + "\n"
	body := strings.ReplaceAll(skip, "node is not installed", "body of TestA")
	impossible := strings.ReplaceAll(skip, "node is not installed", machine.NotPossible+"flying: no wings")
	turn := strings.ReplaceAll(skip, "node is not installed", machine.Sampled+"one run of 5")
	said := func(line string) string {
		return `{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:1: ` + line + `\n"}` + "\n"
	}
	tests := []struct {
		name, in string
		ci       bool
		want     int
		says     string
	}{
		{"pass", pass, true, 0, "1 passed, 0 failed, 0 skipped"},
		{"skip at home", pass + skip, false, 0, "SKIP p TestB: b_test.go:1: node is not installed"},
		{"skip in CI", pass + skip, true, 1, "in CI a skip is a failure"},
		{"body of a test that passed", pass + body, true, 0, "1 passed, 0 failed, 0 skipped"},
		{"body of a test that did not run", pass + strings.ReplaceAll(body, "TestA", "TestZ"), true, 1, "SKIP p TestB: its work is done by p TestZ, which did not pass"},
		{"not possible here, in CI", pass + impossible, true, 0, machine.NotPossible + "flying: no wings (p TestB)\n1 passed, 0 failed, 0 skipped"},
		{"a row that is not possible here, in CI", said(machine.NotPossible+"a row: no way") + `{"Action":"pass","Package":"p","Test":"TestB"}`, true, 0, machine.NotPossible + "a row: no way (p TestB)\n1 passed"},
		{"a row in a setting", said("root:") + said("        c_test.go:3: "+machine.NotPossible+"a row: no way") + `{"Action":"pass","Package":"p","Test":"TestB"}`, true, 0, machine.NotPossible + "a row: no way (p TestB)"},
		{"skipped beside a row that is not possible", pass + said(machine.NotPossible+"a row: no way") + skip, true, 1, "in CI a skip is a failure"},
		{"skipped in words like those of a trial", pass + strings.ReplaceAll(skip, "node is", "not possible: node is"), true, 1, "in CI a skip is a failure"},
		{"another turn, in CI", pass + turn, true, 0, "another turn: p TestB: b_test.go:1: a sample: one run of 5\n1 passed, 0 failed, 0 skipped, 1 for another turn"},
		{"nothing but another turn", turn, true, 1, "no test ran"},
		{"not tried in a setting", `{"Action":"output","Package":"p","Test":"TestA/root","Output":"    a_test.go:1: not tried in root: no network: TestN\n"}` + "\n" +
			`{"Action":"pass","Package":"p","Test":"TestA/root"}`, true, 0, "p TestA/root: not tried in root: no network: TestN"},
		{"a package that tries some of its tests", `{"Action":"output","Package":"p","Output":"a sample: every 5. test from 2 on; for another turn: TestB TestZ\n"}` + "\n" + pass + strings.ReplaceAll(body, "TestA", "TestZ"),
			true, 0, "p: a sample: every 5. test from 2 on\nok   p 0.0s\n1 passed, 0 failed, 0 skipped, 2 for another turn"},
		{"fail", pass + `{"Action":"output","Package":"p","Test":"TestC","Output":"boom\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestC"}`, false, 1, "boom"},
		{"a row that fails in a process of its own", said("        === RUN   TestB/fine") + said("        log") + said("        === RUN   TestB/bad") + said("        reason") + said("        === RUN   TestB/late") +
			said("        --- FAIL: TestBody (1s)") + said("        --- FAIL: TestB/bad (1s)") + `{"Action":"fail","Package":"p","Test":"TestB"}`,
			false, 1, "FAIL p TestB TestBody TestB/bad\n    b_test.go:1:         === RUN   TestB/bad\n    b_test.go:1:         reason\n    b_test.go:1:"},
		{"failures are said at the end too", pass + `{"Action":"fail","Package":"p","Test":"TestC"}`, false, 1, "failed: p TestC\n1 passed, 1 failed"},
		{"build failure", pass + `{"Action":"build-output","ImportPath":"q","Output":"q.go:1: syntax\n"}` + "\n" + `{"Action":"build-fail","ImportPath":"q"}`, false, 1, "q.go:1: syntax"},
		{"package failure without a test", pass + `{"Action":"fail","Package":"q"}`, false, 1, "FAIL q"},
		{"slow", `{"Action":"pass","Package":"p","Test":"TestD/part","Elapsed":21}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestD","Elapsed":25.2}`, true, 0, "slow p TestD 25s\n2 passed"},
		{"nothing ran", "", false, 1, "no test ran"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			s := newSummary(&out)
			if err := s.read(strings.NewReader(tt.in)); err != nil {
				t.Fatal(err)
			}
			if got := s.finish(tt.ci); got != tt.want {
				t.Errorf("exit %d, want %d\n%s", got, tt.want, out.String())
			}
			if !strings.Contains(out.String(), tt.says) {
				t.Errorf("output does not say %q:\n%s", tt.says, out.String())
			}
		})
	}
}

// TestRun: the tests get the pace of the machine, and a run that fails without a failed test is not
// taken for a good one.
func TestRun(t *testing.T) {
	t.Setenv("CODEAGENT_TEST_PACE", "5.0/3")
	var out bytes.Buffer
	s := newSummary(&out)
	script := `echo "pace $CODEAGENT_TEST_PACE"; echo '{"Action":"pass","Package":"p","Test":"TestA"}'; exit 2`
	ended, err := s.run([]string{"sh", "-c", script})
	if err != nil || ended == nil || !strings.Contains(out.String(), "pace 5.0/3\n") || s.passed != 1 {
		t.Errorf("ended with %v, %v\n%s", ended, err, out.String())
	}
	if _, err := s.run(nil); err == nil {
		t.Error("no command is accepted")
	}
}
