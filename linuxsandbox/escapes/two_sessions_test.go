//go:build linux

package escapes

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
)

// TestTwoSessions: commands of two sessions make the two marks of a git directory at the same time, each of
// which is harmless alone. Below somebody else's repository the folder has hooks then. Without the
// locks between sessions that succeeds.
func TestTwoSessions(t *testing.T) {
	const one = `
import os, sys
def wait(name):
    while not os.path.exists(name):
        if os.path.exists("won"): sys.exit()
for i in range(int(sys.argv[2])):
    w = "w%d" % i
    if sys.argv[1] == "a":
        os.makedirs(w + "/hooks"); open(w + "/hooks/post-checkout", "w").write("evil"); os.makedirs(w + "/refs")
        open("a%d" % i, "w").close(); wait("b%d" % i)
        make = lambda: os.mkdir(w + "/objects")
    else:
        wait("a%d" % i); open("b%d" % i, "w").close()
        make = lambda: open(w + "/HEAD", "w").write("ref: refs/heads/main\n")
    try: make()
    except OSError: pass
    if os.path.exists(w + "/HEAD") and os.path.exists(w + "/objects"):
        open("won", "w").close()
`
	attack.Need(t, "python3", "git")
	locks := filepath.Join(t.TempDir(), "locks")
	sessions := func(share bool) (th, other *backendtest.Theatre) {
		a, b := backendtest.New(t), backendtest.New(t)
		t.Cleanup(func() { a.Close(); b.Close() })
		if share {
			if err := errors.Join(a.Share(locks), b.Share(locks)); err != nil {
				t.Fatal(err)
			}
		}
		th = backendtest.NewTheatre(t, a)
		both := *th
		both.Backend = b
		if out, err := exec.Command("git", "init", "-q", th.Dir).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		return th, &both
	}
	planted := func(th, other *backendtest.Theatre, rounds string) bool {
		done := make(chan struct{})
		go func() {
			defer close(done)
			other.Shell(t, "python3 -c '"+one+"' b "+rounds)
		}()
		th.Shell(t, "python3 -c '"+one+"' a "+rounds)
		<-done
		_, err := os.Stat(th.Dir + "/won")
		return err == nil
	}
	if th, other := sessions(false); !planted(th, other, "20000") {
		t.Error("does not work without the locks")
	}
	th, other := sessions(true)
	if planted(th, other, "100") {
		t.Error("works with the locks")
	}
	const bare = "git init -q --bare "
	if out, denials := other.Shell(t, bare+"x || true"); len(denials) != 1 || !strings.Contains(denials[0].Why, "another session") {
		t.Errorf("beside another session: %s %+v", out, denials)
	}
	other.Backend.Close()
	if out, denials := th.Shell(t, bare+"y; "+bare+"z"); len(denials) > 0 {
		t.Errorf("after the other's end: %s %+v", out, denials)
	}
	elsewhere, _ := sessions(true)
	if out, denials := elsewhere.Shell(t, bare+"y"); len(denials) > 0 {
		t.Errorf("beside a session elsewhere: %s %+v", out, denials)
	}
}
