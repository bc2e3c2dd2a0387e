package tools

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/approvals"
	"codeagent/exec/worker"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/patch"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestMain lets the test binary serve as the sandbox helper, as codeagent does.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == linuxsandbox.HelperName {
		syscall.Exit(linuxsandbox.HelperMain(os.Args))
	}
	sandboxtest.HeedSignals()
	os.Exit(machine.Run(m))
}

// confined is a place whose calls run in the real sandbox.
func confined(t *testing.T, files map[string]string) *place {
	t.Helper()
	b, err := linuxsandbox.New(linuxsandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if _, err := sandboxtest.Enforcement(b, sandbox.WorkspaceWrite("/usr")); err != nil {
		t.Skipf("the sandbox cannot be set up here: %v", err)
	}
	p := newPlace(t, files)
	p.backend = b
	return p
}

// Every tool does its work in the real sandbox.
func TestToolsConfined(t *testing.T) {
	p := confined(t, map[string]string{"a.txt": "a\nneedle\n", "old": "old\n", ".gitignore": "ignored\n", "ignored": "needle\n"})
	p.ok("apply_patch", args{"patch": "*** Begin Patch\n*** Update File: a.txt\n-a\n+A\n*** Delete File: old\n*** Add File: sub/n\n+needle\n*** Update File: .keep\n*** Move to: kept\n+k\n*** End Patch"})
	want := map[string]string{"a.txt": "A\nneedle\n", "sub/n": "needle\n", "kept": "k\n", ".gitignore": "ignored\n", "ignored": "needle\n"}
	if diff := cmp.Diff(want, p.tree(p.ws)); diff != "" {
		t.Error(diff)
	}
	if r := p.ok("read_file", args{"path": "a.txt"}); r.Text != "1\tA\n2\tneedle" {
		t.Errorf("%q", r.Text)
	}
	p.write("../out/a.png", pngOf(t, 4, 3))
	if r := p.ok("view_image", args{"path": p.out + "/a.png"}); len(r.Images) != 1 {
		t.Errorf("%+v", r)
	}
	p.remove("../out/a.png")
	if r := p.ok("list_files", args{}); r.Text != ".gitignore\na.txt\nkept\nsub/\nsub/n" {
		t.Errorf("%q", r.Text)
	}
	if r := p.ok("search", args{"pattern": "needle"}); r.Text != "a.txt:2:needle\nsub/n:1:needle" {
		t.Errorf("%q", r.Text)
	}
	if r := p.ok("shell", args{"command": "cat a.txt"}); r.Output != "A\nneedle\n" {
		t.Errorf("%+v", r)
	}
	target := filepath.Join(p.out, "made")
	r, err := p.do("shell", args{"command": "echo x > " + target})
	if err != nil || !r.Failed || p.read(target) != "(absent)" {
		t.Errorf("a write outside: %+v, %v", r, err)
	}
	p.answer = approvals.Answer{Decision: approvals.Once}
	p.ok("shell", args{"command": "echo x > " + target, "additional_permissions": args{"write": []string{p.out}}, "justification": "test"})
	if p.read(target) != "x\n" {
		t.Error("a granted write was not made")
	}
	p.ok("apply_patch", updateOf(target, "-x\n+patched\n"))
	if p.read(target) != "patched\n" {
		t.Error("a granted edit was not made")
	}
}

// E1: a link that a command made inside the sandbox does not lead the file tool
// out. E3: nor does one to a path that does not exist, or that cannot be resolved.
func TestEscapeE1E3LinkMadeByCommand(t *testing.T) {
	p := confined(t, nil)
	p.mode = approvals.Never
	p.ok("shell", args{"command": "ln -s " + p.out + "/secret l; ln -s " + p.out + " d; ln -s " + p.out + "/not-yet n; ln -s loop loop"})
	// Without the defence a write through the link changes the file outside.
	if err := os.WriteFile(filepath.Join(p.ws, "n"), []byte("escaped\n"), 0o644); err != nil || p.read(p.out+"/not-yet") != "escaped\n" {
		t.Fatalf("the attack does not work here: %v", err)
	}
	p.remove("../out/not-yet")
	for _, patch := range []args{
		updateOf("l", "-secret\n+x\n"), updateOf("d/secret", "-secret\n+x\n"), addOf("n", "x"), addOf("d/new", "x"), addOf("loop", "x"), addOf("loop/x", "x"),
		{"patch": "*** Begin Patch\n*** Delete File: d/secret\n*** End Patch"},
		{"patch": "*** Begin Patch\n*** Update File: .keep\n*** Move to: d/keep\n*** End Patch"},
	} {
		if r, err := p.do("apply_patch", patch); err == nil && !r.Failed {
			t.Errorf("%v: %+v", patch, r)
		}
		if diff := cmp.Diff(map[string]string{"secret": "secret\n"}, p.tree(p.out)); diff != "" {
			t.Errorf("%v: %s", patch, diff)
		}
	}
}

// The kernel denies what the tool's own checks cannot catch: a worker cannot write to a path
// outside, or through a link.
func TestWorkerIsHeldByTheKernel(t *testing.T) {
	p := confined(t, nil)
	p.link(p.out, "d")
	files, err := p.runner().Files(context.Background(), p.policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for _, path := range []string{p.out + "/new", p.ws + "/d/new", p.ws + "/../out/new"} {
		if _, err := files.WriteFile(path, []byte("x"), 0, worker.Expect{}); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	for _, path := range []string{p.out + "/secret", p.ws + "/d/secret"} {
		if err := files.Remove(path, worker.Expect{}); err == nil {
			t.Errorf("%s was removed", path)
		}
	}
	if diff := cmp.Diff(map[string]string{"secret": "secret\n"}, p.tree(p.out)); diff != "" {
		t.Error(diff)
	}
}

// swap makes ws/d alternately a folder and a link to the outside, until stop.
func swap(p *place) (stop func()) {
	var done atomic.Bool
	var wg sync.WaitGroup
	at := func(name string) string { return filepath.Join(p.ws, name) }
	p.link(p.out, "l")
	r := rand.New(rand.NewPCG(1, 2))
	wg.Go(func() {
		for !done.Load() {
			os.Rename(at("d"), at("real"))
			os.Rename(at("l"), at("d"))
			os.Rename(at("d"), at("l"))
			os.Rename(at("real"), at("d"))
			for range r.IntN(400) { // at times long enough for a write
				os.Lstat(at("d"))
			}
		}
	})
	return func() { done.Store(true); wg.Wait() }
}

// E7: a folder that is swapped with a link while files in it are patched never leads a write
// outside, neither in the sandbox nor without one, where only the worker's own checks
// protect.
func TestEscapeE7Race(t *testing.T) {
	rounds := machine.Times(40, 3_000)
	for _, tt := range []struct {
		name  string
		place func(*testing.T, map[string]string) *place
	}{{"confined", confined}, {"plain", newPlace}} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.place(t, map[string]string{"d/f": "old\n"})
			naive(t, p)
			want := map[string]string{"secret": "secret\n", "f": "outside\n"}
			p.write("../out/f", "outside\n")
			files, err := p.runner().Files(context.Background(), p.policy, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			stop := swap(p)
			defer stop()
			made := 0
			for n := 0; n < rounds || made == 0 && n < 1000*rounds; n++ {
				made += race(t, p, workerTree{files})
			}
			for range 20 { // and the whole tool, worker and all
				if r, err := p.do("apply_patch", addOf("d/whole", "x")); err == nil && !r.Failed {
					p.do("apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: d/whole\n*** End Patch"})
				}
			}
			stop()
			if made == 0 {
				t.Error("nothing was written at all: the race proves nothing")
			}
			t.Logf("%d changes were made in %d rounds", made, rounds)
			if diff := cmp.Diff(want, p.tree(p.out)); diff != "" {
				t.Errorf("the outside was touched: %s", diff)
			}
		})
	}
}

// naive shows the attack: under the same race an ordinary write changes a file outside.
func naive(t *testing.T, p *place) {
	t.Helper()
	stop := swap(p)
	defer func() { stop(); p.remove("l") }()
	for range 1_000_000 {
		os.WriteFile(filepath.Join(p.ws, "d", "naive"), nil, 0o644)
		if _, err := os.Lstat(filepath.Join(p.out, "naive")); err == nil {
			if err := os.Remove(filepath.Join(p.out, "naive")); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the attack does not work here")
}

// race makes, changes and deletes files below the folder that is swapped, first
// step by step, then as a patch, and counts the changes that were made.
func race(t *testing.T, p *place, tree workerTree) (made int) {
	t.Helper()
	kept, fresh := p.ws+"/d/f", p.ws+"/d/new"
	step := func(err error) bool {
		if err != nil && strings.Contains(err.Error(), "worker ended") {
			t.Fatal(err)
		}
		if err == nil {
			made++
		}
		return err == nil
	}
	if old, err := tree.Read(kept); err == nil {
		step(tree.Write(kept, patch.Content{Data: append(old.Data, 'x')}, &old))
	}
	step(tree.Write(fresh, patch.Content{Data: []byte("new")}, nil))
	step(tree.Remove(fresh, patch.Content{Data: []byte("new")}))
	parsed, err := patch.Parse("*** Begin Patch\n*** Update File: " + kept + "\n@@ -1,0 +1 @@\n+y\n*** Add File: " + fresh + "\n+n\n*** End Patch")
	if err != nil {
		t.Fatal(err)
	}
	if changes, err := patch.Apply(parsed, tree); err == nil && step(patch.Commit(tree, changes)) {
		step(tree.Remove(fresh, patch.Content{Data: []byte("n\n")}))
	}
	return made
}

// A reader of a workspace reads what a command there does. As root it also reads files of
// another user that no one else may read.
func TestReadingAnothersWorkspace(t *testing.T) {
	p := confined(t, map[string]string{"own": "needle\n", "sub/f": "x\n"})
	for _, name := range []string{"own", "sub/f", "sub", "."} {
		name = filepath.Join(p.ws, name)
		fi, err := os.Stat(name)
		if err == nil {
			err = os.Chmod(name, fi.Mode()&0o700)
		}
		if err == nil && os.Geteuid() == 0 {
			err = os.Chown(name, 1001, 1001)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if r := p.ok("shell", args{"command": "cat own"}); r.Output != "needle\n" {
		t.Errorf("a command: %+v", r)
	}
	if r := p.ok("read_file", args{"path": "own"}); r.Text != "1\tneedle" {
		t.Errorf("read_file: %q", r.Text)
	}
	if r := p.ok("list_files", args{"path": "sub"}); r.Text != "sub/f" {
		t.Errorf("list_files: %q", r.Text)
	}
	if r := p.ok("search", args{"pattern": "needle"}); r.Text != "own:1:needle" {
		t.Errorf("search: %q", r.Text)
	}
}
