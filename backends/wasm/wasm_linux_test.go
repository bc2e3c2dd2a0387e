package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
	"codeagent/sandbox/sandboxtest"
)

// programs is a folder with what the tests build, for an ordinary user too.
const programs = "WASM_TEST_PROGRAMS"

var tests = attack.Tests{Package: "codeagent/backends/wasm", Env: []string{sandboxtest.NoPause}}

var built = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(programs); dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "codeagent-wasm")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	for _, c := range []struct {
		name, pkg string
		env       []string
	}{{"codeagent-extra", "codeagent/cmd/codeagent-extra", nil}, {"probe.wasm", "./testdata/probe", []string{"GOOS=wasip1", "GOARCH=wasm"}}} {
		build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, c.name), c.pkg)
		build.Env = append(append(os.Environ(), "CGO_ENABLED=0"), c.env...)
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", c.name, err, out)
		}
	}
	return dir, os.Setenv(programs, dir)
})

func TestMain(m *testing.M) {
	sandboxtest.Main()
	inherited := os.Getenv(programs) != ""
	code := m.Run()
	if dir := os.Getenv(programs); dir != "" && !inherited {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// compiled is the cache that all tests share.
var compiled = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "codeagent-modules")
	return dir, err
})

// newBackend returns a backend over the native one, and the folder of the programs.
func newBackend(t testing.TB) (resolved.Backend, string) {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	native, err := linuxsandbox.New(linuxsandbox.Options{Helper: tests.Helper(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { native.Close() })
	cache, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	over, err := New([]string{dir + "/codeagent-extra", "dev"}, cache)
	if err != nil {
		t.Fatal(err)
	}
	return over(native), dir
}

// scene is where one attempt is made.
type scene struct{ base, ws, out, temp string }

func newScene(t testing.TB) scene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := scene{base, base + "/ws", base + "/out", base + "/temp"}
	for _, dir := range []string{s.ws + "/deep", s.out, s.temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{s.ws + "/deep/kept", s.out + "/secret"} {
		if err := os.WriteFile(file, []byte("content\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// command is a run of the probe in s. Names after "@" are below the folder of the scene.
func (s scene) command(dir string, args ...string) sandbox.Command {
	for i, arg := range args {
		args[i] = strings.Replace(arg, "@", s.base+"/", 1)
	}
	probe := dir + "/probe.wasm"
	return sandbox.Command{Path: probe, Args: append([]string{probe}, args...), Dir: s.ws, Env: []string{"NAME=value", "PWD=" + s.ws}}
}

func roots(paths ...string) (out []sandbox.Root) {
	for _, path := range paths {
		out = append(out, sandbox.Root{Path: path})
	}
	return out
}

// cells has each field of resolved.Policy: what sets it, an attempt that works without it, and the error of a field that
// no module can have. An attempt that is "" is not made: no module can make it, or a weakness is stated.
var cells = map[string]struct {
	set           func(p *sandbox.Policy, s scene)
	attempt, want string
}{
	"Unconfined":      {func(p *sandbox.Policy, s scene) { p.Unconfined = true }, "", "error modules never run unconfined"},
	"Roots":           {func(*sandbox.Policy, scene) {}, "write @out/f", "held"},
	"Read":            {func(p *sandbox.Policy, s scene) { p.Read = roots(s.ws, os.Getenv(programs)) }, "read @out/secret", "held"},
	"WasWrite":        {func(p *sandbox.Policy, s scene) { p.WasWrite = roots(s.out) }, "write @out/f", "held"},
	"Protected.Paths": {func(p *sandbox.Policy, s scene) { p.Protected.Paths = []string{s.ws + "/deep/kept"} }, "move @ws/deep @ws/away", "held"},
	"Protected.Names": {func(p *sandbox.Policy, s scene) { p.Protected.Names = []string{".envrc"} }, "write @ws/.envrc", "held"},
	"Protected.Own":   {func(p *sandbox.Policy, s scene) { p.Protected.Own = []string{s.ws + "/deep/kept"} }, "write @ws/deep/kept", "held"},
	"Protected.Hidden": {func(p *sandbox.Policy, s scene) {
		p.Protected.Own, p.Protected.Hidden = []string{s.out}, []string{s.out}
	}, "read @out/secret", "held"},
	"DenyRead":     {func(p *sandbox.Policy, s scene) { p.DenyRead = []string{s.out + "/secret"} }, "read @out/secret", "held"},
	"DenyGlobs":    {func(p *sandbox.Policy, s scene) { p.DenyGlobs = []string{"**/later"} }, "write @ws/later", "held"},
	"Network.Mode": {func(p *sandbox.Policy, _ scene) { p.Network.Mode = sandbox.NetworkFull }, "", "error modules have no network"},
	"Network.Hosts": {func(p *sandbox.Policy, _ scene) {
		p.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "127.0.0.1", Port: 1}}}
	}, "", "error modules have no network"},
	"Network.Deny":      {func(p *sandbox.Policy, _ scene) { p.Network.Deny = []sandbox.HostPort{{Host: "127.0.0.1"}} }, "", "held"},
	"Sockets":           {func(p *sandbox.Policy, s scene) { p.Sockets = []string{s.out + "/socket"} }, "", "error modules have no network"},
	"Limits.CPUSeconds": {func(p *sandbox.Policy, _ scene) { p.Limits.CPUSeconds = 1 }, "", "ends loop"},
	"Limits.CPUPercent": {func(p *sandbox.Policy, _ scene) { p.Limits.CPUPercent = 50 }, "", "weakness cpu-share"},
	"Limits.Memory":     {func(p *sandbox.Policy, _ scene) { p.Limits.Memory = 32 << 20 }, "grow 64", "held"},
	"Limits.Processes":  {func(p *sandbox.Policy, _ scene) { p.Limits.Processes = 1 }, "", "held"},
	"Limits.OpenFiles":  {func(p *sandbox.Policy, _ scene) { p.Limits.OpenFiles = 40 }, "files 60 @out/secret", "held"},
	"Limits.FileSize":   {func(p *sandbox.Policy, _ scene) { p.Limits.FileSize = 1 << 20 }, "large @ws/large 3000000", "held"},
	"Programs":          {func(p *sandbox.Policy, s scene) { p.Programs = []string{s.ws + "/other.wasm"} }, "read @ws/deep/kept", "starts none"},
	"Temp":              {func(p *sandbox.Policy, s scene) { p.Temp = s.temp }, "write @f", "held"},
}

// TestEveryField: what becomes of each field of the policy. An attempt first works without it.
func TestEveryField(t *testing.T) {
	sandboxtest.EveryField(t, cells)
	b, dir := newBackend(t)
	for field, c := range cells {
		t.Run(field, func(t *testing.T) {
			s := newScene(t)
			p := sandbox.Policy{Write: roots(s.ws)}
			c.set(&p, s)
			e, err := sandboxtest.Enforcement(b, p)
			if text, isError := strings.CutPrefix(c.want, "error "); isError || err != nil {
				if !isError || err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%v, want %s", err, c.want)
				}
				if _, err := sandboxtest.Start(b, t.Context(), p, s.command(dir, "hello"), nil); err == nil {
					t.Error("a command starts all the same")
				}
				return
			}
			if id, ok := strings.CutPrefix(c.want, "weakness "); ok {
				t.Logf("%s: stated: %t; otherwise a control group enforces it", id, e.Weak(id))
				return
			}
			if c.want == "ends loop" {
				if status, out := sandboxtest.Output(t, b, p, s.command(dir, "loop")); status.Signal == 0 {
					t.Errorf("%+v %s", status, out)
				}
				return
			}
			if c.attempt == "" {
				return // there is nothing that a module could call
			}
			attempt := strings.Fields(c.attempt)
			if _, out := sandboxtest.Output(t, b, sandbox.Policy{Write: roots(s.base)}, s.command(dir, strings.Fields(c.attempt)...)); !strings.HasSuffix(out, "ok\n") {
				t.Fatalf("does not work without the field: %s", out)
			}
			if c.want == "starts none" {
				if _, err := sandboxtest.Start(b, t.Context(), p, s.command(dir, attempt...), nil); err == nil || !strings.Contains(err.Error(), "allowed_programs") {
					t.Errorf("%v, want an error that names the setting", err)
				}
				return
			}
			s2 := newScene(t)
			p = sandbox.Policy{Write: roots(s2.ws)}
			c.set(&p, s2)
			if status, out := sandboxtest.Output(t, b, p, s2.command(dir, attempt...)); strings.HasSuffix(out, "ok\n") {
				t.Errorf("went through: %+v %s", status, out)
			}
		})
	}
}

// TestEveryFieldAsUser runs it as an ordinary user.
func TestEveryFieldAsUser(t *testing.T) {
	newBackend(t)
	tests.AsUser(t, "^TestEveryField$|^TestModules$")
}

// small is a module that returns at once: it has no imports, and so takes no arguments. imports is one that needs more
// than WASI, library has no _start.
var (
	small   = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x0a\x01\x06_start\x00\x00\x0a\x04\x01\x02\x00\x0b"
	imports = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x02\x09\x01\x03env\x01f\x00\x00"
	library = "\x00asm\x01\x00\x00\x00"
)

// TestModules: what runs, and what does not and says why. Nothing else is started.
func TestModules(t *testing.T) {
	b, dir := newBackend(t)
	s := newScene(t)
	for name, text := range map[string]string{"small.wasm": small, "imports.wasm": imports, "library.wasm": library, "broken.wasm": library + "\x01\xff", "component.wasm": "\x00asm\x0d\x00\x01\x00", "script.wasm": "#!/bin/sh\necho out > ../out/ran", "script": "#!/bin/sh\necho out > ../out/ran"} {
		if err := os.WriteFile(s.ws+"/"+name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir+"/probe.wasm", s.ws+"/probe.wasm"); err != nil {
		t.Fatal(err)
	}
	p := sandbox.Policy{Write: roots(s.ws)}
	for _, c := range []struct {
		argv []string
		code int // of a StartError
		exit int
		says string
	}{
		{[]string{"probe.wasm", "exit", "7"}, 0, 7, ""},
		{[]string{"./probe.wasm", "environ", "NAME"}, 0, 0, "value\nok\n"},
		{[]string{"/bin/bash", "-c", "probe.wasm write 'a b' && true"}, 126, 0, "there is no shell in the backend wasm"},
		{[]string{"/bin/bash", "-c", "probe.wasm write 'a b'"}, 0, 0, "ok\n"},
		{[]string{"/bin/bash", "-c", "cat < probe.wasm"}, 126, 0, ""},
		{[]string{"/bin/bash", "script"}, 126, 0, "runs WebAssembly modules alone"},
		{[]string{"script"}, 126, 0, "runs WebAssembly modules alone"},
		{[]string{"script.wasm"}, 126, 0, "is not a WebAssembly module"},
		{[]string{"component.wasm"}, 126, 0, "is a component"},
		{[]string{"broken.wasm"}, 126, 0, "not a module that can run"},
		{[]string{"imports.wasm"}, 126, 0, "imports env.f, which is not of WASI preview 1"},
		{[]string{"library.wasm"}, 126, 0, "no function _start"},
		{[]string{"absent.wasm"}, 127, 0, "no such file"},
		{[]string{"small.wasm"}, 0, 0, ""},
		{[]string{"small.wasm", "a"}, 0, 126, "takes no arguments (it does not import args_get)"},
	} {
		cmd := s.command(dir)
		cmd.Path, cmd.Args = c.argv[0], c.argv
		_, err := sandboxtest.Start(b, t.Context(), p, cmd, nil)
		var start *sandbox.StartError
		if errors.As(err, &start) || c.code != 0 {
			if start == nil || start.Code != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q: %v, want %d %s", c.argv, err, c.code, c.says)
			}
			continue
		}
		if status, out := sandboxtest.Output(t, b, p, cmd); status.Exit != c.exit || !strings.Contains(out, c.says) {
			t.Errorf("%q: %+v %q, want %d %q", c.argv, status, out, c.exit, c.says)
		}
	}
	if _, err := os.Lstat(s.out + "/ran"); err == nil {
		t.Error("a script ran")
	}
	if _, err := os.Lstat(s.ws + "/a b"); err != nil {
		t.Error(err)
	}
}

// TestRefused: the sandbox around the side program reports what the module's file system refused, as certain.
func TestRefused(t *testing.T) {
	b, dir := newBackend(t)
	s := newScene(t)
	for _, at := range []string{"@out/new", "@out/secret"} {
		process, err := sandboxtest.Start(b, t.Context(), sandbox.Policy{Write: roots(s.ws)}, s.command(dir, "write", at), nil)
		if err != nil {
			t.Fatal(err)
		}
		status, err := process.Wait()
		want := strings.Replace(at, "@", s.base+"/", 1)
		if trace := process.Trace(); err != nil || status.Exit != 1 || len(trace.Denials) != 1 || trace.Denials[0].Kind != sandbox.KindWrite || trace.Denials[0].Target != want {
			t.Errorf("%s: %+v %v %+v", at, status, err, trace)
		}
	}
}

// TestLoop: an endless loop ends with its process. How long that takes is logged.
func TestLoop(t *testing.T) {
	b, dir := newBackend(t)
	s := newScene(t)
	ctx, cancel := context.WithCancel(t.Context())
	process, err := sandboxtest.Start(b, ctx, sandbox.Policy{Write: roots(s.ws)}, s.command(dir, "loop"), nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	cancel()
	if status, err := process.Wait(); err != nil || status.Signal == 0 {
		t.Errorf("%+v %v", status, err)
	}
	t.Logf("ended after %v", time.Since(begun))
}

// TestCache: a folder that others could write is refused, and code that was compiled for another processor is not used.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := New([]string{"/extra", "dev"}, dir); err == nil || !strings.Contains(err.Error(), "other users can write") {
		t.Errorf("%v", err)
	}
	b, programs := newBackend(t)
	s := newScene(t)
	b.(*Backend).cache = dir
	for range 2 {
		if status, out := sandboxtest.Output(t, b, sandbox.Policy{Write: roots(s.ws)}, s.command(programs, "hello")); status != (sandbox.Status{}) || out != "ok\n" {
			t.Errorf("%+v %q", status, out)
		}
		kept, err := filepath.Glob(dir + "/dev-*/wazero-*/*")
		if err != nil || len(kept) != 1 {
			t.Fatal(kept, err)
		}
		if err := os.Rename(kept[0], kept[0]+"0"); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkHello runs compiled modules: one that returns at once, and one in Go.
func BenchmarkHello(b *testing.B) {
	on, dir := newBackend(b)
	s := newScene(b)
	if err := os.WriteFile(s.ws+"/small.wasm", []byte(small), 0o644); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{{s.ws + "/small.wasm"}, {dir + "/probe.wasm", "hello"}} {
		b.Run(filepath.Base(args[0]), func(b *testing.B) {
			cmd := s.command(dir)
			cmd.Path, cmd.Args = args[0], args
			for b.Loop() {
				process, err := sandboxtest.Start(on, b.Context(), sandbox.Policy{Write: roots(s.ws)}, cmd, nil)
				if err != nil {
					b.Fatal(err)
				}
				if status, err := process.Wait(); err != nil || status != (sandbox.Status{}) {
					b.Fatalf("%+v %v", status, err)
				}
			}
		})
	}
}

type none struct{ resolved.Backend }

func (none) Enforcement(resolved.Policy) (sandbox.Enforcement, error) {
	return sandbox.Enforcement{Weaknesses: []sandbox.Weakness{{ID: "unconfined"}}}, nil
}

// TestNoSandboxAround: where the session runs without a sandbox, by its settings, modules do not run.
func TestNoSandboxAround(t *testing.T) {
	over, err := New([]string{"/extra", "1"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := over(none{}).Enforcement(resolved.Policy{}); err == nil || !strings.Contains(err.Error(), "without one no module runs") {
		t.Error(err)
	}
}
