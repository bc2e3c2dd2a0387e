package experiment_test

import (
	"os"
	"testing"

	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	osexec "os/exec"
)

// TestRealPrograms: programs that everybody uses, which write outside the workspace, are found out, and one question is
// enough.
func TestRealPrograms(t *testing.T) {
	p := newDrafts(t)
	type job struct{ name, needs, text string }
	jobs := []job{
		{"rsync", "rsync", `rsync -a folder "$OUT/"`},
		{"venv", "python3", `python3 -m venv --without-pip "$OUT/venv"`},
		{"make install", "make", `printf 'install:\n\tmkdir -p $(DESTDIR)/bin && cp here $(DESTDIR)/bin\n' > Makefile; make install DESTDIR="$OUT/root"`},
		{"patch", "patch", `printf -- '--- f\n+++ f\n@@ -1 +1 @@\n-old text\n+new text\n' | patch -d "$OUT" -p0`},
		{"sqlite", "python3", `python3 -c 'import sqlite3, os; c = sqlite3.connect(os.environ["OUT"]+"/db"); c.execute("create table t (a)"); c.commit()'`},
		{"tee", "tee", `echo x | tee "$OUT/log" > /dev/null`},
		{"dd", "dd", `dd if=here of="$OUT/image" status=none`},
		{"zip", "python3", `python3 -m zipfile -c "$OUT/a.zip" here`},
		{"logger", "python3", `python3 -c 'import logging, os; logging.basicConfig(filename=os.environ["OUT"]+"/l/x.log")' 2>/dev/null || { mkdir "$OUT/l" && echo > "$OUT/l/x.log"; }`},
	}
	except := map[string]string{
		"mv a folder": "a granted folder stays where it is", "cp -al": "a second name in another root", "ln": "a second name in another root",
	}
	for _, j := range backendtest.OutsideJobs {
		jobs = append(jobs, job{j.Name, j.Needs, j.Script})
	}
	for _, j := range jobs {
		if j.needs != "" && !has(j.needs) {
			continue
		}
		furnish := func() {
			p.reset(t)
			for _, step := range []error{os.WriteFile(p.ws+"/here", []byte("inside\n"), 0o644), os.Mkdir(p.ws+"/folder", 0o755), os.WriteFile(p.ws+"/folder/x", nil, 0o644),
				os.WriteFile(p.dir+"/out/f", []byte("old text\n"), 0o644), os.Mkdir(p.dir+"/out/d", 0o755), os.Mkdir(p.dir+"/out/empty", 0o755), os.WriteFile(p.dir+"/out/d/x", nil, 0o644), os.Symlink("f", p.dir+"/out/link")} {
				if step != nil {
					t.Fatal(step)
				}
			}
		}
		furnish()
		argv := []string{"/bin/bash", "-ec", j.text}
		o, v := p.run(t, argv...)
		furnish()
		again := p.granted(t, v.Suggest, argv)
		if why := except[j.name]; (why == "") != (v.Denied && v.Confidence == sandbox.Certain && v.Experiment != "" && !again.Failed()) {
			t.Errorf("%s (%s): exit %d, denied %v %s %q, suggested %v, then exit %d\n%s", j.name, why, o.Status.Exit, v.Denied, v.Confidence, v.Experiment, v.Suggest.Write, again.Status.Exit, again.Output.Text())
		}
	}
}

func has(program string) bool { _, err := osexec.LookPath(program); return err == nil }
