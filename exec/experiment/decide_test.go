package experiment

import (
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// showed makes a run of its status and paths: "-" before one that was refused, "!" before one that stays refused, "+"
// before one that was written. "net" is a refusal of something else.
func showed(exit int, words string) *run {
	r := newRun(sandbox.Policy{}, sandbox.Status{Exit: exit}, nil)
	for _, w := range strings.Fields(words) {
		switch {
		case w == "net":
			r.other = true
		case w == "mv":
			r.across = true
		default:
			map[byte]map[string]bool{'-': r.refused, '!': r.closed, '+': r.wrote}[w[0]][w[1:]] = true
		}
	}
	return r
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, same *run
		lifted      []*run
		want        finding
	}{
		{"passes with the write", showed(1, "-/o/a"), showed(1, "-/o/a"), []*run{showed(0, "+/o/a"), showed(0, "+/o/a")}, sandboxed},
		{"another name", showed(1, "-/o/a1"), showed(1, "-/o/a2"), []*run{showed(0, "+/o/a3"), showed(0, "+/o/a4")}, sandboxed},
		{"fails alike", showed(1, "-/o/a"), showed(1, "-/o/a"), []*run{showed(1, "+/o/a")}, elsewhere},
		{"fails in another way", showed(1, "-/o/a"), showed(1, "-/o/a"), []*run{showed(2, "+/o/a")}, besides},
		{"comes and goes", showed(1, "-/o/a"), showed(0, "-/o/a"), nil, passing},
		{"another state: not refused the same", showed(1, "-/o/a"), showed(1, ""), []*run{showed(1, "")}, unknown},
		{"another state: refused elsewhere", showed(1, "-/o/a"), showed(1, "-/p/a"), []*run{showed(0, "")}, unknown},
		{"another state: passes for another reason", showed(1, "-/o/a"), showed(0, ""), nil, unknown},
		{"another status", showed(1, "-/o/a"), showed(2, "-/o/a"), []*run{showed(0, "")}, unknown},
		{"wants a network", showed(1, "-/o/a"), showed(1, "-/o/a"), []*run{showed(1, "net")}, unknown},
		{"passes without the network", showed(1, "-/o/a"), showed(1, "-/o/a net"), []*run{showed(0, "")}, unknown},
		{"something stays refused", showed(1, "-/o/a !/w/.git/hooks/x"), showed(1, "-/o/a !/w/.git/hooks/x"), []*run{showed(1, "!/w/.git/hooks/x")}, unknown},
		{"what stays refused is not needed", showed(1, "-/o/a !/h"), showed(1, "-/o/a !/h"), []*run{showed(0, "+/o/a !/h")}, sandboxed},
		{"two drafts are two file systems", showed(1, "-/o/a"), showed(1, "-/o/a"), []*run{showed(1, "mv")}, unknown},
		{"the lifted runs differ", showed(1, "-/o/a"), showed(1, "-/o/a"), []*run{showed(0, ""), showed(3, "")}, unknown},
		{"nothing was lifted", showed(1, "-/o/a"), showed(1, "-/o/a"), nil, unknown},
	} {
		if got := decide(c.first, c.same, c.lifted...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNeeds(t *testing.T) {
	a, b := showed(0, "+/o/x +/o/t1 +/n +/n/r1"), showed(0, "+/o/x +/o/t2 +/n +/n/r2")
	if places, varies := needs([]*run{a, b}); !slices.Equal(places, []string{"/n", "/o", "/o/x"}) || !varies {
		t.Errorf("%v %v", places, varies)
	}
	if places, varies := needs([]*run{a, a}); len(places) != 4 || varies {
		t.Errorf("%v %v", places, varies)
	}
}

func TestLayers(t *testing.T) {
	folders := []string{"/", "/h", "/h/u", "/h/u/p", "/s"}
	is := func(p string) bool { return slices.Contains(folders, p) }
	targets := map[string]bool{"/h/u/p/x": true, "/h/u/new/a/b": true, "/s/f": true}
	if got := layers(targets, is); !slices.Equal(got, []string{"/h/u", "/s"}) {
		t.Error(got)
	}
}
