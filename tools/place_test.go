package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/exec"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// place is a workspace with a folder outside it, and everything that a call needs.
type place struct {
	t *testing.T
	// ws is the workspace, out a folder that no policy lets be written.
	ws, out string
	policy  sandbox.Policy
	options Options
	backend resolved.Backend
	stage   Stage
	mode    approvals.Mode
	// answer is the answer to every question.
	answer approvals.Answer
	asked  []approvals.Request
	ids    int
}

func newPlace(t *testing.T, files map[string]string) *place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, ws: filepath.Join(top, "ws"), out: filepath.Join(top, "out"), backend: exec.Plain{}, mode: approvals.OnRequest}
	p.write("../out/secret", "secret\n")
	p.write(".keep", "")
	for name, data := range files {
		p.write(name, data)
	}
	p.policy = sandbox.WorkspaceWrite(p.ws)
	p.options = Options{Workspace: p.ws, Files: exec.OS{}, Shell: "/bin/sh", Findings: every.Findings}
	p.stage = Stage{Asking: true, Mode: p.mode}
	return p
}

// write makes a file below the workspace.
func (p *place) write(name, data string) {
	p.t.Helper()
	path := filepath.Join(p.ws, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) link(target, name string) {
	p.t.Helper()
	if err := os.Symlink(target, filepath.Join(p.ws, name)); err != nil {
		p.t.Fatal(err)
	}
}

// read returns a file's content, or what is wrong with it in brackets.
func (p *place) read(name string) string {
	p.t.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(p.ws, name)
	}
	data, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err):
		return "(absent)"
	case err != nil:
		return fmt.Sprintf("(%v)", err)
	}
	return string(data)
}

// tree returns every file below a folder, with links as "-> target".
func (p *place) tree(dir string) map[string]string {
	p.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.Type()&fs.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			out[rel] = "-> " + target
			return nil
		}
		out[rel] = p.read(path)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

func (p *place) runner() *exec.Runner {
	return exec.New(exec.Options{Backend: p.backend, None: exec.Plain{}, Environ: os.Environ(), Files: exec.OS{}})
}

// withJobs lets commands run in the background until the test ends.
func (p *place) withJobs() {
	p.stage.Exec = p.runner()
	p.options.Jobs = exec.NewJobs(p.stage.Exec, nil)
	p.t.Cleanup(func() { p.options.Jobs.Close() })
}

func (p *place) gate() *approvals.Gate {
	return approvals.NewGate(approvals.Options{
		Mode: p.mode, Base: p.policy, Files: exec.OS{}, Home: "/nonexistent", Workspace: p.ws,
		NewID: func() string { p.ids++; return fmt.Sprint("q", p.ids) },
	})
}

// plan plans a call; args is marshalled unless it is a string.
func (p *place) plan(tool string, args any) (Call, error) {
	p.t.Helper()
	text, ok := args.(string)
	if !ok {
		data, err := json.Marshal(args)
		if err != nil {
			p.t.Fatal(err)
		}
		text = string(data)
	}
	return All(p.options).Plan(model.ToolCall{ID: "c1", Name: tool, Arguments: text})
}

// permit takes the action through the gate.
func (p *place) permit(a approvals.Action) (approvals.Permit, error) {
	gate := p.gate()
	permit, request, err := gate.Decide(a)
	if request == nil {
		return permit, err
	}
	p.asked = append(p.asked, *request)
	return gate.Settle(request, p.answer)
}

// do plans, permits and runs.
func (p *place) do(tool string, args any) (Result, error) {
	p.t.Helper()
	c, err := p.plan(tool, args)
	if err != nil {
		return Result{}, err
	}
	permit, err := p.permit(c.Action())
	if err != nil {
		return Result{}, err
	}
	if p.stage.Exec == nil {
		p.stage.Exec = p.runner()
	}
	return c.Run(context.Background(), permit, p.stage)
}

// with is do with tools that are kept from call to call.
func (p *place) with(set *Set, tool string, args any) Result {
	p.t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		p.t.Fatal(err)
	}
	c, err := set.Plan(model.ToolCall{ID: "c1", Name: tool, Arguments: string(data)})
	if err != nil {
		p.t.Fatal(err)
	}
	permit, err := p.permit(c.Action())
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := c.Run(context.Background(), permit, p.stage)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// ok does a call that must go well.
func (p *place) ok(tool string, args any) Result {
	p.t.Helper()
	r, err := p.do(tool, args)
	if err != nil {
		p.t.Fatalf("%s: %v", tool, err)
	}
	if r.Failed {
		p.t.Fatalf("%s failed: %s", tool, r.Text)
	}
	return r
}

// args is short for arguments.
type args = map[string]any

// updateOf makes a patch of one file.
func updateOf(name, hunk string) args {
	return args{"patch": "*** Begin Patch\n*** Update File: " + name + "\n" + hunk + "*** End Patch"}
}

func addOf(name, line string) args {
	return args{"patch": "*** Begin Patch\n*** Add File: " + name + "\n+" + line + "\n*** End Patch"}
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func lines(s string) []string { return strings.Split(s, "\n") }

func (p *place) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.ws, name)); err != nil {
		p.t.Fatal(err)
	}
}
