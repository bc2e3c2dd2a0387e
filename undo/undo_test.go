package undo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestUndo: undo restores everything that one turn does to files.
func TestUndo(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 16<<10)
	for name, do := range map[string]func(b *bench){
		"change":                func(b *bench) { b.write("a", "new") },
		"change a large one":    func(b *bench) { b.write("big", "small") },
		"change twice":          func(b *bench) { b.write("a", "new"); b.write("a", "newer") },
		"make":                  func(b *bench) { b.write("new", "new") },
		"make with odd names":   func(b *bench) { b.write("a b\nc", "new"); b.write("\xff\xfe", "x"); b.write("d/\xf0", "x") },
		"change with odd names": func(b *bench) { b.write("odd \xff\n name", "new") },
		"remove":                func(b *bench) { b.remove("a") },
		"remove a link":         func(b *bench) { b.remove("l") },
		"turn a link":           func(b *bench) { b.remove("l"); b.link("elsewhere", "l") },
		"file for link":         func(b *bench) { b.remove("l"); b.write("l", "file") },
		"link for file":         func(b *bench) { b.remove("a"); b.link("d", "a") },
		"folder for file":       func(b *bench) { b.remove("a"); b.mkdir("a"); b.write("a/x", "x") },
		"file for folder":       func(b *bench) { b.remove("empty"); b.write("empty", "file") },
		"mode":                  func(b *bench) { b.chmod("a", 0o755) },
		"mode and content":      func(b *bench) { b.write("a", "new"); b.chmod("a", 0o600) },
		"mode of a folder":      func(b *bench) { b.write("d/x", "new"); b.chmod("d", 0o500) },
		"rename":                func(b *bench) { b.rename("a", "moved") },
		"rename over":           func(b *bench) { b.write("tmp", "new"); b.rename("tmp", "a") },
		"move a folder":         func(b *bench) { b.rename("d", "moved") },
		"move a folder, change": func(b *bench) { b.rename("d", "moved"); b.must(os.WriteFile(b.at("moved/x"), []byte("y"), 0o644)) },
		"move a folder over one": func(b *bench) {
			b.tell("d")
			b.tell("empty")
			b.must(syscall.Rename(b.at("d"), b.at("empty")))
			b.must(os.WriteFile(b.at("empty/x"), []byte("y"), 0o644))
		},
		"a folder made anew": func(b *bench) {
			b.remove("d/sub/y")
			b.remove("d/sub")
			b.mkdir("d/sub")
			b.must(os.WriteFile(b.at("d/sub/z"), []byte("z"), 0o644))
		},
		"two folders exchanged": func(b *bench) {
			b.tell("d")
			b.tell("empty")
			b.must(os.Rename(b.at("d"), b.at("t")))
			b.must(os.Rename(b.at("empty"), b.at("d")))
			b.must(os.Rename(b.at("t"), b.at("empty")))
			b.must(os.WriteFile(b.at("d/new"), []byte("x"), 0o644))
			b.must(os.WriteFile(b.at("empty/x"), []byte("y"), 0o644))
		},
		"move a folder, and out": func(b *bench) { b.rename("d", "moved"); b.must(os.Rename(b.at("moved/sub"), b.at("moved/other"))) },
		"make a tree": func(b *bench) {
			b.mkdir("t")
			b.must(os.MkdirAll(b.at("t/u/v"), 0o755))
			b.must(os.WriteFile(b.at("t/u/v/w"), []byte("w"), 0o600))
		},
		"make a tree, move it": func(b *bench) {
			b.mkdir("t")
			b.must(os.MkdirAll(b.at("t/u/v"), 0o755))
			b.rename("t", "t2")
		},
		"make a fifo":         func(b *bench) { b.tell("pipe"); b.must(syscall.Mkfifo(b.at("pipe"), 0o600)) },
		"a read-only file":    func(b *bench) { b.chmod("d/ro", 0o600); b.write("d/ro", "new"); b.chmod("d/ro", 0o444) },
		"empty folder":        func(b *bench) { b.remove("empty") },
		"told and not done":   func(b *bench) { b.tell("a"); b.tell("never") },
		"remove a whole tree": func(b *bench) { b.tell("d"); b.must(os.RemoveAll(b.at("d"))) },
		"through another name": func(b *bench) {
			b.tell("a")
			b.tell("hard")
			b.must(os.Link(b.at("a"), b.at("hard")))
			b.must(os.WriteFile(b.at("hard"), []byte("new"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.user("a", "old a\r\n")
			b.user("big", big)
			b.user("d/x", "old x")
			b.user("d/sub/y", "old y")
			b.user("odd \xff\n name", "old")
			b.user("two", "old two")
			b.must(os.Link(b.at("two"), b.at("names")))
			b.must(os.Symlink("a", b.at("l")))
			b.must(os.Mkdir(b.at("empty"), 0o751))
			b.user("d/ro", "old ro")
			b.must(os.Chmod(b.at("d/ro"), 0o444))
			was := tree(t, b.ws)
			b.turn(func() { do(b) })
			if name == "told and not done" {
				if _, err := b.ses.Plan(all); !errors.Is(err, ErrNothing) {
					t.Fatalf("nothing was changed: %v", err)
				}
				return
			}
			// Another process undoes: everything must come from the disk.
			b.ses.Close()
			b.open()
			p := b.undo()
			if len(p.Conflicts)+len(p.NotKept) > 0 || p.Cut {
				t.Errorf("conflicts %v, not kept %v, cut %v", p.Conflicts, p.NotKept, p.Cut)
			}
			same(t, was, b.ws)
			if _, err := b.ses.Plan(all); !errors.Is(err, ErrNothing) {
				t.Errorf("it can be undone twice: %v", err)
			}
		})
	}
}

// TestTurnByTurn: each further undo goes back one more turn.
// TestContents: the preview of a step compares what the plan found with what it restores.
func TestContents(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.user("gone", "was here")
	b.user("big", strings.Repeat("x", 100))
	b.turn(func() {
		b.write("a", "new")
		b.remove("gone")
		b.write("made", "")
		b.write("big", "small")
		b.chmod("a", 0o600)
	})
	look := func() map[string]string {
		p, err := b.ses.Plan(all)
		b.must(err)
		got := map[string]string{}
		b.write("a", "changed")
		for _, again := range []string{"", "later "} {
			if again != "" {
				b.user("made", "by somebody else")
			}
			for _, s := range p.Steps {
				now, restored, ok := p.Contents(s, 50)
				got[again+filepath.Base(s.Path)] = fmt.Sprintf("%q %v, %q %v, %v", now, now != nil, restored, restored != nil, ok)
			}
		}
		return got
	}
	want := map[string]string{
		"a": `"" false, "" false, false`, "gone": `"" false, "was here" true, true`, "made": `"" true, "" false, true`, "big": `"" false, "" false, false`,
		"later a": `"" false, "" false, false`, "later gone": `"" false, "was here" true, true`, "later made": `"" false, "" false, false`, "later big": `"" false, "" false, false`,
	}
	if diff := cmp.Diff(want, look()); diff != "" {
		t.Error(diff)
	}
}

func TestTurnByTurn(t *testing.T) {
	b := newBench(t)
	b.user("a", "0")
	var was []map[string]string
	for _, step := range []func(){
		func() { b.write("a", "1"); b.mkdir("d"); b.write("d/new", "1") },
		func() { b.write("a", "2"); b.write("d/new", "2") },
		func() { b.remove("a"); b.rename("d", "e") },
	} {
		was = append(was, tree(t, b.ws))
		b.turn(step)
	}
	b.turn(func() {}) // a turn without changes is skipped
	for _, w := range slices.Backward(was) {
		if p := b.undo(); len(p.Conflicts) > 0 {
			t.Errorf("conflicts: %v", p.Conflicts)
		}
		same(t, w, b.ws)
	}
}

// TestNamedTurn: a turn is undone by its number, and what a later turn changed as well is left alone.
func TestNamedTurn(t *testing.T) {
	b := newBench(t)
	b.user("a", "0")
	b.user("b", "0")
	if n := b.ses.Recorded(); n != 0 {
		t.Errorf("a session without a turn has number %d", n)
	}
	b.turn(func() { b.write("a", "1"); b.write("b", "1") })
	first := b.ses.Recorded()
	b.turn(func() { b.write("b", "2") })
	if second := b.ses.Recorded(); first == 0 || second != first+1 {
		t.Fatalf("the numbers are %d and %d", first, second)
	}
	all := func(Step) string { return "" }
	p, err := b.ses.PlanOf(first, all)
	if err != nil || len(p.Steps) != 1 || p.Steps[0].Path != b.at("a") || len(p.Conflicts) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, n := range []int{first + 2, -1, 0} {
		if _, err := b.ses.PlanOf(n, all); !errors.Is(err, ErrNothing) {
			t.Errorf("turn %d: %v", n, err)
		}
	}
}

// TestUsersEdits: what the user changed after the agent, or between its calls, is
// shown and left alone.
func TestUsersEdits(t *testing.T) {
	b := newBench(t)
	for _, n := range []string{"later", "between", "before", "mode", "content", "back"} {
		b.user(n, "old")
	}
	b.ses.Begin("")
	b.user("before", "user's")
	b.during(func() {
		for _, n := range []string{"later", "between", "before", "back"} {
			b.write(n, "agent's")
		}
		b.chmod("mode", 0o600)
		b.write("content", "agent's")
		b.mkdir("d")
		b.write("d/x", "agent's")
		b.write("gone", "agent's")
		b.write("made", "agent's")
	})
	b.user("between", "agent's and user's")
	b.during(func() { b.write("between", "agent's again") })
	b.ses.End()
	b.user("later", "user's")
	b.user("mode", "user's")
	b.must(os.Chmod(b.at("content"), 0o600))
	b.user("d/mine", "user's")
	b.user("made", "user's")
	b.user("back", "user's")
	b.user("back", "agent's") // the same bytes again are the agent's
	b.must(os.Remove(b.at("gone")))
	p := b.undo()
	var conflicts []string
	for _, c := range p.Conflicts {
		conflicts = append(conflicts, strings.TrimPrefix(c.Path, b.ws+"/"))
	}
	if want := []string{"between", "d", "later", "made"}; !slices.Equal(conflicts, want) {
		t.Errorf("conflicts %v, want %v", conflicts, want)
	}
	for name, want := range map[string]string{
		"later": "-rw-r--r-- user's", "between": "-rw-r--r-- agent's again", "before": "-rw-r--r-- user's",
		"mode": "-rw-r--r-- user's", "content": "-rw------- old", "d/mine": "-rw-r--r-- user's", "d/x": "", "gone": "",
		"made": "-rw-r--r-- user's", "back": "-rw-r--r-- old",
	} {
		if is := tree(t, b.ws)[name]; is != want {
			t.Errorf("%s is %q, want %q", name, is, want)
		}
	}
}

// TestCutOff: a turn that codeagent did not live to end can be undone, and later changes are
// left alone.
func TestCutOff(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.user("b", "old")
	b.user("gone", "old")
	b.ses.Begin("")
	b.call = b.ses.Call()
	b.write("a", "new")
	b.write("b", "new")
	b.remove("gone")
	b.write("made", "new")
	log := filepath.Join(b.ses.folder(1), logName)
	data, err := os.ReadFile(log)
	b.must(err)
	b.must(b.ses.Close()) // as the kernel does at the end of a process
	// A torn line at the end, and a log that was last written some time ago.
	b.must(os.WriteFile(log, append(data, `{"kind":"bef`...), 0o600))
	b.open()
	p := b.plan()
	if !p.Cut || len(p.Steps) != 4 || len(p.Conflicts) != 0 {
		t.Errorf("cut %v, steps %v, conflicts %v", p.Cut, p.Steps, p.Conflicts)
	}
	long := time.Now().Add(-time.Hour)
	b.must(os.Chtimes(log, long, long))
	if p = b.plan(); len(p.Conflicts) != 3 || len(p.Steps) != 1 || p.Steps[0].Do != Recreate {
		t.Errorf("what may be somebody else's work: steps %v, conflicts %v", p.Steps, p.Conflicts)
	}
}

// TestCutOffInASecondCall: the state that one call left does not show what the next one was
// doing when codeagent died.
func TestCutOffInASecondCall(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.ses.Begin("")
	b.during(func() { b.write("a", "new") })
	one, other := b.ses.Call(), b.ses.Call() // in parallel
	for _, b.call = range []*Call{one, other} {
		b.tell("a")
	}
	one.Settle()
	b.must(os.Chmod(b.at("a"), 0o755)) // by the other
	b.must(b.ses.Close())
	b.open()
	p := b.plan()
	if len(p.Conflicts) > 0 || len(p.Steps) != 1 || !p.Steps[0].mode || !p.Steps[0].content {
		t.Fatalf("steps %+v, conflicts %v", p.Steps, p.Conflicts)
	}
	// If it survives, the states that both left are recorded.
	b.ses.Begin("")
	b.during(func() { b.write("a", "newer") })
	one, other = b.ses.Call(), b.ses.Call()
	for _, b.call = range []*Call{one, other} {
		b.chmod("a", 0o700)
	}
	one.Settle()
	other.Settle()
	b.ses.End()
	b.user("a", "mine")
	if p = b.plan(); len(p.Conflicts) != 1 {
		t.Errorf("the user's own change: %d conflicts, want 1; steps %+v", len(p.Conflicts), p.Steps)
	}
}
