package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	const pass = `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p"}` + "\n"
	const skip = `{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:1: node is not installed\n"}` + "\n" +
		`{"Action":"skip","Package":"p","Test":"TestB"}` + "\n"
	body := strings.ReplaceAll(skip, "node is not installed", "body of TestA")
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
		{"not tried in a setting", `{"Action":"output","Package":"p","Test":"TestA/root","Output":"    a_test.go:1: not tried in root: no network: TestN\n"}` + "\n" +
			`{"Action":"pass","Package":"p","Test":"TestA/root"}`, true, 0, "p TestA/root: not tried in root: no network: TestN"},
		{"fail", pass + `{"Action":"output","Package":"p","Test":"TestC","Output":"boom\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestC"}`, false, 1, "boom"},
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
