package sandbox

import (
	"strings"
	"testing"
)

func TestSpared(t *testing.T) {
	one := Denial{Kind: KindWrite, Target: "/home/u/.a", Evidence: EvidenceKernel, Count: 3}
	for _, row := range []struct {
		name string
		v    Verdict
		want string
	}{
		{"nothing", Verdict{}, ""},
		{"one", Verdict{Denials: []Denial{{Kind: KindNetwork, Target: "x.org:443"}}}, "did without: x.org:443"},
		{"read", Verdict{Denials: []Denial{{Kind: KindRead, Target: "/home/u/.ssh/id"}, one}}, "did without: read ~/.ssh/id, ~/.a (4 refused calls)"},
		{"often", Verdict{Denials: []Denial{one}}, "did without: ~/.a (3 refused calls)"},
		{"several", Verdict{Denials: []Denial{one, one, {Target: "/b"}, {Target: "/c"}, {Target: "/d"}}}, "did without: ~/.a, /b and 2 more (9 refused calls)"},
		{"moot", Verdict{Denials: []Denial{{Target: "/b", Moot: true}}}, ""},
		{"failed", Verdict{Failed: true, Denials: []Denial{one}}, ""},
		{"denied", Verdict{Denied: true, Denials: []Denial{one}}, ""},
	} {
		show := func(p string) string { return strings.Replace(p, "/home/u", "~", 1) }
		if got := SparedWords(row.v.Spared(), show); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
