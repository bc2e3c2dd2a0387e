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

// variable hands the pace to all test processes, with the turn: "1.4/489000".
const variable = "CODEAGENT_TEST_PACE"

// Pace says how much can be tried. It is chosen once for a run, so that all processes of it agree.
type Pace struct {
	// Slowness is how many times longer the machine takes to start a process than the reference; at
	// least 1.
	Slowness float64
	// Turn selects which part of each table is tried. It changes every hour, so that all of it is
	// tried in time.
	Turn int
	// Thorough: CI, in which a machine like the reference tries everything.
	Thorough bool
}

// reference is the time in which two processors start /bin/true, one each, on a machine on which
// `make test` takes four minutes and CI half an hour.
const reference = 320 * time.Microsecond

// most bounds Slowness. A slower machine tries as much as one at this bound, and takes longer.
const most = 20

// Current returns the pace that this process was given. A test that is run by hand was given none:
// it tries what it tries on the reference.
func Current() Pace {
	p, ok := given()
	if !ok {
		p.Slowness, p.Turn = 1, int(time.Now().Unix()/3600)
	}
	return p
}

// Measured returns the pace for a run: the one that was given, or else that of this machine.
func Measured() Pace {
	p, ok := given()
	if !ok {
		p = Current()
		p.Slowness = measure()
	}
	return p
}

func given() (p Pace, ok bool) {
	p.Thorough = os.Getenv("CI") != ""
	n, _ := fmt.Sscanf(os.Getenv(variable), "%g/%d", &p.Slowness, &p.Turn)
	return p, n == 2 && p.Slowness >= 1 && p.Slowness <= most
}

// Variable is the line of an environment that hands the pace on.
func (p Pace) Variable() string {
	return variable + "=" + strconv.FormatFloat(p.Slowness, 'f', 1, 64) + "/" + strconv.Itoa(p.Turn)
}

// measure starts 200 processes. It takes an eighth of a second on the reference.
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

// every returns the n of "every n-th" for a table of which a run outside CI tries every home-th row.
func (p Pace) every(home int) int {
	if p.Thorough {
		home = 1
	}
	return max(1, home*p.turns())
}

// Rows is a choice of rows: every n-th.
type Rows struct{ Every, Offset int }

// Has reports whether the i-th row is one of them.
func (r Rows) Has(i int) bool { return i%r.Every == r.Offset }

// All reports whether nothing is left out.
func (r Rows) All() bool { return r.Every == 1 }

// String is what ParseRows understands, for the environment of another process.
func (r Rows) String() string { return fmt.Sprint(r.Every, " ", r.Offset) }

// ParseRows reads the choice that another process made.
func ParseRows(text string) (r Rows, err error) {
	if _, err = fmt.Sscan(text, &r.Every, &r.Offset); err == nil && r.Every < 1 {
		err = fmt.Errorf("%q is no choice of rows", text)
	}
	return r, err
}

// Sample chooses rows of a table: outside CI every home-th, in CI all. On a slow machine they are
// fewer. It says which.
func Sample(t testing.TB, home int) Rows {
	t.Helper()
	return Current().sample(t, home)
}

func (p Pace) sample(t testing.TB, home int) Rows {
	t.Helper()
	r := Rows{Every: p.every(home)}
	r.Offset = p.own() % r.Every
	if !r.All() {
		t.Logf("%severy %d. row from %d on", Sampled, r.Every, r.Offset)
	}
	return r
}

// SampleOf is Sample where only some processes of a run try all rows in CI.
func SampleOf(t testing.TB, home int, all bool) Rows {
	t.Helper()
	p := Current()
	p.Thorough = p.Thorough && all
	return p.sample(t, home)
}

// givenRows hands a choice of rows to tables that are else tried as a whole: "20 3".
const givenRows = "CODEAGENT_TEST_ROWS"

// GivenRows returns the choice that was given to this process: all unless it runs on an emulated machine,
// which is slower than Slowness can say (.ci/kernel). It says which.
func GivenRows(t testing.TB) Rows {
	t.Helper()
	r, err := ParseRows(os.Getenv(givenRows))
	if err != nil {
		return Rows{Every: 1}
	}
	t.Logf("%severy %d. row from %d on", Sampled, r.Every, r.Offset)
	return r
}

// own counts the turns of one test: where only every n-th turn is its own (Run), these still go
// through all offsets.
func (p Pace) own() int { return p.Turn / p.turns() }

// Sampled begins what is said of a choice. As with NotPossible, no other room may write it.
const Sampled = "a sample: "

// Turn skips a test that takes long, except in its turn: outside CI in one of home runs (with 0 in
// none), in CI in all.
func Turn(t testing.TB, home int) {
	t.Helper()
	p := Current()
	if p.Thorough {
		return
	}
	if home == 0 {
		t.Skip("only with CI=true")
	}
	if wait := p.ofName(t.Name(), home); wait > 0 {
		t.Skipf("%sin one run of %d, another time", Sampled, home)
	}
}

// ofName returns in how many of its own turns it is the turn of name, one of n.
func (p Pace) ofName(name string, n int) int {
	return (n - (number(name)+p.own())%n) % n
}

func number(name string) int {
	sum := 0
	for _, c := range []byte(name) {
		sum = (sum*31 + int(c)) % 9973
	}
	return sum
}

// Pick chooses some of several that take equally long, outside CI home of them and in CI thorough,
// fewer on a slow machine but at least one. Others of the same number are chosen for another name. They change with
// the sum of the turn's digits, which returns in no regular steps: so in time each is tried with each row of a sample.
func Pick[T any](t testing.TB, name string, home, thorough int, all []T) []T {
	t.Helper()
	p := Current()
	n := home
	if p.Thorough {
		n = thorough
	}
	n = min(len(all), max(1, int(math.Round(float64(n)/p.Slowness))))
	first := number(name)
	for turn := p.own(); turn > 0 && n < len(all); turn /= len(all) {
		first += turn % len(all)
	}
	first = first * n % len(all)
	picked := slices.Concat(all[first:], all[:first])[:n]
	if n < len(all) {
		t.Logf("%s%v of %d", Sampled, picked, len(all))
	}
	return picked
}

// Times is how often to repeat what is repeated for its chances: home times, in CI thorough times,
// less on a slow machine.
func Times(home, thorough int) int {
	p := Current()
	if p.Thorough {
		home = thorough
	}
	return max(1, int(float64(home)/p.Slowness))
}

// Everything reports whether nothing is left out: only then can what a table as a whole must reach
// be checked.
func Everything() bool { p := Current(); return p.Thorough && p.turns() == 1 }

// Thorough reports whether this is CI.
func Thorough() bool { return Current().Thorough }

// Patience is how long to wait for something that takes less than usual on the reference. It only ends what would
// never end, so it is generous, and more so on a slow machine.
func Patience(usual time.Duration) time.Duration {
	return max(20*time.Second, time.Duration(float64(10*usual)*Current().Slowness))
}
