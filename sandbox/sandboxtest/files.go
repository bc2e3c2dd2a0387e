package sandboxtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
)

// changes are ways to change the file system. Their steps expect a folder {d} that contains file,
// empty/, old/ and two files in old/.
var changes = []struct {
	name string
	// In steps, {d} is the folder and {o} another one that is always writable.
	steps []string
	// weakness is the ID of the Weakness that a backend may state for it.
	weakness string
}{
	{"create", []string{step("create", "{d}/new")}, ""},
	{"overwrite", []string{step("overwrite", "{d}/file")}, ""},
	{"append", []string{step("append", "{d}/file")}, ""},
	{"empty by open", []string{step("empty", "{d}/file")}, ""},
	{"truncate", []string{step("truncate", "{d}/file")}, ""},
	{"unlink", []string{step("unlink", "{d}/file")}, ""},
	{"rename within", []string{step("rename", "{d}/file", "{d}/renamed")}, ""},
	{"rename a folder", []string{step("rename", "{d}/old", "{d}/moved")}, ""},
	{"rename out", []string{step("rename", "{d}/file", "{o}/taken")}, ""},
	{"rename in", []string{step("rename", "{o}/mine", "{d}/given")}, ""},
	{"rename over", []string{step("rename", "{o}/mine", "{d}/file")}, ""},
	{"link", []string{step("link", "{d}/file", "{o}/link")}, ""},
	{"link in", []string{step("link", "{o}/mine", "{d}/link")}, ""},
	{"symlink", []string{step("symlink", "/nowhere", "{d}/symlink")}, ""},
	{"write through a symlink", []string{step("symlink", "{d}/file", "{o}/way"), step("overwrite", "{o}/way")}, ""},
	{"create through a symlinked folder", []string{step("symlink", "{d}", "{o}/way"), step("create", "{o}/way/new")}, ""},
	{"create through ..", []string{step("create", "{d}/empty/../../{b}/new")}, ""},
	{"create through /proc/self/root", []string{step("create", "/proc/self/root{d}/new")}, ""},
	{"create from inside", []string{step("chdir", "{d}"), step("create", "new")}, ""},
	{"mkdir", []string{step("mkdir", "{d}/folder")}, ""},
	{"rmdir", []string{step("rmdir", "{d}/empty")}, ""},
	{"mkfifo", []string{step("mkfifo", "{d}/fifo")}, ""},
	{"chmod", []string{step("chmod", "{d}/file")}, "metadata"},
	{"utimes", []string{step("utimes", "{d}/file")}, "metadata"},
}

// files: every change works inside a write root. Outside it is refused and leaves no trace. Without
// a sandbox it works in both places.
func files(s *suite) {
	base := s.dir()
	for i, c := range changes {
		// Both folders of "in" are in one root: between two roots a backend may answer EXDEV, as
		// between two file systems.
		for _, place := range []string{"bare", "ws/inside", "out"} {
			s.furnish(filepath.Join(base, place, fmt.Sprint(i)))
			s.furnish(filepath.Join(base, "ws", place, fmt.Sprint(i)))
		}
		if strings.Contains(c.name, "/proc") && !exists("/proc/self/root") {
			changes[i].steps = nil
		}
	}
	ws := filepath.Join(base, "ws")
	policy := sandbox.Policy{Write: []sandbox.Root{{Path: ws}}}
	all := func(place string) (steps []string, last []int) {
		for i, c := range changes {
			d, o := filepath.Join(base, place, fmt.Sprint(i)), filepath.Join(ws, place, fmt.Sprint(i))
			for _, st := range c.steps {
				steps = append(steps, strings.NewReplacer("{d}", d, "{o}", o, "{b}", filepath.Base(d)).Replace(st))
			}
			last = append(last, len(steps)-1)
			steps = append(steps, step("chdir", "/"))
		}
		return steps, last
	}
	steps, last := all("bare")
	bare := lines(s.bare(s.probeCommand(ws, steps...)))
	steps, _ = all("ws/inside")
	in := lines(s.run(policy, s.probeCommand(ws, steps...)).out)
	before := snapshot(s, filepath.Join(base, "out"))
	steps, _ = all("out")
	out := lines(s.run(policy, s.probeCommand(ws, steps...)).out)
	after := snapshot(s, filepath.Join(base, "out"))
	if len(bare) != len(steps) || len(in) != len(steps) || len(out) != len(steps) {
		s.Fatalf("the probe was cut short: %d, %d and %d answers to %d steps\n%s", len(bare), len(in), len(out), len(steps), strings.Join(out, "\n"))
	}
	for i, c := range changes {
		if len(c.steps) == 0 {
			continue
		}
		if refused(bare[last[i]]) {
			s.Errorf("%s: does not even work without a sandbox: %s", c.name, bare[last[i]])
		}
		if row := c.name + " inside a write root"; !s.excuse(row) && refused(in[last[i]]) {
			s.Errorf("%s: %s", row, in[last[i]])
		}
		s.judge(policy, c.name+" outside every write root", c.weakness, refused(out[last[i]]))
	}
	if before != after {
		s.Errorf("something changed outside the write roots:\n%s\nafter:\n%s", before, after)
	}
	protectedNames(s, ws)
}

// protectedNames: a protected name inside a write root is read-only.
func protectedNames(s *suite, ws string) {
	policy := sandbox.WorkspaceWrite(ws)
	out := lines(s.run(policy, s.probeCommand(ws, step("create", filepath.Join(ws, protecttest.In("{shell}"))))).out)
	s.judge(policy, "create a protected name", "protected", refused(out[0]))
	if s.states(sandbox.Policy{Write: []sandbox.Root{{Path: ws}}}, "protected") {
		s.Error(`weakness "protected" is stated for a policy that protects nothing`)
	}
}

// furnish creates the folder that the changes expect.
func (s *suite) furnish(dir string) {
	s.Helper()
	for _, d := range []string{"empty", "old"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			s.Fatal(err)
		}
	}
	for _, f := range []string{"file", "mine", "old/a", "old/b"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("content of "+f), 0o644); err != nil {
			s.Fatal(err)
		}
	}
}

// snapshot describes a tree: names, kinds, and the content of files. It omits modes and times,
// which the metadata rows cover.
func snapshot(s *suite, root string) string {
	s.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(path, root), d.Type())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", data)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return b.String()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (s *suite) write(path, content string) {
	s.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.Fatal(err)
	}
}

// denyRead: an exact deny-read path cannot be read, listed or written under any name; the paths
// beside it can be read.
func denyRead(s *suite) {
	base, ws := s.dir(), s.dir()
	secret := filepath.Join(base, "secrets")
	for _, dir := range []string{filepath.Join(secret, "deep"), secret + "-not"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			s.Fatal(err)
		}
	}
	s.write(filepath.Join(secret, "deep", "key"), "secret")
	s.write(filepath.Join(secret+"-not", "key"), "open")
	s.write(filepath.Join(base, "plain"), "plain")
	if err := os.Symlink(secret, filepath.Join(ws, "way")); err != nil {
		s.Fatal(err)
	}
	key := filepath.Join(secret, "deep", "key")
	attempts := []string{
		step("read", key), step("list", secret), step("list", filepath.Dir(key)),
		step("read", filepath.Join(ws, "way", "deep", "key")), step("overwrite", key),
	}
	if exists("/proc/self/root") {
		attempts = append(attempts, step("read", "/proc/self/root"+key))
	}
	for i, line := range lines(s.bare(s.probeCommand(ws, attempts...))) {
		if refused(line) {
			s.Fatalf("%q does not work without a sandbox: %s", attempts[i], line)
		}
	}
	policy := sandbox.Policy{Write: []sandbox.Root{{Path: ws}}, DenyRead: []string{secret}}
	for i, line := range lines(s.run(policy, s.probeCommand(ws, attempts...)).out) {
		if !refused(line) {
			s.Errorf("deny_read %s: %q: %s", secret, attempts[i], line)
		}
	}
	out := lines(s.run(policy, s.probeCommand(ws, step("read", filepath.Join(base, "plain")), step("read", filepath.Join(secret+"-not", "key")))).out)
	for _, line := range out {
		if refused(line) {
			s.Errorf("beside a denied folder: %s", line)
		}
	}
	// If a denied name is a link, its target is denied too.
	link := filepath.Join(s.dir(), "link")
	if err := os.Symlink(secret, link); err != nil {
		s.Fatal(err)
	}
	out = lines(s.run(sandbox.Policy{DenyRead: []string{link}}, s.probeCommand(ws, step("read", key))).out)
	if !refused(out[0]) {
		s.Errorf("deny_read of a link leaves its target readable: %s", out[0])
	}
	// Inside a write root it is enforced, or the policy is refused.
	inside := sandbox.Policy{Write: []sandbox.Root{{Path: base}}, DenyRead: []string{secret}}
	if _, err := Enforcement(s.b, inside); err != nil {
		if !strings.Contains(err.Error(), secret) {
			s.Errorf("the refusal does not name %s: %v", secret, err)
		}
	} else if out = lines(s.run(inside, s.probeCommand(ws, step("read", key))).out); !refused(out[0]) {
		s.Errorf("deny_read inside a write root: %s", out[0])
	}
	glob := sandbox.Policy{DenyGlobs: []string{"**/key"}}
	out = lines(s.run(glob, s.probeCommand(ws, step("read", key))).out)
	s.judge(glob, "read what a deny-read glob covers", "deny-read-glob", refused(out[0]))
	records := sandbox.Policy{Write: policy.Write, Protected: sandbox.ProtectedNames{Own: []string{base}, Hidden: []string{secret}}}
	out = lines(s.run(records, s.probeCommand(ws, step("read", key), step("list", secret), step("read", filepath.Join(base, "plain")))).out)
	s.judge(records, "read codeagent's own records", "own-records", refused(out[0]))
	s.judge(records, "list codeagent's own records", "own-records", refused(out[1]))
	if refused(out[2]) {
		s.Errorf("beside codeagent's own records: %s", out[2])
	}
}

// readRoots: with read roots, nothing else can be read.
func readRoots(s *suite) {
	open, shut, ws := s.dir(), s.dir(), s.dir()
	s.write(filepath.Join(open, "f"), "open")
	s.write(filepath.Join(shut, "f"), "shut")
	policy := sandbox.Policy{Write: []sandbox.Root{{Path: ws}}}
	exe, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	for _, dir := range []string{"/bin", "/lib", "/lib64", "/usr", "/System", "/Library", "/proc", "/etc", exe} {
		policy.Read = append(policy.Read, sandbox.Root{Path: dir, Optional: true})
	}
	policy.Read = append(policy.Read, sandbox.Root{Path: open})
	out := lines(s.run(policy, s.probeCommand(ws,
		step("read", filepath.Join(open, "f")), step("read", filepath.Join(shut, "f")), step("list", shut), step("create", filepath.Join(ws, "f")),
		step("read", filepath.Join(ws, "f")), step("overwrite", filepath.Join(open, "f")))).out)
	for i, want := range []bool{false, true, true, false, false, true} {
		if refused(out[i]) != want {
			s.Errorf("step %d: %s, want refused: %v", i, out[i], want)
		}
	}
}
