package sandboxtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codeagent/sandbox"
)

// enforcement: the report is complete and does not change.
func enforcement(s *suite) {
	e, err := Enforcement(s.b, sandbox.ReadOnly())
	if err != nil {
		s.Fatal(err)
	}
	if e.Backend != s.b.Name() || e.Backend == "" {
		s.Errorf("backend %q, name %q", e.Backend, s.b.Name())
	}
	if len(e.Active()) == 0 {
		s.Error("no layer is active")
	}
	seen := map[string]bool{}
	for _, w := range e.Weaknesses {
		if w.ID == "" || w.What == "" || w.Why == "" || seen[w.ID] {
			s.Errorf("weakness %+v: want an id of its own, what and why", w)
		}
		seen[w.ID] = true
	}
	if _, err := Enforcement(s.b, sandbox.FullAccess()); err == nil {
		s.Error("an unconfined policy is accepted")
	}
}

// roots: a root that is missing or has become a link is an error that names it, and the command
// does not run.
func roots(s *suite) {
	base := s.dir()
	real := s.dir()
	link := filepath.Join(base, "link")
	if err := os.Symlink(real, link); err != nil {
		s.Fatal(err)
	}
	missing := filepath.Join(base, "missing")
	for name, p := range map[string]sandbox.Policy{
		"missing write root":      {Write: []sandbox.Root{{Path: missing}}},
		"missing read root":       {Read: []sandbox.Root{{Path: missing}}},
		"write root is a link":    {Write: []sandbox.Root{{Path: link}}},
		"a link on the way to it": {Write: []sandbox.Root{{Path: filepath.Join(link, "below")}}},
		"read root is a link":     {Read: []sandbox.Root{{Path: link}}},
	} {
		bad := missing
		if strings.Contains(name, "link") {
			bad = link
		}
		s.refuses(name, p, bad)
	}
	s.refuses("write root is the whole system", sandbox.Policy{Write: []sandbox.Root{{Path: "/"}}}, "/")
	own := filepath.Join(base, "settings")
	if err := os.Mkdir(own, 0o755); err != nil {
		s.Fatal(err)
	}
	holding := sandbox.Policy{Write: []sandbox.Root{{Path: base}}, Protected: sandbox.ProtectedNames{Own: []string{own}}}
	if _, err := Enforcement(s.b, holding); err != nil {
		s.refuses("write root holds codeagent's settings", holding, own)
	} else if line := lines(s.run(holding, s.probeCommand(base, step("create", filepath.Join(own, "f")))).out)[0]; !refused(line) {
		s.Errorf("write root holds codeagent's settings, which can be written: %s", line)
	}
	s.refuses("write root lies in codeagent's settings", sandbox.Policy{
		Write: []sandbox.Root{{Path: real}}, Protected: sandbox.ProtectedNames{Own: []string{filepath.Dir(real)}},
	}, real)
	if e, err := Enforcement(s.b, sandbox.Policy{Read: []sandbox.Root{{Path: "/"}, {Path: missing, Optional: true}}}); err != nil {
		s.Errorf("a missing optional root: %v, %+v", err, e)
	}
}

// refuses checks that p is an error that names its cause, in Enforcement and in Start.
func (s *suite) refuses(what string, p sandbox.Policy, named string) {
	s.Helper()
	if _, err := Enforcement(s.b, p); err == nil || !strings.Contains(err.Error(), named) {
		s.Errorf("%s: enforcement: %v, want an error that names %s", what, err, named)
	}
	_, err := Start(s.b, context.Background(), p, s.probeCommand("/", "args"), nil)
	var bad *sandbox.StartError
	if !errors.As(err, &bad) || bad.Code != sandbox.ExitCannotConfine || !strings.Contains(err.Error(), named) {
		s.Errorf("%s: start: %v, want a StartError of code 125 that names %s", what, err, named)
	}
}

// startFailures: a program that cannot be executed and a missing program are distinguished, from
// each other and from a command that fails.
func startFailures(s *suite) {
	dir := s.dir()
	s.write(filepath.Join(dir, "not-executable"), "x")
	s.write(filepath.Join(dir, "broken"), "#!/no/such/interpreter\n")
	s.write(filepath.Join(dir, "nonsense"), "\x00\x01 no program")
	for _, name := range []string{"broken", "nonsense"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			s.Fatal(err)
		}
	}
	for _, row := range []struct {
		path, dir string
		code      int
		is        error
	}{
		{"no-such-program", dir, sandbox.ExitNotFound, fs.ErrNotExist},
		{filepath.Join(dir, "missing"), dir, sandbox.ExitNotFound, fs.ErrNotExist},
		{filepath.Join(dir, "not-executable"), dir, sandbox.ExitCannotExec, fs.ErrPermission},
		{filepath.Join(dir, "broken"), dir, sandbox.ExitCannotExec, nil},
		{filepath.Join(dir, "nonsense"), dir, sandbox.ExitCannotExec, nil},
		{dir, dir, sandbox.ExitCannotExec, fs.ErrPermission},
		{"/bin/sh", filepath.Join(dir, "missing"), sandbox.ExitCannotConfine, fs.ErrNotExist},
		{"relative/program", dir, sandbox.ExitCannotConfine, nil},
		{"/bin/sh", "relative", sandbox.ExitCannotConfine, nil},
	} {
		if s.excuse("start " + filepath.Base(row.path)) {
			continue
		}
		cmd := sandbox.Command{Path: row.path, Args: []string{row.path}, Dir: row.dir, Env: []string{"PATH=:.:relative:" + dir + "/nowhere:/bin"}}
		proc, err := Start(s.b, context.Background(), sandbox.ReadOnly(), cmd, nil)
		if err == nil {
			_, err = proc.Wait()
		}
		var bad *sandbox.StartError
		if !errors.As(err, &bad) || bad.Code != row.code {
			s.Errorf("%s in %s: %v, want code %d", row.path, row.dir, err, row.code)
		}
		if row.is != nil && !errors.Is(err, row.is) {
			s.Errorf("%s in %s: %v is not %v", row.path, row.dir, err, row.is)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Start(s.b, ctx, sandbox.ReadOnly(), shell(dir, "true"), nil); !errors.Is(err, context.Canceled) {
		s.Errorf("start with an ended context: %v", err)
	}
}

// grants: a granted file can be written, and nothing beside it. A granted name that does not exist
// yet can be created, and leaves nothing behind if it was not used.
func grants(s *suite) {
	dir, ws := s.dir(), s.dir()
	for _, f := range []string{"granted", "beside"} {
		s.write(filepath.Join(dir, f), "before")
	}
	granted, beside, absent := filepath.Join(dir, "granted"), filepath.Join(dir, "beside"), filepath.Join(dir, "absent")
	p := sandbox.Policy{Write: []sandbox.Root{{Path: ws}, {Path: granted, Optional: true}, {Path: absent, Optional: true}}}
	out := lines(s.run(p, s.probeCommand(ws, step("overwrite", granted), step("overwrite", beside), step("create", filepath.Join(dir, "other")))).out)
	for i, want := range []bool{false, true, true} {
		if refused(out[i]) != want {
			s.Errorf("with one file granted, step %d: %s, want refused: %v", i, out[i], want)
		}
	}
	if exists(absent) {
		s.Errorf("%s was left behind unused", absent)
	}
	out = lines(s.run(p, s.probeCommand(ws, step("put", absent), step("put", filepath.Join(dir, "other")))).out)
	if refused(out[0]) || !exists(absent) || !refused(out[1]) {
		s.Errorf("a granted absent file, and one beside it: %q", out)
	}
	temp := s.dir()
	out = lines(s.run(sandbox.Policy{Temp: temp}, s.probeCommand("/", step("create", filepath.Join(temp, "f")))).out)
	if refused(out[0]) {
		s.Errorf("write into the policy's temporary directory: %s", out[0])
	}
}

// grantsByShell: what happens to a granted file that did not exist.
func grantsByShell(s *suite) {
	dir, ws := s.dir(), s.dir()
	absent := filepath.Join(dir, "absent")
	p := sandbox.Policy{Write: []sandbox.Root{{Path: ws}, {Path: absent, Optional: true}}}
	st := s.run(p, shell(ws, "echo new > "+absent+"; echo x > "+dir+"/other")).status
	if data, err := os.ReadFile(absent); err != nil || string(data) != "new\n" || st.Exit == 0 {
		s.Errorf("granted absent file: %q, %v, status %+v", data, err, st)
	}
	if exists(filepath.Join(dir, "other")) {
		s.Error("the folder of a granted absent file is writable")
	}
	os.Remove(absent)
	// `touch` writes nothing, and yet the user wanted the file.
	if st := s.run(p, shell(ws, ": > "+absent)).status; st.Exit != 0 || !exists(absent) {
		s.Errorf("an empty file made by a command that succeeded is gone (%+v)", st)
	}
	os.Remove(absent)
	if s.run(p, shell(ws, "exit 1")); exists(absent) {
		s.Error("an empty file was left behind by a command that failed and made none")
	}
}
