//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// keptJobs are the jobs of BenchmarkKept. What a job creates in a new folder is reported as that
// folder; what exists already is reported file by file.
var keptJobs = []struct{ name, job, script string }{
	{"git clone", "git clone", `git clone -q src out/copy`},
	{"tar", "tar", `tar xf all.tar -C out`},
	{"tar over itself", "tar", `tar xf all.tar`},
	{"rm and tar", "tar", `rm -r d*; tar xf all.tar`},
}

// BenchmarkKept runs jobs alternately without a change observer and with one that does nothing. The
// difference is the cost of the reports.
func BenchmarkKept(b *testing.B) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		b.Fatal(err)
	}
	for _, job := range keptJobs {
		b.Run(job.name, func(b *testing.B) {
			ws, backend := b.TempDir(), newLayered(b, true, true)
			defer backend.Close()
			env := append(os.Environ(), "HOME="+ws, "GIT_CONFIG_NOSYSTEM=1")
			for _, prepared := range benchJobs {
				if prepared.name != job.job {
					continue
				}
				prepare := exec.Command(bash, "-c", prepared.prepare)
				prepare.Dir, prepare.Env = ws, env
				if out, err := prepare.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
			out, told := filepath.Join(ws, "out"), 0
			alone := sandbox.Command{Path: bash, Args: []string{"bash", "-c", job.script}, Dir: ws, Env: env}
			kept := alone
			kept.Observer = sandboxtest.Observer(func(int, string, string) { told++ })
			p := sandbox.WorkspaceWrite(ws)
			without, with := inTurns(b, confined(b, backend, p, alone), confined(b, backend, p, kept), func() {
				if err := errors.Join(os.RemoveAll(out), os.Mkdir(out, 0o755)); err != nil {
					b.Fatal(err)
				}
			})
			b.ReportMetric(float64(told)/float64(b.N), "told")
			reportAbove(b, without, with)
		})
	}
}
