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
