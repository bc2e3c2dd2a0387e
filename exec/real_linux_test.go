package exec_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/exec/worker"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
)

// confined returns a runner with the real backend, a policy that may write in
// ws, and a folder beside it.
func confined(t testing.TB) (r *exec.Runner, p sandbox.Policy, ws, out string) {
	t.Helper()
	backend, err := linuxsandbox.New(linuxsandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { backend.Close() })
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, out = filepath.Join(base, "ws"), filepath.Join(base, "out")
	for _, dir := range []string{ws, out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p = sandbox.WorkspaceWrite(ws)
	r = exec.New(exec.Options{Backend: backend, None: exec.Plain{}, SpillDir: filepath.Join(base, "spill"), Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + base}, Files: exec.OS{}})
	if _, err := r.Enforcement(p); err != nil {
		t.Skip("this system cannot confine: ", err)
	}
	return r, p, ws, out
}

func TestConfinedRunIsJudged(t *testing.T) {
	r, p, ws, out := confined(t)
	target := filepath.Join(out, "x")
	c := sh(ws, "echo inside >in; echo outside >"+target)
	o, err := r.Run(context.Background(), p, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := o.Verdict
	if !v.Denied || v.Confidence == sandbox.NoConfidence || len(v.Denials) != 1 || v.Denials[0].Target != target || v.Denials[0].Kind != sandbox.KindWrite {
		t.Errorf("verdict %+v of %q", v, o.Output.Text())
	}
	if len(v.Suggest.Write) != 1 || v.Suggest.Write[0] != target {
		t.Errorf("suggests %+v", v.Suggest)
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file outside: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(ws, "in")); err != nil {
		t.Error(err)
	}
	if o, err = r.Run(context.Background(), sandbox.FullAccess(), c, nil); err != nil || o.Failed() || o.Verdict.Denied {
		t.Errorf("outside the sandbox: %+v, %v", o, err)
	}
}

func TestConfinedRunLeavesNothingBehind(t *testing.T) {
	r, p, ws, _ := confined(t)
	// Identified by an argument: a pid in the sandbox may belong to another namespace.
	mark := strconv.Itoa(1000000 + os.Getpid())
	for _, start := range []string{
		`sleep MARK & echo $! >pid`,
		`setsid sh -c 'echo $$ >pid; exec sleep MARK' & while ! [ -s pid ]; do sleep 0.01; done`,
		`(env -i setsid sh -c 'echo $$ >pid; exec sleep MARK' >/dev/null 2>&1 &); while ! [ -s pid ]; do sleep 0.01; done`,
	} {
		start = strings.ReplaceAll(start, "MARK", mark)
		for _, end := range []string{"exit 0", "echo ready; sleep 1000"} {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			o, err := r.Run(ctx, p, sh(ws, start+"\n"+end), func(int64, []byte) { cancel() })
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.ReadFile(filepath.Join(ws, "pid")); err != nil {
				t.Fatal(err, o.Output.Text())
			}
			if running(t, "sleep\x00"+mark) {
				t.Errorf("%s, %s: a process is still there", start, end)
			}
			if err := os.Remove(filepath.Join(ws, "pid")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// running reports whether a process has these arguments.
func running(t *testing.T, args string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatal("no process table: ", err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(data), args) {
			return true
		}
	}
	return false
}

func TestConfinedRunInheritsNothing(t *testing.T) {
	r, p, ws, _ := confined(t)
	o, err := r.Run(context.Background(), p, sh(ws, `ls /proc/self/fd | tr '\n' ' '; readlink /proc/self/fd/0; (: </dev/tty) 2>/dev/null && echo terminal; read -r _ _ _ _ pgrp sid tty _ </proc/self/stat; echo $tty`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := o.Output.Text(); text != "0 1 2 3 /dev/null\n0\n" {
		t.Errorf("got %q", text)
	}
}

func TestConfinedTimeoutAndStartErrors(t *testing.T) {
	r, p, ws, _ := confined(t)
	c := sh(ws, "trap '' TERM; while :; do sleep 0.01; done")
	c.Timeout = 50 * time.Millisecond
	if o, err := r.Run(context.Background(), p, c, nil); err != nil || !o.TimedOut {
		t.Errorf("%+v, %v", o, err)
	}
	for argv0, code := range map[string]int{"no-such-program": sandbox.ExitNotFound, "/etc/hostname": sandbox.ExitCannotExec, "./no": sandbox.ExitNotFound} {
		_, err := r.Run(context.Background(), p, exec.Command{Argv: []string{argv0}, Dir: ws}, nil)
		var start *sandbox.StartError
		if !errors.As(err, &start) || start.Code != code {
			t.Errorf("%s: %v, want code %d", argv0, err, code)
		}
	}
}

// The file worker is confined like a command.
func TestConfinedFiles(t *testing.T) {
	r, p, ws, out := confined(t)
	f, err := r.Files(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteFile(filepath.Join(ws, "a/b"), []byte("x"), 0, worker.Expect{Parents: true}); err != nil {
		t.Error(err)
	}
	if data, _, err := f.ReadFile(filepath.Join(ws, "a/b"), 0, 0); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	secret := filepath.Join(out, "f")
	if err := os.WriteFile(secret, []byte("safe"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(ws, "link")); err != nil {
		t.Fatal(err)
	}
	refused := func(err error, kinds ...worker.ErrorKind) {
		t.Helper()
		var e *worker.Error
		if !errors.As(err, &e) {
			t.Errorf("error %v", err)
			return
		}
		for _, kind := range kinds {
			if e.Kind == kind {
				return
			}
		}
		t.Errorf("error %v of kind %q, want %q", e, e.Kind, kinds)
	}
	_, err = f.WriteFile(secret, []byte("evil"), 0, worker.Expect{})
	refused(err, worker.Refused)
	_, err = f.WriteFile(filepath.Join(out, "new"), nil, 0, worker.Expect{})
	refused(err, worker.Refused)
	_, err = f.WriteFile(filepath.Join(ws, "link/f"), []byte("evil"), 0, worker.Expect{})
	refused(err, worker.IsSymlink)
	refused(f.Remove(secret, worker.Expect{}), worker.Refused)
	refused(f.Mkdir(filepath.Join(out, "d"), 0, true), worker.Refused)
	if data, err := os.ReadFile(secret); err != nil || string(data) != "safe" {
		t.Errorf("the file outside holds %q, %v", data, err)
	}
}

// If one existing file outside may be written, the worker, which cannot make a temporary file
// beside it, writes it in place.
func TestConfinedFilesWithOneFileGranted(t *testing.T) {
	r, p, _, out := confined(t)
	path := filepath.Join(out, "f")
	if err := os.WriteFile(path, []byte("a long old content"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Write = append(p.Write, sandbox.Root{Path: path})
	f, err := r.Files(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteFile(path, []byte("new"), 0, worker.Expect{Content: []byte("a long old content")}); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "new" {
		t.Errorf("holds %q, %v", data, err)
	}
}

// Git's settings that were granted are changed by a rename, and take no program.
func TestConfinedFilesOfGit(t *testing.T) {
	r, p, ws, _ := confined(t)
	path := filepath.Join(ws, ".git/config")
	if err := errors.Join(os.MkdirAll(filepath.Join(ws, ".git/objects"), 0o755), os.WriteFile(filepath.Join(ws, ".git/HEAD"), nil, 0o644), os.WriteFile(path, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	p.Write = append(p.Write, sandbox.Root{Path: path, Optional: true})
	e, err := r.Enforcement(p)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Files(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const name = "[user]\nname = x\n"
	if _, err := f.WriteFile(path, []byte(name), 0, worker.Expect{}); err != nil {
		t.Error(err)
	}
	const evil = "[core]\nfsmonitor = evil\n"
	_, err = f.WriteFile(path, []byte(evil), 0, worker.Expect{})
	want := name
	if !e.Observes {
		want = evil // without the broker a grant means any content (SECURITY.md)
	}
	if data, read := os.ReadFile(path); read != nil || string(data) != want || (err == nil) != (want == evil) {
		t.Errorf("holds %q, %v; %v", data, read, err)
	}
}

// E7, with the kernel: the folder is swapped with a link to one outside.
func TestConfinedFilesWhileTheFolderIsSwapped(t *testing.T) {
	r, p, ws, out := confined(t)
	f, err := r.Files(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(os.Mkdir(filepath.Join(ws, "d"), 0o755), os.Symlink(out, filepath.Join(ws, "link"))); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(filepath.Join(ws, "d"), filepath.Join(ws, "kept"))
			_ = os.Rename(filepath.Join(ws, "link"), filepath.Join(ws, "d"))
			_ = os.Rename(filepath.Join(ws, "d"), filepath.Join(ws, "link"))
			_ = os.Rename(filepath.Join(ws, "kept"), filepath.Join(ws, "d"))
		}
	})
	for range 300 {
		_, _ = f.WriteFile(filepath.Join(ws, "d/f"), []byte("x"), 0, worker.Expect{}) // only where the data went matters
	}
	close(stop)
	swapper.Wait()
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 0 {
		t.Errorf("the folder outside holds %v, %v", entries, err)
	}
}

// BenchmarkConfinedFiles starts a confined file worker, sends one request and ends it.
func BenchmarkConfinedFiles(b *testing.B) {
	r, p, ws, _ := confined(b)
	for b.Loop() {
		f, err := r.Files(context.Background(), p, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Stat(ws); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConfinedTrue(b *testing.B) {
	r, p, ws, _ := confined(b)
	for b.Loop() {
		if _, err := r.Run(context.Background(), p, exec.Command{Argv: []string{"/bin/true"}, Dir: ws}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// For a granted path that is absent the backend makes an empty file. The tools treat it as
// absent and may add the file.
func TestConfinedFilesAddAGrantedFile(t *testing.T) {
	r, p, _, out := confined(t)
	path := filepath.Join(out, "new")
	p.Write = append(p.Write, sandbox.Root{Path: path, Optional: true})
	for _, write := range []bool{false, true} {
		f, err := r.Files(context.Background(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat: %v", err)
		}
		if write {
			if _, err := f.WriteFile(path, []byte("content"), 0, worker.Expect{Absent: true}); err != nil {
				t.Error(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) == write {
			t.Errorf("written=%v, afterwards: %v", write, err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "content" {
		t.Errorf("holds %q, %v", data, err)
	}
}

// toldPaths is a change observer that records each report and what was at the path.
type toldPaths struct {
	mu   sync.Mutex
	told map[string]string // guarded by mu
}

func (*toldPaths) Unsaved(int, string, string) string { return "" }

func (k *toldPaths) BeforeChange(_ int, _, path string) {
	data, err := os.ReadFile(path)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.told == nil {
		k.told = map[string]string{}
	}
	if _, was := k.told[path]; !was && err == nil {
		k.told[path] = string(data)
	} else if !was {
		k.told[path] = "-"
	}
}

// Changes of the file worker and of a command reach the change observer beforehand.
func TestConfinedFilesAreKept(t *testing.T) {
	r, p, ws, out := confined(t)
	e, err := r.Enforcement(p)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(ws, name) }
	for _, name := range []string{"written", "removed", "appended", "granted"} {
		path := at(name)
		if name == "granted" {
			path = filepath.Join(out, name)
			p.Write = append(p.Write, sandbox.Root{Path: path})
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	k := &toldPaths{}
	f, err := r.Files(t.Context(), p, k)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err1 := f.WriteFile(at("written"), []byte("new"), 0, worker.Expect{})
	_, err2 := f.WriteFile(at("a/b"), []byte("new"), 0, worker.Expect{Parents: true})
	_, err3 := f.WriteFile(filepath.Join(out, "granted"), []byte("new"), 0, worker.Expect{})
	if err := errors.Join(err1, err2, err3, f.Remove(at("removed"), worker.Expect{}), f.Mkdir(at("folder"), 0o755, false)); err != nil {
		t.Fatal(err)
	}
	c := sh(ws, "echo x >> appended")
	c.Observer = k
	if o, err := r.Run(t.Context(), p, c, nil); err != nil || o.Failed() {
		t.Fatalf("%+v %v", o, err)
	}
	want := map[string]string{at("written"): "written", at("removed"): "removed", at("a"): "-", at("folder"): "-",
		at("appended"): "appended", filepath.Join(out, "granted"): "granted"}
	for path := range k.told {
		if strings.HasPrefix(filepath.Base(path), ".codeagent-") {
			delete(k.told, path) // a temporary file, before its rename
		}
	}
	if e.Observes && !maps.Equal(k.told, want) || !e.Observes && len(k.told) > 0 {
		t.Errorf("told %q, want %q (Observes: %v)", k.told, want, e.Observes)
	}
}
