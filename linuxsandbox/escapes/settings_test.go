//go:build linux

package escapes

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestEscapes runs the table of escapes in every setting.
func TestEscapes(t *testing.T) { tests.Run(t, "^TestEscapesInSetting$", true, len(attack.Settings)) }

// TestEscapesOnOtherMachines runs it with what the kernel's Landlock had in older versions.
func TestEscapesOnOtherMachines(t *testing.T) {
	kernels := attack.OtherMachines
	if os.Getuid() == 0 {
		kernels = machine.Pick(t, t.Name(), 1, 2, kernels)
	}
	attack.InThese(t, true, kernels, func(t *testing.T, s attack.Setting) *exec.Cmd { return tests.Command(t, s, "^TestEscapesInSetting$") })
}

// TestEscapesInBwrap runs it on the backend bwrap.
func TestEscapesInBwrap(t *testing.T) {
	settings := attack.Bwrap
	if os.Getuid() == 0 {
		settings = machine.Pick(t, t.Name(), 1, 1, settings)
	}
	attack.InThese(t, true, settings, func(t *testing.T, s attack.Setting) *exec.Cmd { return tests.Command(t, s, "^TestEscapesInSetting$") })
}

// TestEscapesInContainers runs a sample of it, another one in each turn, in containers of Podman.
func TestEscapesInContainers(t *testing.T) {
	settings := attack.Containers
	if os.Getuid() == 0 {
		settings = machine.Pick(t, t.Name(), 1, 1, settings)
	}
	attack.InThese(t, true, settings, func(t *testing.T, s attack.Setting) *exec.Cmd { return tests.Command(t, s, "^TestEscapesInSetting$") })
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
	s := attack.CurrentSetting(t, "TestEscapes")
	h := newHost(t)
	table, works := escapes(), worksHere(t)
	var first scene
	h.listen(&first)
	first.Host, first.Millis, first.SetUID = os.Getpid(), 100, attack.SetUIDProgram()
	if machine.Thorough() {
		first.Millis = 2000
	}
	h.rows = machine.GivenRows(t)
	if attack.InContainers() {
		h.rows = machine.SampleOf(t, 24, false)
	}
	skip := func(a attempt) bool {
		i := slices.IndexFunc(table, func(b attempt) bool { return b.name == a.name })
		return !h.rows.Has(i) || a.race && !s.Races() || a.impossible(s) != "" || !works(a)
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
	refused := refusedPolicies(h, boxed, table)
	held := h.attemptAll(t, boxed, table, func(a attempt) bool { return skip(a) || refused[a.policy] != "" }, func(now scene, policy string) (out string) {
		if !attack.InBwrap() {
			return h.boxed(now, h.policy(policy, boxed, table))
		}
		for rows := range slices.Chunk(now.Rows, 60) { // the folders of all rows are more than bwrap takes
			now.Rows = rows
			out += h.boxed(now, h.policy(policy, now, table))
		}
		return out
	})
	for _, a := range table {
		if why := refused[a.policy]; why != "" && !skip(a) {
			held[a.name] = outcome{word: "no command: " + why}
		}
	}
	verdict(t, h, s, table, boxed, shown, held, refused)
}

// refusedPolicies are those of the table that cannot be enforced without Landlock or without a broker, with the reason: no
// command runs under them. Elsewhere the machine has no such setting.
func refusedPolicies(h *host, boxed scene, table []attempt) map[string]string {
	out := map[string]string{}
	for _, name := range policyNames {
		if _, err := sandboxtest.Enforcement(h.backend, h.policy(name, boxed, table)); err != nil && (strings.Contains(err.Error(), "no Landlock, which limits reads") || attack.InBwrap() && strings.Contains(err.Error(), "belongs to codeagent itself")) {
			out[name] = err.Error()
		}
	}
	return out
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
func (a attempt) impossible(s attack.Setting) string {
	switch {
	case a.rootOnly && !attack.HasCapabilities():
		return "takes capabilities"
	case a.cannot != nil:
		return a.cannot(s)
	}
	return ""
}

// verdict compares the results with the promises, row by row.
func verdict(t *testing.T, h *host, s attack.Setting, table []attempt, boxed scene, shown, held map[string]outcome, refused map[string]string) {
	t.Helper()
	var rows, kept, open, anywhere int // anywhere: of open, those that every machine can try
	var wrong []string                 // said last: a long log may be cut
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	promised := map[string]sandbox.Enforcement{}
	for _, name := range policyNames {
		e, err := sandboxtest.Enforcement(h.backend, h.policy(name, boxed, table))
		if err != nil && (refused[name] == "" || s.Surroundings != attack.SurroundNoLandlock && !attack.InBwrap()) {
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
		stated := slices.ContainsFunc(e.Weaknesses, func(w sandbox.Weakness) bool {
			return w.ID == a.weakness || a.weakness == "signals" && w.ID == "keeper-signals"
		})
		said := "held"
		if got.landed {
			said = "NOT HELD"
			open++
			if !a.race && a.trial.Do == nil {
				anywhere++
			}
		} else {
			kept++
		}
		t.Logf("%-8s %-4s %-52s uid %d %s: bare %q, boxed %q", said, a.escape, a.name, s.UID, strings.Join(e.Active(), "+"), shown[a.name].word, got.word)
		listed := slices.Contains(openRows(s, e), a.name) || got.landed && attack.InBwrap() // many: openInBwrap counts them
		switch {
		case !shown[a.name].landed:
			fault("%s: does not work without a sandbox either (%s), so nothing is shown", a.name, shown[a.name].word)
		case got.landed && !listed:
			fault("%s (%s): ESCAPE: %s is lost: %q", a.name, a.escape, a.protects, got.word)
		case got.landed && !stated:
			fault("%s (%s): not held, and no weakness %q states it", a.name, a.escape, a.weakness)
		case !got.landed && listed && !a.race: // a race that was not lost proves nothing
			fault("%s is held now: remove it from notHeld[%q]", a.name, s.Name)
		}
	}
	for _, name := range notHeld[s.Name] {
		if !slices.ContainsFunc(table, func(a attempt) bool { return a.name == name }) {
			fault("notHeld[%q] names %q, which is not a row of it", s.Name, name)
		}
	}
	t.Logf("%s: %d rows, %d held, %d not held", s.Name, rows, kept, open)
	like, _, _ := strings.Cut(s.Name, attack.WithLandlock)
	if attack.InBwrap() && h.rows.All() && anywhere != openInBwrap {
		fault("%d rows are not held that every machine can try, want %d", anywhere, openInBwrap)
	}
	if rows != wantRows[like] {
		fault("%d rows, want %d", rows, wantRows[like])
	}
	for _, what := range wrong {
		t.Error(what)
	}
	if testing.Verbose() {
		fmt.Printf("rows in setting %q: %d, held %d, not held %d\n", s.Name, rows, kept, open)
	}
}
