package machine

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Run runs the tests of a package that mostly starts processes. On a machine that is n times slower
// it runs every n-th of them, so that a run takes the time that it takes on the reference, and the
// others in later turns. It leaves nothing out where tests were chosen by hand, or where no run of
// all packages measured the machine (internal/testsummary). Such tests wait more than they compute:
// unless -parallel says otherwise, twice as many of them run at a time as there are processors.
func Run(m *testing.M) int {
	p, chosen := given()
	flag.Parse()
	if atOnce := flag.Lookup("test.parallel").Value; atOnce.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = atOnce.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0)))
	}
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.bench", "test.fuzz"} {
		chosen = chosen && flag.Lookup(name).Value.String() == ""
	}
	if n := p.turns(); chosen && n > 1 {
		if err := leaveOut(n); err != nil {
			fmt.Fprintln(os.Stderr, "choose tests:", err)
			return 1
		}
	}
	return m.Run()
}

// turns returns in how many turns Run runs every test once.
func (p Pace) turns() int { return int(math.Round(p.Slowness)) }

// leaveOut skips all tests except every n-th. Only -test.list shows the names of the tests.
func leaveOut(n int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := exec.Command(self, "-test.list", "^Test").Output()
	if err != nil {
		return err
	}
	var later []string
	offset := Current().Turn % n
	for i, name := range strings.Fields(string(out)) {
		if strings.HasPrefix(name, "Test") && i%n != offset {
			later = append(later, name)
		}
	}
	for names := range slices.Chunk(later, 20) { // test2json cuts long lines
		fmt.Printf("%severy %d. test from %d on%s%s\n", Sampled, n, offset, Later, strings.Join(names, " "))
	}
	return flag.Set("test.skip", "^("+strings.Join(later, "|")+")$")
}

// Later stands before the names of a package's tests that are left for another turn.
const Later = "; for another turn: "

// LeftOut reads a line of a package's test output: what it says about a sample, and which tests that
// leaves out.
func LeftOut(line string) (choice string, tests []string) {
	rest, ok := strings.CutPrefix(line, Sampled)
	choice, names, chosen := strings.Cut(rest, Later)
	if !ok || !chosen {
		return "", nil
	}
	return Sampled + choice, strings.Fields(names)
}
