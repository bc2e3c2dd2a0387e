package workspace

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"codeagent/config"
	"codeagent/sandbox"
)

// TestProtect: a closed folder is protected, and stops being a write root.
func TestProtect(t *testing.T) {
	var known GitTrust
	known.paths = []string{"/w/.husky", "/w/a/x"}
	if known.Words() != "" {
		t.Error(known.Words())
	}
	p := known.Protect(sandbox.WorkspaceWrite("/w", "/w/a/b", "/x"))
	if p.JudgeWrite("/w/.husky/h").Allowed || !p.JudgeWrite("/w/f").Allowed {
		t.Errorf("%+v", p)
	}
	known.close(config.GitTree{Closed: "/w/a", Err: errors.New("no")})
	p = known.Protect(sandbox.WorkspaceWrite("/w", "/w/a/b", "/x"))
	for path, want := range map[string]bool{"/w/f": true, "/x/f": true, "/w/a/f": false, "/w/a/b/f": false, "/w/.husky/h": false} {
		if p.JudgeWrite(path).Allowed != want {
			t.Errorf("%s: want %v", path, want)
		}
	}
	known.close(config.GitTree{Closed: "/", Err: errors.New("no\nmore")})
	strict := sandbox.Strict("/w", "")
	strict.Read, strict.Write = []sandbox.Root{{Path: "/usr"}}, []sandbox.Root{{Path: "/w"}}
	p = known.Protect(strict)
	if len(p.Write) != 0 || p.JudgeWrite("/w/f").Allowed || !p.JudgeRead("/w/f").Allowed {
		t.Errorf("%+v", p)
	}
	if words := known.Words(); !strings.Contains(words, "nothing in /:") || strings.Contains(words, "\n") || !slices.Equal(known.closed, []string{"/"}) {
		t.Errorf("%q %q", words, known.closed)
	}
}
