package undo

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// TestCallsAtOnce: several commands change the same files at the same time, one of them in the
// background beyond its turn; all of it can be undone.
func TestCallsAtOnce(t *testing.T) {
	b := newBench(t)
	const files, calls = 40, 6
	for i := range files {
		b.user(fmt.Sprintf("f%02d", i), "old")
	}
	was := tree(t, b.ws)
	dir, err := os.Open(b.ws)
	b.must(err)
	defer dir.Close()
	background := b.ses.Call()
	work := func(c *Call, n int) {
		for i := range files {
			name := fmt.Sprintf("f%02d", (i*7+n)%files)
			c.BeforeChange(int(dir.Fd()), name, b.at(name))
			if err := os.WriteFile(b.at(name), fmt.Appendf(nil, "call %d", n), 0o644); err != nil {
				t.Error(err)
			}
			made := fmt.Sprintf("made-%d-%d", n, i)
			c.BeforeChange(int(dir.Fd()), made, b.at(made))
			if err := os.Mkdir(b.at(made), 0o755); err != nil {
				t.Error(err)
			}
		}
	}
	for turn := range 2 {
		b.ses.Begin("")
		var all sync.WaitGroup
		for n := range calls {
			all.Go(func() {
				c := b.ses.Call()
				work(c, turn*calls+n)
				c.Settle()
			})
		}
		all.Wait()
		if turn == 0 {
			work(background, 100)
		}
		b.ses.End()
	}
	for range 2 {
		if p := b.undo(); len(p.Conflicts)+len(p.NotKept) > 0 {
			t.Errorf("conflicts %v, not kept %v", p.Conflicts, p.NotKept)
		}
	}
	same(t, was, b.ws)
}
