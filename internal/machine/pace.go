package machine

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// variable is the environment variable that passes the pace to all processes of a test run, as
// Slowness/Turn: "1.4/489000".
const variable = "CODEAGENT_TEST_PACE"

// Pace says how much of the tests to run: everything in CI, a sample elsewhere, and less on a slow
// machine. It is chosen once for a test run, so that all its processes agree.
type Pace struct {
	// Slowness is how many times longer than the reference the machine takes to start a process; at
	// least 1.
	Slowness float64
	// Turn selects which part of each table is tried. It changes every hour, so that over time the
	// whole table is tried.
	Turn int
	// Thorough: this is CI. There, a machine as fast as the reference tries everything.
	Thorough bool
}

// reference is the time for each start of /bin/true, as measure takes it, on a machine on which
// `make test` takes four minutes and CI half an hour.
const reference = 200 * time.Microsecond

// most bounds Slowness. A machine that is slower still tries no less, so its run takes longer.
const most = 20

// Current returns the pace from the environment. A test that is run by hand has none there: it tries
// as much as on the reference.
func Current() Pace {
	p, ok := given()
	if !ok {
		p.Slowness, p.Turn = 1, int(time.Now().Unix()/3600)
	}
	return p
}

// Measured returns the pace for a test run: the one from the environment, or else it measures this
// machine.
func Measured() Pace {
	p, ok := given()
	if !ok {
		p = Current()
		p.Slowness = measure()
	}
	return p
}

// given reads the pace from the environment.
func given() (p Pace, ok bool) {
	p.Thorough = os.Getenv("CI") != ""
	n, _ := fmt.Sscanf(os.Getenv(variable), "%g/%d", &p.Slowness, &p.Turn)
	return p, n == 2 && p.Slowness >= 1 && p.Slowness <= most
}

// Variable returns the environment entry, NAME=VALUE, that passes p to another process.
func (p Pace) Variable() string {
	return variable + "=" + strconv.FormatFloat(p.Slowness, 'f', 1, 64) + "/" + strconv.Itoa(p.Turn)
}

// measure returns the Slowness of this machine. It starts 200 processes, two at a time, which takes
// less than a tenth of a second on the reference.
func measure() float64 {
	const batches, batch = 10, 20
	program, err := exec.LookPath("true")
	if err != nil {
		return 1
	}
	var took []time.Duration
	for range batches {
		begun := time.Now()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				for range batch / 2 {
					_ = exec.Command(program).Run()
				}
			})
		}
		both.Wait()
		took = append(took, time.Since(begun)/batch)
	}
	slices.Sort(took) // the median: others may use the machine for a moment
	return min(most, max(1, float64(took[batches/2])/float64(reference)))
}

// every returns n if every n-th row of a table is to be tried. On the reference, that is every row in
// CI, and every local-th outside CI.
func (p Pace) every(local int) int {
	if p.Thorough {
		local = 1
	}
	return max(1, local*p.turns())
}

// Rows selects every Every-th row of a table, beginning with row Offset.
type Rows struct{ Every, Offset int }

// Has reports whether r contains row i.
func (r Rows) Has(i int) bool { return i%r.Every == r.Offset }

// All reports whether r contains every row.
func (r Rows) All() bool { return r.Every == 1 }

// String returns r in the form that ParseRows reads, for the environment of another process.
func (r Rows) String() string { return fmt.Sprint(r.Every, " ", r.Offset) }

// ParseRows reads the rows that another process selected.
func ParseRows(text string) (r Rows, err error) {
	if _, err = fmt.Sscan(text, &r.Every, &r.Offset); err == nil && r.Every < 1 {
		err = fmt.Errorf("%q is no choice of rows", text)
	}
	return r, err
}

// Sample selects rows of a table: all in CI, every local-th outside CI, fewer on a slow machine. It
// logs which.
func Sample(t testing.TB, local int) Rows {
	t.Helper()
	return Current().sample(t, local)
}

func (p Pace) sample(t testing.TB, local int) Rows {
	t.Helper()
	r := Rows{Every: p.every(local)}
	r.Offset = p.testTurn() % r.Every
	if !r.All() {
		t.Logf("%severy %d. row from %d on", Sampled, r.Every, r.Offset)
	}
	return r
}

// SampleOf is Sample for tables that not every process of a CI run has to try as a whole: without all,
// CI tries every local-th row too.
func SampleOf(t testing.TB, local int, all bool) Rows {
	t.Helper()
	p := Current()
	p.Thorough = p.Thorough && all
	return p.sample(t, local)
}

// givenRows is the environment variable that selects rows of tables that are otherwise tried as a
// whole, as Rows.String: "20 3".
const givenRows = "CODEAGENT_TEST_ROWS"

// GivenRows returns the rows that the environment selects, and logs which: all rows, except on an
// emulated machine, which is slower than Slowness can express (.ci/kernel).
func GivenRows(t testing.TB) Rows {
	t.Helper()
	r, err := ParseRows(os.Getenv(givenRows))
	if err != nil {
		return Rows{Every: 1}
	}
	t.Logf("%severy %d. row from %d on", Sampled, r.Every, r.Offset)
	return r
}

// testTurn counts the turns in which one test runs: on a slow machine only every n-th (see Run). If
// Turn chose the offset, the test would never reach most of them.
func (p Pace) testTurn() int { return p.Turn / p.turns() }

// Sampled begins each message about a sample. As with NotPossible, no other package may write it.
const Sampled = "a sample: "

// Turn skips a long test unless it is its turn: always in CI; outside CI in one turn of local, and never
// if local is 0.
func Turn(t testing.TB, local int) {
	t.Helper()
	p := Current()
	if p.Thorough {
		return
	}
	if local == 0 {
		t.Skip("only with CI=true")
	}
	if p.turnsUntil(t.Name(), local) > 0 {
		t.Skipf("%sin one run of %d, another time", Sampled, local)
	}
}

// turnsUntil returns how many turns are left until the test name runs, which it does in one turn of n;
// 0: it runs in this one.
func (p Pace) turnsUntil(name string, n int) int {
	return (n - (hash(name)+p.testTurn())%n) % n
}

// hash maps a name to a number, the same in every process.
func hash(name string) int {
	sum := 0
	for _, c := range []byte(name) {
		sum = (sum*31 + int(c)) % 9973
	}
	return sum
}

// Pick returns some of all, which should take equally long to try: thorough of them in CI, local outside
// CI, fewer on a slow machine, but at least one. Which ones depends on name and on the turn.
//
// They advance by the digit sum of the turn in base len(all), not by the turn itself: Sample advances by
// the turn, and in step with it some elements would never be tried with some rows.
func Pick[T any](t testing.TB, name string, local, thorough int, all []T) []T {
	t.Helper()
	p := Current()
	n := local
	if p.Thorough {
		n = thorough
	}
	n = min(len(all), max(1, int(math.Round(float64(n)/p.Slowness))))
	first := hash(name)
	for turn := p.testTurn(); turn > 0 && n < len(all); turn /= len(all) {
		first += turn % len(all)
	}
	first = first * n % len(all)
	picked := slices.Concat(all[first:], all[:first])[:n]
	if n < len(all) {
		t.Logf("%s%v of %d", Sampled, picked, len(all))
	}
	return picked
}

// Times returns how often to repeat a test that depends on chance: thorough times in CI, local times
// outside CI, fewer on a slow machine.
func Times(local, thorough int) int {
	p := Current()
	if p.Thorough {
		local = thorough
	}
	return max(1, int(float64(local)/p.Slowness))
}

// Everything reports whether this process leaves nothing out. Only then can a test check what a table
// must cover as a whole.
func Everything() bool { p := Current(); return p.Thorough && p.turns() == 1 }

// Thorough reports whether this is CI.
func Thorough() bool { return Current().Thorough }

// Patience returns how long to wait for something that takes less than usual on the reference. It only
// has to end a test that hangs, so it is generous, and longer on a slow machine.
func Patience(usual time.Duration) time.Duration {
	return max(20*time.Second, time.Duration(float64(10*usual)*Current().Slowness))
}
