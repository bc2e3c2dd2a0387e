package without

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/sandbox"
)

func write(program, target string) sandbox.Denial {
	return sandbox.Denial{Kind: sandbox.KindWrite, Executable: program, Target: target}
}

func open(t *testing.T, file string) *Memory {
	t.Helper()
	m, err := Open(file, "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func room(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir + "/without.json"
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestPattern(t *testing.T) {
	for _, row := range []struct {
		kind         sandbox.DenialKind
		target, want string
	}{
		{sandbox.KindWrite, "/home/u/.config/go/telemetry/local/go@go1.24-2026-01-01.v1.count", "/home/u/.config/go/telemetry/local/*"},
		{sandbox.KindWrite, "/home/u/.npm/_logs/2026-01-01T00_00_00-debug-0.log", "/home/u/.npm/_logs/*"},
		{sandbox.KindWrite, "/home/u/.lesshst", "/home/u/.lesshst"},
		{sandbox.KindMetadata, "/home/u/.viminfo.tmp12", "/home/u/.viminfo.*"},
		{sandbox.KindWrite, "/home/u/.app/run-1234/x", "/home/u/.app/run-*/*"},
		{sandbox.KindWrite, "/home/u/.app/0123abcd9876/x", "/home/u/.app/*/*"},
		{sandbox.KindWrite, "/home/u/.app/tmp.aB3xYz/x", "/home/u/.app/tmp.*/*"},
		{sandbox.KindWrite, "/home/u/.app/deadbeef/x", "/home/u/.app/deadbeef/*"},
		{sandbox.KindWrite, "/x", "/x"},
		{sandbox.KindWrite, "/etc/x", "/etc/x"},
		{sandbox.KindWrite, "/usr/lib/python3.11/__pycache__/x", "/usr/lib/*.*/__pycache__/*"},
		{sandbox.KindWrite, "relative", ""},
		{sandbox.KindSocket, "/run/user/1000/bus", "/run/user/*/bus"},
		{sandbox.KindNetwork, "Registry.npmjs.org:443", "registry.npmjs.org"},
		{sandbox.KindNetwork, "registry.npmjs.org", "registry.npmjs.org"},
		{sandbox.KindNetwork, "not a host:x", ""},
	} {
		if got := Pattern(sandbox.Denial{Kind: row.kind, Target: row.target}, "/home/u"); got != row.want {
			t.Errorf("%s: %q, want %q", row.target, got, row.want)
		}
	}
}

// TestLearn: an entry is about one program and one pattern, and the latest outcome counts.
func TestLearn(t *testing.T) {
	file := room(t)
	m := open(t, file)
	learn := func(l ...Lesson) {
		t.Helper()
		if err := m.Learn(noon, l); err != nil {
			t.Fatal(err)
		}
	}
	d := write("/usr/bin/tool", "/home/u/.tool/log/1")
	learn(Lesson{Denial: d}, Lesson{Denial: write("/usr/bin/tool", "/home/u/.tool/log/2")})
	for _, row := range []struct {
		d    sandbox.Denial
		want Outcome
	}{
		{d, Survived}, {write("/usr/bin/tool", "/home/u/.tool/log/77"), Survived},
		{write("/usr/bin/other", d.Target), Unknown}, {write("/usr/bin/tool", "/home/u/.tool/x"), Unknown},
		{sandbox.Denial{Kind: sandbox.KindProtected, Executable: d.Executable, Target: d.Target}, Unknown},
	} {
		if got := m.Of(row.d).Last; got != row.want {
			t.Errorf("%+v: %q", row.d, got)
		}
	}
	learn(Lesson{Denial: d, Mattered: true}, Lesson{Denial: d})
	if e := open(t, file).Of(d); e.Last != Mattered || e.Survived != 1 || e.Mattered != 1 {
		t.Errorf("%+v", e)
	}
	learn(Lesson{Denial: d, Denied: true})
	if e := open(t, file).Of(d); e.Last != Survived || e.Survived != 2 || e.Denied != 1 || !e.When.Equal(noon) {
		t.Errorf("%+v", e)
	}
	for _, program := range []string{"", "memfd:x", "/w/x (deleted)", "relative"} {
		learn(Lesson{Denial: write(program, "/home/u/a")})
	}
	if list := m.List(); len(list) != 1 {
		t.Errorf("%+v", list)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestClear(t *testing.T) {
	file := room(t)
	m := open(t, file)
	for _, p := range []string{"/bin/a", "/bin/b", "/bin/c"} {
		if err := m.Learn(noon, []Lesson{{Denial: write(p, "/home/u/x")}}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := m.Clear(m.Of(write("/bin/b", "/home/u/x")).ID(), "w-unknown"); n != 1 || err != nil || len(open(t, file).List()) != 2 {
		t.Error(n, err, m.List())
	}
	if n, err := m.Clear(); n != 2 || err != nil || len(open(t, file).List()) != 0 {
		t.Error(n, err, m.List())
	}
	var none *Memory
	if n, err := none.Clear(); n != 0 || err != nil || none.List() != nil || none.Of(write("/bin/a", "/x")).Last != Unknown || none.Learn(noon, []Lesson{{}}) != nil {
		t.Error("no memory")
	}
}

// TestSeveralProcesses: no lesson is lost, and each process sees the lessons of the others.
func TestSeveralProcesses(t *testing.T) {
	file := room(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			m, err := Open(file, "/home/u") // as another process would
			for n := range 8 {
				if err == nil {
					err = m.Learn(noon, []Lesson{{Denial: write("/bin/tool", "/home/u/x")}, {Denial: write(fmt.Sprintf("/bin/%c%c", 'a'+i, 'a'+n), "/home/u/x")}})
				}
			}
			if err != nil {
				t.Error(err)
			}
		}()
	}
	m := open(t, file)
	all.Wait()
	m.Refresh()
	if e := m.Of(write("/bin/tool", "/home/u/x")); e.Survived != 32 || len(m.List()) != 33 {
		t.Errorf("%+v, %d entries", e, len(m.List()))
	}
}

// TestBounds: a command with many programs or targets cannot fill the memory.
func TestBounds(t *testing.T) {
	m := open(t, room(t))
	var many []Lesson
	for i := range 10 * maxLessons {
		many = append(many, Lesson{Denial: write(fmt.Sprintf("/w/%d", i), "/home/u/x")})
	}
	if err := m.Learn(noon, many); err != nil || len(m.List()) != maxLessons {
		t.Error(err, len(m.List()))
	}
	if err := m.Learn(noon, []Lesson{{Denial: write("/w/"+strings.Repeat("x", maxWord), "/home/u/x")}}); err != nil || len(m.List()) != maxLessons {
		t.Error(err, len(m.List()))
	}
}

// TestDamaged: a file that is not a memory is reported, and kept until the memory is cleared.
func TestDamaged(t *testing.T) {
	for _, text := range []string{"", "{", `{"version":2}`, `{"version":1,"entries":[{"program":"/x","last":"open"}]}`, strings.Repeat(" ", maxFile+1)} {
		file := room(t)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Open(file, "/home/u")
		if err == nil || len(m.List()) != 0 {
			t.Errorf("%.40q: %v, %v", text, err, m.List())
		}
		if err := m.Learn(noon, []Lesson{{Denial: write("/bin/a", "/home/u/x")}}); err == nil {
			t.Errorf("%.40q: learned", text)
		}
		if now, _ := os.ReadFile(file); string(now) != text {
			t.Errorf("%.40q: is %.40q", text, now)
		}
		if _, err := m.Clear(); err != nil {
			t.Error(err)
		}
		if err := m.Learn(noon, []Lesson{{Denial: write("/bin/a", "/home/u/x")}}); err != nil || len(open(t, file).List()) != 1 {
			t.Error(err)
		}
	}
}
