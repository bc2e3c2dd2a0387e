package tools

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/draft"
	"codeagent/exec"
	"codeagent/sandbox"
)

// TestNothingStaleIsKept: of a thousand runs none is kept after what it read, or what would run, is another. The runs are
// made up: what they look up is passed on as a backend would. That a backend passes on all is in the tests of draft.
func TestNothingStaleIsKept(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const cases = 1000
	random := rand.New(rand.NewPCG(1, 2))
	write := func(at, text string) error { return os.WriteFile(at, []byte(text), 0o644) }
	for i := range cases {
		at := fmt.Sprint(root, "/", i)
		if err := errors.Join(os.MkdirAll(at+"/folder/below", 0o755), write(at+"/file", "one"), write(at+"/folder/one", ""), write(at+"/other", ""), os.Symlink("file", at+"/link"), os.Symlink("gone", at+"/dangling")); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(20 * time.Millisecond) // else what is new looks as if it changed during the run
	policy := sandbox.WorkspaceWrite(root)
	// Each changes one case. ran are the permissions and the command of the call.
	type ran struct {
		policy sandbox.Policy
		exec.Command
	}
	changes := []struct {
		what    string
		stale   bool
		command bool // not for a tool that only reads: its call is compared before
		do      func(at string, r *ran, t *Trial) error
	}{
		{"nothing", false, false, func(string, *ran, *Trial) error { return nil }},
		{"a file that was not read", false, false, func(at string, _ *ran, _ *Trial) error { return write(at+"/other", "x") }},
		{"content", true, false, func(at string, _ *ran, _ *Trial) error { return write(at+"/file", "more") }},
		{"content of the same size and time", true, false, func(at string, _ *ran, _ *Trial) error {
			info, err := os.Stat(at + "/file")
			if err != nil {
				return err
			}
			return errors.Join(write(at+"/file", "two"), os.Chtimes(at+"/file", info.ModTime(), info.ModTime()))
		}},
		{"another file of the same name", true, false, func(at string, _ *ran, _ *Trial) error {
			return errors.Join(write(at+"/new", "one"), os.Rename(at+"/new", at+"/file"))
		}},
		{"removed", true, false, func(at string, _ *ran, _ *Trial) error { return os.Remove(at + "/file") }},
		{"mode", true, false, func(at string, _ *ran, _ *Trial) error { return os.Chmod(at+"/file", 0o600) }},
		{"an entry of a folder", true, false, func(at string, _ *ran, _ *Trial) error { return write(at+"/folder/two", "") }},
		{"one entry less", true, false, func(at string, _ *ran, _ *Trial) error { return os.Remove(at + "/folder/one") }},
		{"a folder instead of it", true, false, func(at string, _ *ran, _ *Trial) error {
			return errors.Join(os.Remove(at+"/file"), os.Mkdir(at+"/file", 0o755))
		}},
		{"an absent name", true, false, func(at string, _ *ran, _ *Trial) error { return write(at+"/absent", "") }},
		{"an absent name below", true, false, func(at string, _ *ran, _ *Trial) error { return os.MkdirAll(at+"/none/absent", 0o755) }},
		{"where a link leads", true, false, func(at string, _ *ran, _ *Trial) error {
			return errors.Join(os.Remove(at+"/link"), os.Symlink("other", at+"/link"))
		}},
		{"the target of a dangling link", true, false, func(at string, _ *ran, _ *Trial) error { return write(at+"/gone", "") }},
		{"the folder moved", true, false, func(at string, _ *ran, _ *Trial) error { return os.Rename(at, at+"-moved") }},
		{"a permission more", true, false, func(_ string, r *ran, _ *Trial) error {
			r.policy = policy.With(sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "h", Port: 1}}})
			return nil
		}},
		{"a variable", true, false, func(_ string, r *ran, _ *Trial) error {
			r.policy = policy.Clone()
			r.policy.Env.Set = map[string]string{"A": "1"}
			return nil
		}},
		{"another command", true, true, func(_ string, r *ran, _ *Trial) error { r.Argv = []string{"sh", "-c", "false"}; return nil }},
		{"another folder", true, true, func(_ string, r *ran, _ *Trial) error { r.Dir = "/"; return nil }},
		{"another time limit", true, true, func(_ string, r *ran, _ *Trial) error { r.Timeout = time.Hour; return nil }},
		{"a network", true, true, func(_ string, _ *ran, t *Trial) error {
			t.outcome.Trace.Denials = []sandbox.Denial{{Kind: sandbox.KindNetwork, Target: "h:1"}}
			return nil
		}},
		{"not all was seen", true, true, func(_ string, _ *ran, t *Trial) error {
			t.outcome.Trace.Evidence = sandbox.EvidenceNetworkOnly
			return nil
		}},
		{"killed", true, true, func(_ string, _ *ran, t *Trial) error { t.outcome.Interrupted = true; return nil }},
		{"a limit", true, true, func(_ string, _ *ran, t *Trial) error { t.outcome.Limit = sandbox.LimitWall; return nil }},
		{"an unseen name", true, false, func(_ string, _ *ran, t *Trial) error { t.draft.Looked("not all was seen", false); return nil }},
	}
	drafts, kept, wrong := t.TempDir(), 0, 0
	for i := range cases {
		at := fmt.Sprint(root, "/", i)
		r := ran{policy, exec.Command{Argv: []string{"sh", "-c", "true"}, Dir: at}}
		d, err := draft.New(drafts, at, r.Argv, policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"/file", "/folder", "/absent", "/none/absent", "/link", "/dangling", "/folder/below"} {
			d.Looked(at+name, random.IntN(2) == 0 || name == "/folder")
		}
		trial := &Trial{draft: d, policy: policy, command: r.Command, ahead: true, outcome: exec.Outcome{Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull}}}
		// The first is what makes it stale, if anything does; the second is harmless.
		row := changes[random.IntN(len(changes))]
		if i < len(changes) {
			row = changes[i]
		}
		if err := errors.Join(row.do(at, &r, trial), changes[random.IntN(2)].do(at, &r, trial)); err != nil && row.what != "the folder moved" {
			t.Fatal(row.what, err)
		}
		read := &call{repeats: true, action: approvals.Action{Tool: "read_file"}}
		why := trial.differs(r.policy, r.Command)
		_, again := trial.kept(read, r.policy)
		if (why != "") != row.stale || again == (row.stale && !row.command) {
			wrong++
			t.Errorf("%d, %s: %q, kept as a read: %v", i, row.what, why, again)
		}
		if why == "" {
			kept++
		}
		trial.Drop()
	}
	t.Logf("%d of %d kept, %d wrongly", kept, cases, wrong)
}
