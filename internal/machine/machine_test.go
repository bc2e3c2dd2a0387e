package machine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// recorder is a test that only remembers what was said.
type recorder struct {
	testing.TB
	name, said string
	skipped    bool
}

func (*recorder) Helper()        {}
func (r *recorder) Name() string { return r.name }
func (r *recorder) Log(args ...any) {
	r.said += fmt.Sprint(args...)
}
func (r *recorder) Logf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }
func (r *recorder) Skip(args ...any)                { r.Log(args...); r.skipped = true }
func (r *recorder) Skipf(format string, args ...any) {
	r.Logf(format, args...)
	r.skipped = true
}

func TestTrial(t *testing.T) {
	fine := Trial{"walking", func(testing.TB) error { return nil }}
	if r := (&recorder{}); !fine.Works(r) || r.said != "" {
		t.Errorf("what works: said %q", r.said)
	}
	broken := Trial{"flying", func(testing.TB) error { return errors.New("no\n wings") }}
	const want = NotPossible + "flying: no wings"
	if r := (&recorder{}); broken.Works(r) || r.said != want || r.skipped {
		t.Errorf("what does not work: said %q, skipped %t", r.said, r.skipped)
	}
	r := &recorder{}
	if broken.Require(r); r.said != want || !r.skipped {
		t.Errorf("what is required: said %q, skipped %t", r.said, r.skipped)
	}
}

// TestSamplesRotate: in as many turns as a choice leaves out rows, every row, every test and
// everything that is picked is tried, on any machine.
func TestSamplesRotate(t *testing.T) {
	for _, ci := range []string{"", "true"} {
		for _, slowness := range []string{"1.0", "1.3", "5.2"} {
			t.Setenv("CI", ci)
			rows, picked, turns := map[int]bool{}, map[int]bool{}, 0
			const local, hours, table = 3, 120, 50
			for hour := range hours {
				t.Setenv(variable, fmt.Sprint(slowness, "/", hour))
				r := &recorder{name: "TestSome"}
				choice := Sample(r, local)
				for i := range table {
					if choice.Has(i) {
						rows[i] = true
					}
				}
				if again, err := ParseRows(choice.String()); err != nil || again != choice {
					t.Errorf("%v is read as %v, %v", choice, again, err)
				}
				if choice.All() != (r.said == "") || !choice.All() && !strings.HasPrefix(r.said, Sampled) {
					t.Errorf("%v says %q", choice, r.said)
				}
				for _, i := range Pick(r, "TestSome", 2, 3, []int{0, 1, 2, 3, 4, 5, 6}) {
					picked[i] = true
				}
				if r := (&recorder{name: "TestSome"}); true {
					if Turn(r, local); !r.skipped {
						turns++
					}
				}
			}
			if len(rows) != table || len(picked) != 7 || turns == 0 || ci != "" && slowness == "1.0" && turns != hours {
				t.Errorf("CI=%q, %s: %d rows, %d picked, %d turns", ci, slowness, len(rows), len(picked), turns)
			}
		}
	}
}

// TestPicksMeetAllRows: whichever user or setting is picked, in time each tries each row of a sample.
func TestPicksMeetAllRows(t *testing.T) {
	for _, ci := range []string{"", "true"} {
		for _, of := range []int{2, 7} {
			for _, slowness := range []string{"1.0", "2.0"} {
				t.Setenv("CI", ci)
				met, every := map[[2]int]bool{}, 0
				all := make([]int, of)
				for i := range all {
					all[i] = i
				}
				for hour := range 3000 {
					t.Setenv(variable, fmt.Sprint(slowness, "/", hour))
					r := &recorder{name: "TestSome"}
					choice := Sample(r, 4)
					every = choice.Every
					met[[2]int{choice.Offset, Pick(r, "TestSome", 1, 1, all)[0]}] = true
				}
				if len(met) != every*of {
					t.Errorf("CI=%q, %s: %d of %d rows each meet their row", ci, slowness, len(met), every*of)
				}
			}
		}
	}
}

// TestPace: what takes the time of a run on the reference takes about that time on a slow machine.
func TestPace(t *testing.T) {
	for _, tt := range []struct {
		pace         Pace
		local, every int
	}{
		{Pace{Slowness: 1, Thorough: true}, 9, 1}, {Pace{Slowness: 1.4, Thorough: true}, 9, 1}, {Pace{Slowness: 5, Thorough: true}, 9, 5},
		{Pace{Slowness: 1}, 9, 9}, {Pace{Slowness: 5}, 9, 45}, {Pace{Slowness: 5}, 1, 5},
	} {
		if got := tt.pace.every(tt.local); got != tt.every {
			t.Errorf("%+v: every %d., want %d.", tt.pace, got, tt.every)
		}
	}
	t.Setenv("CI", "")
	t.Setenv(variable, "5.0/7")
	if got := Current(); got != (Pace{Slowness: 5, Turn: 7}) || got.Variable() != variable+"=5.0/7" {
		t.Errorf("given: %+v", got)
	}
	if Times(3, 10_000) != 1 || Times(100, 0) != 20 || Patience(10*time.Second) != 500*time.Second {
		t.Error("times and patience do not follow the pace")
	}
	t.Setenv("CI", "true")
	if !Thorough() || Times(3, 10_000) != 2000 {
		t.Error("in CI more is tried")
	}
	for _, wrong := range []string{"", "fast", "0/3", "NaN/3", "1e9/3"} {
		t.Setenv(variable, wrong)
		if got := Current(); got.Slowness != 1 || got.Turn == 0 {
			t.Errorf("%q is taken for %+v", wrong, got)
		}
		if got := Measured(); got.Slowness < 1 || got.Slowness > most || got.Turn == 0 {
			t.Errorf("%q is measured as %+v", wrong, got)
		}
	}
}
