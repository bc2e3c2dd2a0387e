package patterns

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"codeagent/internal/mask"
)

// TestTemplates: what a call takes from the step before is a slot, and a later step fills it.
func TestTemplates(t *testing.T) {
	search := func(path string) Step {
		return StepOf(Ran{Tool: "search", Arguments: `{"pattern":"x"}`, Text: path + ":12:x = 1"})
	}
	edit := func(path string) Step { return StepOf(Ran{Tool: "apply_patch", Changed: []string{path}}) }
	for _, c := range []struct {
		name        string
		first, then Step
		tool, args  string
		want        string // "": the second step cannot fill it
	}{
		{"the file of a hit", search("a/b.go"), search("c.go"), "read_file", `{"path": "a/b.go", "limit": 20}`, `{"limit":20,"path":"c.go"}`},
		{"the changed file in a command", edit("lib/m.py"), edit("x y.py"), "shell", `{"command":"python -m lint lib/m.py; cat lib/m.pyc"}`, `{"command":"python -m lint x y.py; cat lib/m.pyc"}`},
		{"nothing of the step", edit("a.go"), edit("b.go"), "shell", `{"command":"go test ./..."}`, `{"command":"go test ./..."}`},
		{"characters of HTML", edit("a.go"), edit("b.go"), "shell", `{"command":"a && b > c"}`, `{"command":"a && b > c"}`},
		{"no hit this time", search("a.go"), StepOf(Ran{Tool: "search", Text: "(no match)"}), "read_file", `{"path":"a.go"}`, ""},
		{"the path of the call before", StepOf(Ran{Tool: "read_file", Arguments: `{"path":"one.go"}`}), StepOf(Ran{Tool: "read_file", Arguments: `{"path":"two.go"}`}), "search", `{"pattern":"x","path":"one.go"}`, `{"path":"two.go","pattern":"x"}`},
		{"in a list", edit("one.go"), edit("two.go"), "mine", `{"files":["one.go","z"]}`, `{"files":["two.go","z"]}`},
	} {
		text, ok := c.first.Template(c.tool, c.args)
		if !ok {
			t.Errorf("%s: not learned", c.name)
			continue
		}
		if tool, args, ok := c.first.Fill(text); !ok || tool != c.tool || !Same(args, c.args) {
			t.Errorf("%s: the same step makes %s %s of it", c.name, tool, args)
		}
		if _, args, ok := c.then.Fill(text); ok != (c.want != "") || ok && args != c.want {
			t.Errorf("%s: %q, %v", c.name, args, ok)
		}
	}
	for _, args := range []string{`{"command":`, `{"command":"echo ⟦hit⟧"}`, `{"a":"` + strings.Repeat("x", maxCall) + `"}`} {
		if text, ok := (Step{}).Template("shell", args); ok {
			t.Errorf("learned %q", text)
		}
	}
	for _, c := range []struct {
		ran  Ran
		kind string
	}{
		{Ran{Tool: "shell", Command: "go test ./..."}, "shell go test"},
		{Ran{Tool: "shell", Command: "make", Failed: true}, "shell make (failed)"},
		{Ran{Tool: "apply_patch", Changed: []string{"a"}}, "apply_patch"},
	} {
		if s := StepOf(c.ran); s.Kind != c.kind {
			t.Errorf("%+v is %q", c.ran, s.Kind)
		}
	}
}

// TestPredicts: from which observations on a call is predicted, and until when.
func TestPredicts(t *testing.T) {
	day, start := 24*time.Hour, time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name  string
		calls string // a letter for each call, - for none
		every time.Duration
		after time.Duration
		want  string
	}{
		{"five repeats", "aaaaaa", 0, 0, "a"},
		{"four repeats", "aaaaa", 0, 0, ""},
		{"over days", "aaaaaa", day, 0, "a"},
		{"thirty days ago", "aaaaaa", 0, 30 * day, "a"},
		{"more than that", "aaaaaa", 0, 31 * day, ""},
		{"learned again after that", "aaaaaaaaaaa", 31 * day, 0, ""},
		{"four of five", "aaaaba", 0, 0, ""},
		{"one slip in many", "aaaaaaaabaaaaaaaa", 0, 0, "a"},
		{"another call since", "aaaaaaaaaaaab", 0, 0, ""},
		{"a new habit", "aaaaaaaabbbbbbbbbb", 0, 0, "b"},
		{"in turns", "abababababababab", 0, 0, ""},
		{"the last of the turn", "------------", 0, 0, ""},
		{"seven of ten", "aaabaaabaaabaaabaaab", 0, 0, ""},
	} {
		b, now := Book{}, start
		for _, call := range strings.Split(c.calls, "") {
			b.Add(Observation{Key: Key{Step: "s"}, At: now, Call: strings.Trim(call, "-")})
			now = now.Add(c.every)
		}
		now = now.Add(c.after - c.every)
		p, ok := b.Next(Key{Step: "s"}, now)
		if !ok {
			p.Call = ""
		}
		if p.Call != c.want {
			t.Errorf("%s: predicts %q of %+v, bound %.3f", c.name, p.Call, p, p.Bound())
		}
		if _, ok := b.Next(Key{Step: "s", Skill: "other"}, now); ok {
			t.Errorf("%s: predicted under another skill", c.name)
		}
	}
	// Against the formula as it is usually written: (2np + z² - z sqrt(z² + 4np(1-p))) / 2(n + z²).
	for n := 1.0; n < 200; n += 7 {
		for right := 0.0; right <= n; right += 3 {
			p := right / n
			want := (2*n*p + z*z - z*math.Sqrt(z*z+4*n*p*(1-p))) / (2 * (n + z*z))
			if got := (Pattern{N: n, Right: right}).Bound(); math.Abs(got-want) > 1e-9 {
				t.Fatalf("%v of %v: %v, want %v", right, n, got, want)
			}
		}
	}
	p := Book{}
	for _, at := range []time.Duration{0, 0, 14 * day} {
		p.Add(Observation{Key: Key{Step: "s"}, At: start.Add(at), Call: "a"})
	}
	if got := p[Key{Step: "s"}]; math.Abs(got.N-1.5) > 1e-9 {
		t.Errorf("after a half-life one counts %v", got.N-1)
	}
}

// none is what a first session remembers.
func none() Book { return nil }

// TestAllowance: what is not used takes a quarter of the time that tools of the session took, at every moment.
func TestAllowance(t *testing.T) {
	step, learned := StepOf(Ran{Tool: "edit"}), Followed{Tool: "shell", Arguments: "{}", Took: time.Second}
	early := New("/p", func(s string) string { return s }, none)
	for range 8 {
		early.Saw(step, "", learned)
	}
	earlier := early.book
	m := New("/p", func(s string) string { return s }, func() Book { return earlier })
	if _, _, _, _, ok := m.Next(step, ""); ok {
		t.Error("predicted before any tool has run")
	}
	m.Saw(Step{}, "", Followed{Tools: 8 * time.Second})
	if _, _, took, allowed, ok := m.Next(step, ""); !ok || took != time.Second || allowed != 2*time.Second {
		t.Errorf("%v of %v, %v", took, allowed, ok)
	}
	m.Saw(Step{}, "", Followed{Wasted: 1500 * time.Millisecond})
	if _, _, _, _, ok := m.Next(step, ""); ok {
		t.Error("predicted beyond the allowance")
	}
	late := learned
	late.Tools, late.Wasted = 4*time.Second, time.Second
	m.Saw(step, "", late) // leaves 500 ms
	for _, c := range []struct {
		tools time.Duration
		ok    bool
	}{{5 * time.Second, false}, {time.Second, true}} { // 1,750 ms, 2 s
		m.Saw(Step{}, "", Followed{Tools: c.tools})
		if _, _, took, allowed, ok := m.Next(step, ""); ok != c.ok || took > allowed {
			t.Errorf("after a run of 1 s of the right call that was of no use: %v of %v, %v", took, allowed, ok)
		}
	}
}

// TestSecretsAreNotLearned: neither a call nor a kind of step with a secret, also where JSON spells it in another way.
func TestSecretsAreNotLearned(t *testing.T) {
	secrets := mask.New([]string{"MY_TOKEN=hunt\"er2\n<x>"}, func(name string) bool { return name == "MY_TOKEN" })
	m := New("/p", secrets.Text, none)
	for _, arguments := range []string{`{"command":"login hunt\"er2\n\u003cx>"}`, `{"command":"export PASSWORD=\"swordfish\""}`, `{"api_key":"swordfish"}`} {
		for range 9 {
			m.Saw(StepOf(Ran{Tool: "edit"}), "", Followed{Tool: "shell", Arguments: arguments, Tools: time.Hour})
			m.Saw(StepOf(Ran{Tool: "shell", Command: "PASSWORD=swordfish login"}), "", Followed{Tool: "shell", Arguments: `{}`, Tools: time.Hour})
		}
	}
	if fresh := m.Fresh(); len(fresh) != 0 || len(m.book) != 0 {
		t.Errorf("learned %v", fresh)
	}
	m.Saw(StepOf(Ran{Tool: "edit"}), "", Followed{Tool: "shell", Arguments: `{"command":"login"}`})
	if len(m.Fresh()) != 1 || len(m.Fresh()) != 0 {
		t.Error("what has no secret is not learned, or twice")
	}
}

// TestSnapshot: a snapshot is the same book again, of the latest patterns as far as they fit.
func TestSnapshot(t *testing.T) {
	b, now := Book{}, time.Unix(1_700_000_000, 0).UTC()
	for i := range 2000 {
		for range 7 {
			b.Add(Observation{Key: Key{"/p", "", fmt.Sprint("step ", i)}, At: now.Add(time.Duration(i) * time.Minute), Call: strings.Repeat("c", i%50+1), Took: 10})
		}
	}
	now = now.Add(2000 * time.Minute)
	data := b.Encode(now, "set aside")
	if len(data) > MaxSnapshot || len(data) < MaxSnapshot/2 {
		t.Errorf("%d bytes", len(data))
	}
	read, notice, err := Decode(data)
	if err != nil || notice != "set aside" {
		t.Fatal(err)
	}
	if again := read.Encode(now, notice); string(again) != string(data) {
		t.Errorf("it differs: %s", again)
	}
	if _, ok := read.Next(Key{"/p", "", "step 1999"}, now); !ok {
		t.Error("the latest is not in it")
	}
	if _, ok := read.Next(Key{"/p", "", "step 0"}, now); ok {
		t.Error("the oldest is in it")
	}
	for _, bad := range []string{"", "{}", `{"version":2}`, `{"version":1,"patterns":[{"step":"s","seen":9,"n":1,"right":2}]}`, `{"version":1,"patterns":[{"step":"s","seen":-1}]}`, string(data[:len(data)-1])} {
		if _, _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%.40q was read", bad)
		}
	}
}
