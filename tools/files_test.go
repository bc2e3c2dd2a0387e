package tools

import (
	"slices"
	"testing"

	"codeagent/exec"
)

// TestFiles: a person chooses from what a model's listing shows, without names that could act
// on a terminal.
func TestFiles(t *testing.T) {
	p := newPlace(t, map[string]string{
		".gitignore": "*.log\nbuild/\n", "a.go": "", "b.log": "", "build/x": "", "sub/.gitignore": "!c.log\n", "sub/c.log": "", "sub/d\x1b[2J": "", "sub/\u202ee": "", "sub/é": "", ".git/config": "",
	})
	p.policy.DenyRead = append(p.policy.DenyRead, p.ws+"/sub/é")
	client, err := exec.New(exec.Options{Backend: p.backend, Files: exec.OS{}}).Files(t.Context(), p.policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	names, cut, err := Files(t.Context(), client, p.policy, p.ws, 100)
	if want := []string{".gitignore", ".keep", "a.go", "sub/", "sub/.gitignore", "sub/c.log"}; err != nil || cut || !slices.Equal(names, want) {
		t.Errorf("%q, %v, %v; want %q", names, cut, err, want)
	}
	if names, cut, err := Files(t.Context(), client, p.policy, p.ws, 3); err != nil || !cut || len(names) != 3 {
		t.Errorf("at most 3: %q, %v, %v", names, cut, err)
	}
}
