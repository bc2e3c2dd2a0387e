package exec_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	osexec "os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/config/configtest"
	"codeagent/exec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

var onlyRows = flag.String("rows", "", "run only the rows of the corpus whose command contains this")

// corpusPlace is where the rows run, one after the other: always the same folders, made anew
// for every run, so that a grant of the last run means the same in the next.
type corpusPlace struct {
	*corpusServers
	backend           resolved.Backend
	base, goCache     string
	ws, out, home, tm string
}

func newCorpusPlace(t *testing.T, backend resolved.Backend, base, goCache string) *corpusPlace {
	t.Helper()
	if err := errors.Join(os.MkdirAll(goCache, 0o755), os.MkdirAll(base+".servers", 0o755)); err != nil {
		t.Fatal(err)
	}
	return &corpusPlace{
		corpusServers: newCorpusServers(t, base+".servers"), backend: backend, base: base, goCache: goCache,
		ws: filepath.Join(base, "ws"), out: filepath.Join(base, "out"), home: filepath.Join(base, "home"), tm: filepath.Join(base, "tmp"),
	}
}

// corpusPath excludes programs in the tester's home folder.
const corpusPath = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

// judge runs a row bare and boxed, and boxed again with the suggested grant.
func (p *corpusPlace) judge(r *corpusResult) {
	for program := range strings.FieldsSeq(r.needs) {
		if !slices.ContainsFunc(filepath.SplitList(corpusPath), func(dir string) bool {
			_, err := osexec.LookPath(filepath.Join(dir, program))
			return err == nil
		}) {
			r.broken = "there is no " + program
			return
		}
	}
	policy := p.policy(r.policy)
	var err error
	var free, held map[string]string
	if r.bare, free, err = p.run(r, policy.With(sandbox.Grant{Unsandboxed: true})); err == nil {
		r.boxed, held, err = p.run(r, policy)
	}
	if err == nil && r.bare.TimedOut {
		err = errors.New("takes too long without a sandbox")
	}
	if err != nil {
		r.broken = err.Error()
		return
	}
	r.suggested, r.useless = p.trial(r, policy).Faults(r.boxed.Verdict)
	r.label, r.touched = !r.bare.Failed() && r.boxed.Failed(), !maps.Equal(free, held)
	if !r.label {
		return
	}
	found := targets(r.boxed.Verdict)
	for _, want := range r.want {
		if want = p.expand(want); !slices.ContainsFunc(found, func(got string) bool { ok, err := path.Match(want, got); return ok && err == nil }) {
			r.missing = append(r.missing, want)
		}
	}
	r.named = len(r.missing) == 0 && len(r.want) > 0 && r.boxed.Verdict.Denied
	if r.named {
		p.tryGrants(r, policy)
	}
}

// trial tries the suggestions of a row.
func (p *corpusPlace) trial(r *corpusResult, policy sandbox.Policy) configtest.Trial {
	return configtest.Trial{
		Base: policy, Settings: map[string][]string{"ro": {"sandbox.mode=read-only"}, "deny": {"sandbox.deny_read=['" + filepath.Join(p.out, "secret") + "']"}}[r.policy],
		Own: p.base + ".own", Workspace: p.ws, Home: p.home, Files: exec.OS{}, Command: r.script,
		Reset: func() { _ = p.fresh(r.setup) },
		Run: func(wider sandbox.Policy) (sandbox.Verdict, error) {
			o, _, err := p.run(r, wider)
			return o.Verdict, err
		},
	}
}

// tryGrants runs a row with the suggested grant, and with each item less.
func (p *corpusPlace) tryGrants(r *corpusResult, policy sandbox.Policy) {
	g := r.boxed.Verdict.Suggest
	o, _, err := p.run(r, policy.With(g))
	r.granted, r.least = err == nil && !o.Failed(), true
	if !r.granted {
		r.notes = append(r.notes, fmt.Sprintf("granted: %v %s %.300q\n  then %s", err, ending(o), o.Output.Text(), traceWords(o.Trace)))
	}
	less := lessByOne(g)
	if len(less) == 1 {
		return // nothing is left, which was the first run
	}
	for _, g := range less {
		if o, _, err := p.run(r, policy.With(g)); err == nil && !o.Failed() {
			r.least = false
			r.notes = append(r.notes, "passes with less: "+suggestion(g))
		}
	}
}

// warm fills the build cache, so that no row compiles the standard library.
func (p *corpusPlace) warm(t *testing.T) {
	t.Helper()
	err := p.fresh(`printf 'module m\ngo 1.21\n' >go.mod
printf 'package main\nimport ("net"; "os")\nfunc main() { _, _ = net.Dial(os.Args[0], "") }\n' >m.go
printf 'package main\nimport "testing"\nfunc TestX(t *testing.T) {}\n' >m_test.go
go test . && go build -o m .`)
	if err != nil {
		t.Fatal(err)
	}
}

// lessByOne returns all grants that lack one item of g.
func lessByOne(g sandbox.Grant) []sandbox.Grant {
	var out []sandbox.Grant
	for i := range g.Write {
		less := g
		less.Write = slices.Delete(slices.Clone(g.Write), i, i+1)
		out = append(out, less)
	}
	for i := range g.Read {
		less := g
		less.Read = slices.Delete(slices.Clone(g.Read), i, i+1)
		out = append(out, less)
	}
	for i := range g.Hosts {
		less := g
		less.Hosts = slices.Delete(slices.Clone(g.Hosts), i, i+1)
		out = append(out, less)
	}
	for i := range g.Sockets {
		less := g
		less.Sockets = slices.Delete(slices.Clone(g.Sockets), i, i+1)
		out = append(out, less)
	}
	if g.Unsandboxed {
		less := g
		less.Unsandboxed = false
		out = append(out, less)
	}
	return out
}

func (p *corpusPlace) policy(name string) sandbox.Policy {
	policy := sandbox.WorkspaceWrite(p.ws)
	switch name {
	case "ro":
		policy = sandbox.ReadOnly()
	case "deny":
		policy.DenyRead = []string{filepath.Join(p.out, "secret")}
	}
	policy.Write = append(policy.Write, sandbox.Root{Path: p.goCache})
	policy.Temp = p.tm
	policy.Env = sandbox.Env{Set: p.env()}
	return policy
}

// env returns the environment of bare and boxed runs.
func (p *corpusPlace) env() map[string]string {
	env := map[string]string{
		"PATH": corpusPath, "HOME": p.home, "TMPDIR": p.tm, "LANG": "C.UTF-8", "TERM": "dumb", "USER": "dev",
		"GIT_AUTHOR_NAME": "dev", "GIT_AUTHOR_EMAIL": "dev@example.org", "GIT_COMMITTER_NAME": "dev", "GIT_COMMITTER_EMAIL": "dev@example.org",
		"GIT_CONFIG_NOSYSTEM": "1", "GOCACHE": p.goCache, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOTELEMETRY": "off", "CGO_ENABLED": "0",
		"npm_config_update_notifier": "false", "npm_config_fund": "false", "npm_config_audit": "false", "PYTHONDONTWRITEBYTECODE": "1",
		"WS": p.ws, "OUT": p.out,
	}
	maps.Copy(env, p.variables())
	return env
}

func (p *corpusPlace) expand(s string) string {
	env := p.env()
	return os.Expand(s, func(name string) string { return env[name] })
}

// run runs a row's script in fresh folders, and returns what it changed outside the workspace
// and which servers it reached.
func (p *corpusPlace) run(r *corpusResult, policy sandbox.Policy) (exec.Outcome, map[string]string, error) {
	if err := p.fresh(r.setup); err != nil {
		return exec.Outcome{}, nil, err
	}
	runner := exec.New(exec.Options{Backend: p.backend, None: exec.Plain{}, Files: exec.OS{}})
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	defer cancel()
	o, err := runner.Run(ctx, policy, exec.Command{Argv: []string{"/bin/bash", "-c", r.script}, Dir: p.ws, Timeout: 5 * time.Minute}, nil)
	if err != nil {
		return o, nil, err
	}
	seen := p.hits()
	return o, seen, p.look(seen)
}

// corpusTime is the modification time of the files of a fresh place.
var corpusTime = time.Date(2020, 2, 2, 2, 2, 2, 0, time.UTC)

// fresh makes the initial folders and files of a run.
func (p *corpusPlace) fresh(setup string) error {
	removeCorpus(p.base)
	for _, dir := range []string{"ws/sub", "out/dir", "out/empty", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(p.base, dir), 0o755); err != nil {
			return err
		}
	}
	for name, content := range corpusContents {
		if err := os.WriteFile(filepath.Join(p.base, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for name, content := range shapeTools {
		if err := os.WriteFile(filepath.Join(p.ws, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	if setup != "" {
		cmd := osexec.Command("/bin/bash", "-euc", setup)
		cmd.Dir = p.ws
		for name, value := range p.env() {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("setup: %w\n%s", err, out)
		}
	}
	p.reset()
	return filepath.WalkDir(p.base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return nil // the setup removed the folder's permissions
		}
		return os.Chtimes(path, corpusTime, corpusTime)
	})
}

// corpusContents are the files of a fresh place.
var corpusContents = map[string]string{
	"ws/a": "a\n", "ws/b": "b\n", "out/f": "f\n", "out/dir/g": "g\n", "out/dir/h": "h\n", "out/secret": "x\n",
	"ws/app.log": "12:00 open /etc/app.conf: Permission denied\n12:01 connect: Operation not permitted\n12:02 sandbox: seccomp killed worker\n",
}

// look records what is outside the workspace.
func (p *corpusPlace) look(seen map[string]string) error {
	for _, top := range []string{p.out, p.home} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // no permission, or removed: shown by its absence
			}
			fi, err := d.Info()
			if err != nil {
				return nil
			}
			word := fmt.Sprint(fi.Mode(), fi.ModTime().Equal(corpusTime))
			if !fi.Mode().IsRegular() {
				// A folder counts as changed if its content changed; a pipe is not read.
			} else if data, err := os.ReadFile(path); err == nil {
				word += fmt.Sprintf(" %x", sha256.Sum256(data))
			}
			seen[path] = word
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
