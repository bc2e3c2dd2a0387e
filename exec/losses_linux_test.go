package exec_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
)

// TestLosses: what a command lost, where no word names it and its status does not say so.
func TestLosses(t *testing.T) {
	r, p, ws, out := confined(t)
	for name, text := range map[string]string{
		"Makefile": "all:\n\ttouch ../out/x\n", "t.sh": "touch ../out/x 2>/dev/null\n", "soft.sh": "touch ../out/x 2>/dev/null\ntrue\n",
		"t.py": "#!/usr/bin/env python3\nopen('../out/x', 'w')\n", "calm.py": "try: open('../out/x', 'w')\nexcept OSError as e: print('no cache:', e.errno)\n",
	} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		script, needs string
		lost          bool
		ends          string // "failed", "denied"; else it passes
	}{
		// A process failed whose status nobody looked at.
		{"make -s 2>&1 | tail -n 1", "make", true, ""},
		{"sh t.sh | cat", "sh", true, ""},
		{"./t.py 2>/dev/null | head -n 1", "python3", true, ""},
		{"sh t.sh; echo done", "sh", true, ""},
		{"sh t.sh & wait", "sh", false, ""}, // nor did the text ask how it ended
		{"sh t.sh || echo no", "sh", false, ""},
		{"if sh t.sh; then echo yes; fi", "sh", false, ""},
		{"sh soft.sh | cat", "sh", false, ""},
		{"python3 calm.py | cat", "python3", false, ""},
		// It printed the system's error.
		{"git config --global user.email x@y; true", "git", true, ""},
		{"find . -name calm.py -exec sh -c 'cp calm.py ../out/x' \\;", "find", true, ""},
		{"printf '#!/bin/sh\\ntouch ../out/x\\n' >post-commit; chmod +x post-commit; git init -q; git -c core.hooksPath=$PWD -c user.email=x -c user.name=x commit -q --allow-empty -m x", "git", true, ""},
		{"perl -e 'open F, q(>), q(../out/x) or warn qq(../out/x: $!\\n)'", "perl", true, ""},
		// A later part fails by itself, or was refused something itself.
		{"git config --global user.email x@y; false", "git", true, "failed"},
		{"touch ../out/x; test -e missing", "touch", true, "failed"},
		{"find . -name calm.py -exec sh -c 'cp calm.py ../out/x' \\;; exit 3", "find", true, "failed"},
		{"perl -e 'open F, q(>), q(../out/x) or warn qq(../out/x: $!\\n)'; grep nothing t.py", "perl", true, "failed"},
		{"git config --global user.email x@y; cp t.py ../out/y", "git", true, "denied"},
		{"touch ../out/x || touch y; false", "touch", false, "failed"},
		{"python3 calm.py; false", "python3", false, "failed"},
		// The text provides for the failure.
		{"touch ../out/x || touch y", "touch", false, ""},
		{"git config --global user.email x@y || true", "git", false, ""},
		{"if ! cp t.py ../out/x; then cp t.py y; fi", "cp", false, ""},
		{"while ! touch ../out/x; do break; done; ! touch ../out/x", "touch", false, ""},
		{"touch ../out/x && echo yes || echo no", "touch", false, ""},
		{"touch ../out/x && echo yes; true", "touch", true, ""},
		{"touch ../out/x || false; true", "touch", true, ""},
	} {
		if _, err := osexec.LookPath(row.needs); err != nil {
			t.Logf("%s: %v", row.script, err)
			continue
		}
		o, err := r.Run(t.Context(), p, exec.Command{Argv: []string{"/bin/bash", "-c", row.script}, Dir: ws}, nil)
		if err != nil || o.Failed() != (row.ends != "") {
			t.Errorf("%s: %+v %v %s", row.script, o.Status, err, o.Output.Text())
			continue
		}
		v := o.Verdict
		if lost := slices.ContainsFunc(v.Denials, func(d sandbox.Denial) bool { return d.Lost }); lost != row.lost || v.Denied != (row.ends == "denied") || lost && !strings.HasPrefix(v.Lost()[0].Target, filepath.Dir(out)) {
			t.Errorf("%s: lost %v, want %v: %+v %s", row.script, lost, row.lost, v.Denials, o.Output.Text())
		}
	}
}
