//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/plan"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// setting is a kind of machine on which the sandbox must work.
type setting struct {
	name, surroundings string
	uid                int
	// race: the tests here run with the race detector, if there is one.
	race bool
	// slowJobs: the slow jobs run here.
	slowJobs bool
}

func settingOf(s attack.Setting) setting {
	return setting{name: s.Name, surroundings: s.Surroundings, uid: s.UID, race: s.Name == "user", slowJobs: s.Name == "root" || s.Name == "user, no namespaces"}
}

// envStage is a folder that its user may write.
const envStage = attack.EnvStage

// races reports whether to run races: in one setting, and under CI in all.
func (s setting) races() bool { return s.name == "user" || machine.Thorough() }

// TestEscapes runs the table of escapes in every setting.
func TestEscapes(t *testing.T) { runSettings(t, "^TestEscapesInSetting$", true, len(attack.Settings)) }

// perTurn is in how many settings a test runs in one turn of CI.
const perTurn = 2

// inSettings runs tests of this binary in the settings of its turn. A user other than root has only one.
func inSettings(t *testing.T, pattern string) { runSettings(t, pattern, true, perTurn) }

// inEachSetting does so one after the other: these tests affect all processes of their user.
func inEachSetting(t *testing.T, pattern string) { runSettings(t, pattern, false, perTurn) }

func runSettings(t *testing.T, pattern string, together bool, most int) {
	t.Helper()
	attack.InSettings(t, together, most, func(t *testing.T, s attack.Setting) *exec.Cmd { return commandIn(t, s, pattern) })
}

// commandIn runs this test binary again, in the setting.
func commandIn(t *testing.T, s attack.Setting, pattern string) *exec.Cmd {
	t.Helper()
	dir := attack.Stage(t, s.UID)
	binary := filepath.Join(dir, "tests")
	from := "/proc/self/exe"
	if !settingOf(s).race {
		from = plainTests(t)
	}
	attack.CopyFile(t, from, binary)
	helper := filepath.Join(dir, HelperName)
	attack.CopyFile(t, realHelper(t), helper)
	id, err := lookIn(jobPath, "id")
	if err != nil {
		t.Fatal(err)
	}
	setUID := filepath.Join(dir, "id")
	attack.CopyFile(t, id, setUID)
	if err := errors.Join(os.Chown(setUID, strangerUID, strangerUID), os.Chmod(setUID, os.ModeSetuid|0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := s.Command(t, dir, binary, pattern)
	cmd.Env = append(cmd.Env, helperVariable+"="+helper, sandboxtest.NoPause, "HOST_SECRET="+hostSecret)
	return cmd
}

// TestEscapesAreMany: there are as many attempts as promised, before multiplying by users and
// settings, and none is counted twice.
func TestEscapesAreMany(t *testing.T) {
	const promised = 120
	names := map[string]bool{}
	for _, a := range escapes() {
		if names[a.name] || a.escape == "" || a.protects == "" {
			t.Errorf("row %q: want a name of its own, an escape and what it protects", a.name)
		}
		names[a.name] = true
	}
	t.Logf("%d distinct attempts at files, processes and the network, %d at the kernel", len(names), len(attack.All()))
	if len(names) < promised {
		t.Errorf("%d distinct attempts, want at least %d", len(names), promised)
	}
}

// TestEscapesInSetting is the body of TestEscapes, in a process of the setting.
func TestEscapesInSetting(t *testing.T) {
	s := currentSetting(t, "TestEscapes")
	h := newHost(t)
	table, works := escapes(), worksHere(t)
	var first scene
	h.listen(&first)
	first.Host, first.Millis, first.SetUID = os.Getpid(), 100, setUIDProgram()
	if machine.Thorough() {
		first.Millis = 2000
	}
	skip := func(a attempt) bool {
		return a.race && !s.races() || a.impossible(s) != "" || !works(a)
	}
	free, boxed := first, first
	free.Millis = 600_000 // a race ends when it is won
	free.Base, boxed.Base = h.base+"/bare", h.base+"/boxed"
	shown := h.attemptAll(t, free, table, skip, h.bare)
	for n := range 2 { // an attack that works at times does work: a slow machine may hinder it once
		free.Base = fmt.Sprint(h.base, "/bare", n)
		again := h.attemptAll(t, free, table, func(a attempt) bool { return skip(a) || shown[a.name].landed }, h.bare)
		maps.Copy(shown, again)
	}
	held := h.attemptAll(t, boxed, table, skip, func(now scene, policy string) string {
		return h.boxed(now, h.policy(policy, boxed, table))
	})
	verdict(t, h, s, table, boxed, shown, held)
}

// worksHere returns a function that reports whether the machine can do what a row needs. Each trial is
// made once.
func worksHere(t *testing.T) func(a attempt) bool {
	known := map[string]bool{}
	return func(a attempt) bool {
		works, tried := known[a.trial.What]
		if !tried {
			works = a.trial.Do == nil || a.trial.Works(t)
			known[a.trial.What] = works
		}
		return works
	}
}

// impossible returns why the row cannot succeed in a setting even without a sandbox; "" if it can.
func (a attempt) impossible(s setting) string {
	switch {
	case a.rootOnly && !hasCapabilities():
		return "takes capabilities"
	case a.cannot != nil:
		return a.cannot(s)
	}
	return ""
}

// bodyOf skips a test whose work runs in a separate process, started by the named test.
// internal/testsummary checks that the work was done.
func bodyOf(t *testing.T, test string) {
	t.Helper()
	t.Skip("body of " + test)
}

// inSample reports whether the i-th row is in the sample that the environment selects.
func inSample(t *testing.T, i int) bool {
	t.Helper()
	rows, err := machine.ParseRows(os.Getenv(envEvery))
	if err != nil {
		t.Fatal(err)
	}
	return rows.Has(i)
}

// currentSetting is attack.CurrentSetting.
func currentSetting(t *testing.T, test string) setting {
	t.Helper()
	return settingOf(attack.CurrentSetting(t, test))
}

// backendInSetting returns a backend that is closed when the test ends, and the facts that it
// found.
func backendInSetting(t *testing.T, test string) (*Backend, plan.Facts) {
	t.Helper()
	currentSetting(t, test)
	b := newBackend(t)
	t.Cleanup(func() { b.Close() })
	f, err := b.probe()
	if err != nil {
		t.Fatal(err)
	}
	return b, f
}

// hasCapabilities reports whether this thread has any. Threads that make calls for the sandbox have
// none, and the first thread may be one of them.
func hasCapabilities() bool {
	status, err := os.ReadFile("/proc/thread-self/status")
	return err == nil && !strings.Contains(string(status), "CapEff:\t0000000000000000")
}

// verdict compares the results with the promises, row by row.
func verdict(t *testing.T, h *host, s setting, table []attempt, boxed scene, shown, held map[string]outcome) {
	t.Helper()
	var rows, kept, open int
	var wrong []string // said last: a long log may be cut
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	promised := map[string]sandbox.Enforcement{}
	for _, name := range policyNames {
		e, err := sandboxtest.Enforcement(h.backend, h.policy(name, boxed, table))
		if err != nil {
			t.Fatal(err)
		}
		promised[name] = e
	}
	for _, a := range table {
		got, tried := held[a.name]
		if why := a.impossible(s); why != "" {
			t.Logf("not tried %-4s %s: %s", a.escape, a.name, why)
			continue
		}
		if !tried {
			rows++ // a race, for another day, or not possible on this machine
			continue
		}
		rows++
		e := promised[a.policy]
		stated := slices.ContainsFunc(e.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == a.weakness })
		said := "held"
		if got.landed {
			said = "NOT HELD"
			open++
		} else {
			kept++
		}
		t.Logf("%-8s %-4s %-52s uid %d %s: bare %q, boxed %q", said, a.escape, a.name, s.uid, strings.Join(e.Active(), "+"), shown[a.name].word, got.word)
		listed := slices.Contains(notHeld[s.name], a.name)
		switch {
		case !shown[a.name].landed:
			fault("%s: does not work without a sandbox either (%s), so nothing is shown", a.name, shown[a.name].word)
		case got.landed && !listed:
			fault("%s (%s): ESCAPE: %s is lost: %q", a.name, a.escape, a.protects, got.word)
		case got.landed && !stated:
			fault("%s (%s): not held, and no weakness %q states it", a.name, a.escape, a.weakness)
		case !got.landed && listed && !a.race: // a race that was not lost proves nothing
			fault("%s is held now: remove it from notHeld[%q]", a.name, s.name)
		}
	}
	for _, name := range notHeld[s.name] {
		if !slices.ContainsFunc(table, func(a attempt) bool { return a.name == name }) {
			fault("notHeld[%q] names %q, which is not a row of it", s.name, name)
		}
	}
	t.Logf("%s: %d rows, %d held, %d not held", s.name, rows, kept, open)
	if rows != wantRows[s.name] {
		fault("%d rows, want %d", rows, wantRows[s.name])
	}
	for _, what := range wrong {
		t.Error(what)
	}
	if testing.Verbose() {
		fmt.Printf("rows in setting %q: %d, held %d, not held %d\n", s.name, rows, kept, open)
	}
}

// TestDeathsInSettings kills our processes in every setting.
func TestDeathsInSettings(t *testing.T) {
	machine.Turn(t, 0) // outside CI the tests of death run in this setting
	inSettings(t, "^(TestEachOfOursKilled|TestKeeperKilled|TestNoCoreDumps|TestHeldDeath)$")
}
