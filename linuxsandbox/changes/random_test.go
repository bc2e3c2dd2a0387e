//go:build linux

package changes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestKeptAtRandom: whatever programs do, one after the other or at the same time, is restored.
func TestKeptAtRandom(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestKeptElsewhere")
	if !f.Broker {
		t.Skip("no broker here: " + f.NoBroker)
	}
	runs := machine.Times(6, 24)
	changed := 0
	for seed := range runs {
		ws, p := keptPlace(t, sandbox.WorkspaceWrite())
		furnishAtRandom(t, b, p, ws, seed)
		before, album := treeOf(t, ws), newAlbum()
		if seed%3 == 2 { // programs that change the same folders
			var all sync.WaitGroup
			for i := range 3 {
				all.Go(func() { operate(t, b, p, ws, 100, 1000*seed+i, album) })
			}
			all.Wait()
		} else {
			operate(t, b, p, ws, 200, seed, album)
		}
		changed += len(differences(before, treeOf(t, ws)))
		album.putBack(t)
		if wrong := differences(before, treeOf(t, ws)); len(wrong) > 0 {
			t.Errorf("seed %d: not put back:\n%s\ntold %q", seed, strings.Join(wrong, "\n"), album.told)
		}
	}
	if changed < 5*runs {
		t.Errorf("%d changes in %d runs show little", changed, runs)
	}
}

// furnishAtRandom fills the workspace as such a program does, but gives no file a second name: if
// one name is written and then removed, the content remains under the other.
func furnishAtRandom(t *testing.T, b *linuxsandbox.Backend, p sandbox.Policy, ws string, seed int) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	name := func() string { return string("abcd"[r.IntN(4)]) }
	var script strings.Builder
	for range 30 {
		dir := name() + "/" + name()
		fmt.Fprintf(&script, "mkdir -p %s; echo %d > %s/%s; chmod %o %s\n", dir, r.Int(), dir, name(), []int{0o700, 0o750, 0o755}[r.IntN(3)], dir)
	}
	script.WriteString("ln -s a/b a/link; ln -s ../b b/d; true\n")
	if st, out := runKept(t, b, p, ws, "set +e; { "+script.String()+"} 2>/dev/null", nil); st.Exit != 0 {
		t.Fatalf("%+v\n%s", st, out)
	}
}

func operate(t *testing.T, b *linuxsandbox.Backend, p sandbox.Policy, ws string, count, seed int, observer sandbox.ChangeObserver) {
	st, out := sandboxtest.Output(t, b, p, sandbox.Command{
		Path: attack.Need(t, "python3"), Args: []string{"python3", "-c", backendtest.RandomOperations, fmt.Sprint(count), fmt.Sprint(seed)}, Dir: ws, Env: backendtest.JobEnv(ws, p.Temp), Observer: observer,
	})
	// A process that writes to a mapped file which another one truncates gets SIGBUS.
	if st.Signal != int(unix.SIGBUS) && (st.Exit != 0 || st.Signal != 0) {
		t.Errorf("seed %d: %+v\n%s", seed, st, out)
	}
}
