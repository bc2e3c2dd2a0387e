package undo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"codeagent/exec/worker"
)

// apply executes a plan, in a process that knows only what is on the disk.
func (b *bench) apply(p *Plan, err error) {
	b.t.Helper()
	b.must(err)
	if r, err := b.ses.Apply(context.Background(), p, hands{}); err != nil || len(r.Failed) > 0 {
		b.t.Fatalf("%v, failed: %v", err, r.Failed)
	}
	b.ses.Close()
	b.open()
}

// changes are turns that change, make, move and remove files and folders.
func changes(b *bench) []func() {
	return []func(){
		func() { b.write("a", "1"); b.mkdir("d"); b.write("d/new", "1"); b.link("a", "l") },
		func() { b.write("a", "2"); b.write("d/new", "2"); b.chmod("keep", 0o600) },
		func() { b.remove("a"); b.rename("d", "e"); b.remove("l"); b.mkdir("l") },
		func() { b.write("a", "4"); b.write("e/new", "4"); b.write("keep", "4"); b.remove("gone") },
	}
}

// TestSince: files go back to the state before any turn as one step, and come back.
func TestSince(t *testing.T) {
	for n := range 4 {
		b := newBench(t)
		b.user("a", "0")
		b.user("keep", "0")
		b.user("gone", "0")
		var was []map[string]string
		var marks []int
		for _, turn := range changes(b) {
			was = append(was, tree(t, b.ws))
			b.ses.Begin("do it")
			marks = append(marks, b.ses.Next())
			b.during(turn)
			b.ses.End()
		}
		final := tree(t, b.ws)
		p, err := b.ses.PlanSince(marks[n], all)
		if err == nil && (len(p.Conflicts)+len(p.NotKept) > 0 || p.Turns() != 4-n) {
			t.Errorf("%d turns, conflicts %v, not kept %v", p.Turns(), p.Conflicts, p.NotKept)
		}
		b.apply(p, err)
		same(t, was[n], b.ws)
		b.apply(b.ses.PlanRedo(all))
		same(t, final, b.ws)
		if _, err := b.ses.PlanRedo(all); !errors.Is(err, ErrNothing) {
			t.Errorf("it can be redone twice: %v", err)
		}
		b.apply(b.ses.Plan(all)) // the turns can be undone as before
		same(t, was[3], b.ws)
	}
}

// oneTurn is the number of a turn, the files before it, and which turns were in effect then.
type oneTurn struct {
	mark   int
	before map[string]string
	done   []oneTurn
}

// TestAnyOrder: turns, undo, redo and going back in any order lead to the states that they led to before.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t)
		b.user("a", "0")
		// done are the states before the turns that are not undone, undone those that a redo leads to.
		var line, done []oneTurn // all turns; those that are not undone
		type back struct {
			after map[string]string
			done  []oneTurn
		}
		var undone []back
		for step := range 14 {
			now := tree(t, b.ws)
			switch op := r.IntN(5); {
			case op < 2 || len(line) == 0:
				b.ses.Begin("do it")
				made := oneTurn{b.ses.Next(), now, done}
				b.during(func() {
					for range 1 + r.IntN(3) {
						name := string(rune('a' + r.IntN(4)))
						if _, there := tree(t, b.ws)[name]; there && r.IntN(3) == 0 {
							b.remove(name)
						} else {
							b.write(name, fmt.Sprint(seed, step, r.IntN(9)))
						}
					}
					b.write("each", fmt.Sprint(step))
				})
				b.ses.End()
				line, done, undone = append(line, made), append(slices.Clone(done), made), nil
			case op == 2 && len(done) > 0:
				b.apply(b.ses.Plan(all))
				same(t, done[len(done)-1].before, b.ws)
				undone = append(undone, back{now, done})
				done = done[:len(done)-1]
			case op == 3:
				to := line[r.IntN(len(line))]
				p, err := b.ses.PlanSince(to.mark, all)
				if errors.Is(err, ErrNothing) || err == nil && len(p.Steps) == 0 {
					same(t, to.before, b.ws)
					continue
				}
				b.apply(p, err)
				same(t, to.before, b.ws)
				undone = append(undone, back{now, done})
				done = to.done // also those that an undo since had undone
			case op == 4 && len(undone) > 0:
				last := undone[len(undone)-1]
				b.apply(b.ses.PlanRedo(all))
				same(t, last.after, b.ws)
				undone, done = undone[:len(undone)-1], last.done
			case op == 4:
				if p, err := b.ses.PlanRedo(all); !errors.Is(err, ErrNothing) {
					t.Fatalf("there is something to redo: %+v, %v", p, err)
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

// TestSent: what was undone stays undone once another turn began, also for the next process.
func TestSent(t *testing.T) {
	b := newBench(t)
	b.user("a", "0")
	b.turn(func() { b.write("a", "1") })
	b.turn(func() { b.write("a", "2") })
	b.undo()
	b.undo()
	b.apply(b.ses.PlanRedo(all))
	b.has("a", "1")
	b.ses.Close()
	b.open()
	b.ses.Begin("a turn without changes")
	b.ses.End()
	for range 2 {
		if p, err := b.ses.PlanRedo(all); !errors.Is(err, ErrNothing) {
			t.Errorf("it can be redone: %+v, %v", p, err)
		}
		b.ses.Close()
		b.open()
	}
	b.apply(b.ses.Plan(all))
	b.has("a", "0")
	b.apply(b.ses.PlanRedo(all))
	b.has("a", "1")
}

// TestSinceLeavesAlone: what somebody else changed after or between the turns stays, and is named.
func TestSinceLeavesAlone(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"after", "between", "ours"} {
		b.user(name, "0")
	}
	b.turn(func() { b.write("after", "1"); b.write("between", "1"); b.write("ours", "1"); b.write("made", "1") })
	b.user("between", "theirs")
	b.turn(func() { b.write("between", "2"); b.write("ours", "2") })
	b.user("after", "theirs")
	p, err := b.ses.PlanSince(1, all)
	b.must(err)
	if got := b.names(p.Conflicts); got != "after between" {
		t.Errorf("left alone: %s", got)
	}
	b.apply(p, nil)
	b.has("after", "theirs")
	b.has("between", "2")
	b.has("ours", "0")
	b.user("ours", "theirs")
	b.apply(b.ses.PlanRedo(all))
	b.has("ours", "theirs")
	b.has("made", "1")
}

// killed is hands that die before a change.
type killed struct {
	hands
	left *int
}

func (k killed) dies() {
	if *k.left--; *k.left < 0 {
		panic(k)
	}
}

func (k killed) Put(p string, content []byte, mode fs.FileMode, now worker.Expect) (worker.Info, error) {
	k.dies()
	return k.hands.Put(p, content, mode, now)
}
func (k killed) Symlink(p, to string, now worker.Expect) error {
	k.dies()
	return k.hands.Symlink(p, to, now)
}
func (k killed) Mkdir(p string, mode fs.FileMode, parents bool) error {
	k.dies()
	return k.hands.Mkdir(p, mode, parents)
}
func (k killed) Remove(p string, now worker.Expect) error { k.dies(); return k.hands.Remove(p, now) }

// TestKilled: if codeagent is killed at any point of going back, the files can go on back, and can also
// come back as they were.
func TestKilled(t *testing.T) {
	for _, on := range []bool{true, false} {
		for after := 0; ; after++ {
			b := newBench(t)
			b.user("a", "0")
			b.user("keep", "0")
			b.user("gone", "0")
			was := tree(t, b.ws)
			for _, turn := range changes(b) {
				b.turn(turn)
			}
			final := tree(t, b.ws)
			p, err := b.ses.PlanSince(1, all)
			b.must(err)
			left, died := after, false
			func() {
				defer func() { died = recover() != nil }()
				_, _ = b.ses.Apply(context.Background(), p, killed{left: &left})
			}()
			if !died {
				break
			}
			b.ses.Close()
			b.open()
			if on {
				p, err := b.ses.PlanSince(1, all)
				b.apply(p, err)
				same(t, was, b.ws)
			} else {
				b.apply(b.ses.PlanRedo(all))
				same(t, final, b.ws)
			}
			if t.Failed() {
				t.Fatalf("killed after %d changes, further back: %v; now %v", after, on, maps.Collect(maps.All(tree(t, b.ws))))
			}
		}
	}
}

// TestSinceWithoutARecord: a turn of which there is no record is named, and what it may have left stays.
func TestSinceWithoutARecord(t *testing.T) {
	b := newBench(t)
	b.user("a", "0")
	b.turn(func() { b.write("a", "1"); b.write("made", "1") })
	b.turn(func() { b.write("b", "2") })
	b.must(os.RemoveAll(b.ses.folder(1)))
	p, err := b.ses.PlanSince(1, all)
	b.must(err)
	if p.More != "there is no record of 1 turn" || len(p.Steps) != 0 || b.names(p.Conflicts) != "b" {
		t.Errorf("%q, %v, %v", p.More, p.Steps, p.Conflicts)
	}
	if _, err := b.ses.PlanSince(3, all); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing was changed since: %v", err)
	}
}
