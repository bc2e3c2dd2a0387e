package attack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// CopyFile copies files, also executables. Nobody may fork meanwhile: a child that another test
// starts would hold the copy open for writing until it executes its own program, and until then
// nobody can execute the copy (ETXTBSY).
func CopyFile(t testing.TB, from, to string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = dst.ReadFrom(src)
	}
	if err == nil {
		err = dst.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Program is a program that the tests of a process build once.
type Program struct {
	once sync.Once
	path string
	err  error
}

// Build builds the program with the go command; args say from what.
func (p *Program) Build(t testing.TB, name string, args ...string) string {
	t.Helper()
	p.once.Do(func() {
		var dir string
		if dir, p.err = os.MkdirTemp("", name); p.err != nil {
			return
		}
		p.path = filepath.Join(dir, name)
		start := time.Now()
		build := exec.Command("go", slices.Insert(args, len(args)-1, "-o", p.path)...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			p.err = errors.New("build " + name + ": " + err.Error() + "\n" + string(out))
		}
		t.Logf("of the time of this test building %s took %v", name, time.Since(start).Round(time.Millisecond))
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.path
}

// BuildHelper builds the sandbox's helper as `make build` does.
func (p *Program) BuildHelper(t testing.TB, name string) string {
	t.Helper()
	return p.Build(t, name, "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w -funcalign=16", "codeagent/cmd/linux-sandbox-helper")
}

// BuildOldHelper builds one that uses no newer right of Landlock than those of abi.
func (p *Program) BuildOldHelper(t testing.TB, name string, abi int) string {
	t.Helper()
	return p.Build(t, name, "build", "-buildvcs=false", "-trimpath", OldLandlock(t, abi), "-ldflags", "-s -w -funcalign=16", "codeagent/cmd/linux-sandbox-helper")
}

// OldLandlock is an argument of go build: programs then use no newer right of Landlock than those of abi. It gives one
// line another text. The programs themselves have no such switch, which could be turned against a user.
func OldLandlock(t testing.TB, abi int) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "codeagent/linuxsandbox/keeper").Output()
	if err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(strings.TrimSpace(string(dir)), "landlock.go")
	const line = "\treturn abi\n"
	text, err := os.ReadFile(from)
	if err != nil || strings.Count(string(text), line) != 1 {
		t.Fatalf("%s: %v, and %d lines return the ABI", from, err, strings.Count(string(text), line))
	}
	temp := t.TempDir()
	to, overlay := filepath.Join(temp, "landlock.go"), filepath.Join(temp, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {from: to}})
	for _, err := range []error{err,
		os.WriteFile(to, []byte(strings.Replace(string(text), line, fmt.Sprintf("\treturn min(abi, %d)\n", abi), 1)), 0o600),
		os.WriteFile(overlay, replace, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return "-overlay=" + overlay
}

// BuildPlain are the tests of a package without the race detector. In a process that tries one
// setting the detector finds nothing that it does not find in others, and it makes tests three to ten
// times slower.
func (p *Program) BuildPlain(t testing.TB, pkg string) string {
	t.Helper()
	info, _ := debug.ReadBuildInfo()
	if info == nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return "/proc/self/exe"
	}
	return p.Build(t, "tests", "test", "-c", "-trimpath", "-vet=off", pkg)
}

// Remove removes what was built.
func (p *Program) Remove() {
	if p.path != "" {
		os.RemoveAll(filepath.Dir(p.path))
	}
}
