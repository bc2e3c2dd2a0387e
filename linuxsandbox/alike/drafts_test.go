//go:build linux

package alike

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/draft"
	"codeagent/exec"
	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// listing says all that a draft keeps of a tree.
const listing = `find . -mindepth 1 ! -type s ! -type p -printf '%P %y %M %l\n' | tr sStT xxxx | sort; find . -type f -print0 | sort -z | xargs -0r sha256sum`

// TestJobsOnDrafts: jobs work on a draft too, change nothing until they are kept, and leave then what they left on the draft.
func TestJobsOnDrafts(t *testing.T) {
	b := backendtest.New(t)
	defer b.Close()
	e, err := sandboxtest.Enforcement(b, sandbox.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(e.Active(), "mountns") || !e.Observes {
		t.Skip("no drafts here")
	}
	rows := jobs
	if os.Getuid() != 0 {
		rows = slices.Concat(jobs, realJobs)
	}
	for _, j := range machine.Pick(t, t.Name(), 5, 20, rows) {
		if j.slow || j.ruledOut(e, attack.ThisUser) != "" {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			for _, program := range strings.Fields(j.needs) {
				attack.Need(t, program)
			}
			base, err := os.MkdirTemp("", "job")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { attack.RemoveAll(base) })
			ws, temp, drafts := filepath.Join(base, "ws"), filepath.Join(base, "temp"), filepath.Join(base, "drafts")
			for _, dir := range []string{ws, temp, drafts} {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			p := sandbox.WorkspaceWrite(ws)
			p.Temp, p.Env.Set = temp, map[string]string{}
			for _, kv := range backendtest.JobEnv(ws, temp) {
				name, value, _ := strings.Cut(kv, "=")
				p.Env.Set[name] = value
			}
			d, err := draft.New(drafts, ws, nil, p)
			if err != nil {
				t.Fatal(err)
			}
			r := exec.New(exec.Options{Backend: b, Files: exec.OS{}})
			run := func(script string, on exec.Draft) exec.Outcome {
				t.Helper()
				o, err := r.Run(t.Context(), p, exec.Command{Argv: []string{"/bin/bash", "-eu", "-o", "pipefail", "-c", script}, Dir: ws, Draft: on}, nil)
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			if o := run(j.script, d); (o.Status.Exit != 0) != (j.fails || j.rule != "") || !strings.Contains(o.Output.Text(), j.says) {
				t.Fatalf("%+v, want it to say %q\n%s", o.Status, j.says, o.Output.Text())
			}
			left := run(listing, d).Output.Text()
			if now, err := os.ReadDir(ws); err != nil || len(now) > 0 {
				t.Fatalf("the workspace has %v, %v", now, err)
			}
			list, err := d.Changes()
			if err != nil {
				t.Fatal(err)
			}
			files, err := r.Files(t.Context(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			_, not, err := d.Keep(t.Context(), files, list)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range not {
				if l.Type != "special" {
					t.Errorf("not kept: %s: %s", l.Path, l.Why)
				}
			}
			if now := run(listing, nil).Output.Text(); now != left {
				t.Errorf("kept\n%s\nwas\n%s", now, left)
			}
		})
	}
}
