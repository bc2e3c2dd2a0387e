package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestBackendsReach: a backend names no policy but the resolved one. What it would compute of a
// declaration by itself could differ from what prompts and questions say.
func TestBackendsReach(t *testing.T) {
	looked := 0
	for _, room := range []string{"linuxsandbox", "seatbelt"} {
		err := filepath.WalkDir(room, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
				return err // tests and their support declare policies
			}
			looked++
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Policy" {
					if of, ok := s.X.(*ast.Ident); ok && of.Name == "sandbox" {
						t.Errorf("%s: names sandbox.Policy, want resolved.Policy", files.Position(s.Pos()))
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 50 {
		t.Errorf("only %d files were read", looked)
	}
}

// TestDecideReaches: a decision is a function of values. A lock, a clock or a file in it would make two
// decisions about the same state differ, and "what would always do?" could not be answered by deciding.
func TestDecideReaches(t *testing.T) {
	files, err := filepath.Glob("approvals/decide/*.go")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files were read: %v", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			for _, no := range []string{"sync", "time", "os", "io", "context", "syscall", "path/filepath", "math/rand", "log", "runtime"} {
				if path == no || strings.HasPrefix(path, no+"/") {
					t.Errorf("%s imports %s: a decision is made of values alone", name, path)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "FileSystem" || s.Sel.Name == "Canonical" && isName(s.X, "sandbox")) {
				t.Errorf("%s: %s looks at files: the gate looks before", name, s.Sel.Name)
			}
			_, goes := n.(*ast.GoStmt)
			if goes {
				t.Errorf("%s starts a goroutine", name)
			}
			return true
		})
	}
}

// layout are names of gitrepository-layout(5) that mean nothing else.
var layout = []string{".git", "HEAD", "objects", "refs", "commondir", "gitdir: ", "gitdir", "config.worktree", "modules", "worktrees", "packed-refs", "sharedindex."}

// layoutKnowers may name them, as files or as whole rooms.
var layoutKnowers = []permitted{
	{"internal/git", "it is the one room that knows git's layout"},
	{"internal/git/dotgit", "the part of it that the sandbox's helper links"},
	{"sandbox/protect", "its table names what git runs and trusts, with a reason each"},
	{"gitrun/gitrun.go", "HEAD is a revision in git's arguments"},
	{"gitrun/diff.go", "HEAD is a revision in git's arguments"},
}

// TestLayoutReaches: two rooms that know a part of git's layout disagree sooner or later, about spellings, ends
// of lines or errors, and what one closes the other opens.
func TestLayoutReaches(t *testing.T) {
	h, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	knows := map[string]bool{}
	for _, f := range h.files {
		if f.test || f.room.support {
			continue
		}
		for _, text := range literals(f.ast) {
			for _, part := range strings.Split(text, "/") {
				i := slices.IndexFunc(layoutKnowers, func(p permitted) bool { return p.pattern == f.name || p.pattern == f.room.path })
				switch {
				case !slices.Contains(layout, part):
				case i < 0:
					t.Errorf("%s: %q is a part of git's layout, which only internal/git knows", f.name, text)
				default:
					knows[layoutKnowers[i].pattern] = true
				}
			}
		}
	}
	for _, p := range layoutKnowers {
		if !knows[p.pattern] || p.reason == "" {
			t.Errorf("%s names nothing of git's layout, or has no reason to", p.pattern)
		}
	}
}

// literals are the texts in a file, without the paths of its imports.
func literals(file *ast.File) (texts []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if _, is := n.(*ast.ImportSpec); is {
			return false
		}
		if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
			text, _ := strconv.Unquote(l.Value)
			texts = append(texts, text)
		}
		return true
	})
	return texts
}

// TestResolvedIsMade: sandbox/resolved alone makes policies. One that is put together elsewhere was not
// declared, nobody has looked at the machine for it, and it judges by nothing. Beside an error the zero value
// may be returned.
func TestResolvedIsMade(t *testing.T) {
	h, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	returned := 0
	for _, f := range h.files {
		if f.test || f.room.support || f.room.path == "sandbox/resolved" {
			continue
		}
		zero := map[ast.Node]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ReturnStmt:
				for _, result := range n.Results {
					if c, ok := result.(*ast.CompositeLit); ok && len(c.Elts) == 0 {
						zero[c] = true
					}
				}
			case *ast.CompositeLit:
				if s, ok := n.Type.(*ast.SelectorExpr); !ok || s.Sel.Name != "Policy" || !isName(s.X, "resolved") {
					return true
				}
				if returned++; !zero[n] {
					t.Errorf("%s: makes a resolved.Policy, want one of sandbox/resolved", h.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	if returned == 0 {
		t.Error("no file was read that returns the zero value")
	}
}

func isName(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
