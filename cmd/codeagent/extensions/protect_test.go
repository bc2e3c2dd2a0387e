package extensions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/exec"
	"codeagent/hooks"
	"codeagent/sandbox"
)

// TestProtect: the file that a hook's command runs is protected, however the command names it.
func TestProtect(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tools/check.py", "tools/deep/__main__.py", "tools/deep/util.py", "lint.py", "run.sh", "real.sh", "main.go", "vet.go"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real.sh", dir+"/link.sh"); err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Folder: dir, Files: exec.OS{}, Stdio: cli.Stdio{Environ: []string{"HOME=/absent"}}}
	for command, want := range map[string]string{
		"./run.sh": "run.sh", "sh run.sh": "run.sh", "$CLAUDE_PROJECT_DIR/run.sh": "run.sh", `"${CLAUDE_PROJECT_DIR}"/run.sh -x`: "run.sh", "${CODEAGENT_FOLDER}/run.sh": "run.sh",
		`bash -c "$CODEAGENT_FOLDER/run.sh"`: "run.sh", "./link.sh": "link.sh real.sh", "python3 -m tools.check": "tools/check.py", "python3 -m tools.check --all": "tools/check.py",
		"python3 -m tools.deep": "tools/deep/__main__.py tools/deep/util.py", "python3 -m lint": "lint.py", "go vet": "", "make . ..": "", "echo main": "",
	} {
		p := Found{Hooks: []hooks.Hook{{Command: command}}}.Protect(ws, sandbox.WorkspaceWrite(dir))
		var got []string
		for _, file := range p.Protected.Paths {
			got = append(got, strings.TrimPrefix(file, dir+"/"))
			if p.Protected.Reasons[file] == "" {
				t.Errorf("%s: no reason for %s", command, file)
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: protected %q, want %q", command, text, want)
		}
	}
}

// TestProtectTemporary: a hook's script in a folder that only the policy itself adds is protected, too.
func TestProtectTemporary(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "hook.sh")
	if err := os.WriteFile(script, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	p := sandbox.WorkspaceWrite("/w")
	p.Temp = dir
	if !p.JudgeWrite(script).Allowed {
		t.Fatal("commands cannot change it anyway")
	}
	ws := &workspace.Workspace{Folder: "/w", Files: exec.OS{}, Stdio: cli.Stdio{Environ: []string{"HOME=/absent"}}}
	if p = (Found{Hooks: []hooks.Hook{{Command: "sh " + script}}}).Protect(ws, p); p.JudgeWrite(script).Allowed {
		t.Error("commands can change it")
	}
}
