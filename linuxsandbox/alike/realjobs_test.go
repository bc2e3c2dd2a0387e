//go:build linux

package alike

import (
	"os"
	"slices"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
)

// Real jobs use what people install: services, package managers, debuggers, builders of documents.
// They run as an ordinary user, in every setting that applies. A run tries a quarter of them, also in
// CI, and another one each hour. CI=true with CODEAGENT_TEST_PACE=1/0, 1/1, 1/2 and 1/3 tries all.

var realJobs = slices.Concat(serviceJobs, packageJobs, toolJobs)

// TestRealJobs runs a quarter of the table in every setting.
func TestRealJobs(t *testing.T) {
	machine.Turn(t, 4)
	if os.Getuid() == 0 {
		tests.InSettings(t, "^TestRealJobsInSetting$")
	} else {
		runJobs(t, attack.ThisUser, realJobsNow(t), 0)
	}
}

// TestRealJobsInSetting is the body of TestRealJobs, in a process of the setting.
func TestRealJobsInSetting(t *testing.T) {
	s := attack.CurrentSetting(t, "TestRealJobs")
	if s.UID == 0 {
		t.Skip("these are the jobs of an ordinary user")
	}
	runJobs(t, s, realJobsNow(t), 0)
}

func realJobsNow(t *testing.T) (now []job) {
	t.Helper()
	rows := machine.SampleOf(t, 4, false)
	for i, j := range realJobs {
		if rows.Has(i) {
			now = append(now, j)
		}
	}
	return now
}

// TestRealJobsAreMany: there are as many as promised, and few fail. Each of these names an attack that
// is in a table: it would land if the kernel's rule were dropped.
func TestRealJobsAreMany(t *testing.T) {
	attacks := map[string]bool{}
	for _, a := range attack.All() {
		attacks[a.Name] = true
	}
	refused := 0
	for _, j := range realJobs {
		if j.rule == "" {
			continue
		}
		if refused++; !attacks[j.attack] {
			t.Errorf("%s names no attack of a table: %q", j.name, j.attack)
		}
	}
	if len(realJobs) < 60 || len(realJobs)-refused < 54 {
		t.Errorf("%d jobs, of which %d cannot pass: want 60, and 54 that pass", len(realJobs), refused)
	}
}
