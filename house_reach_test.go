package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackendsReach: a backend names no policy but the resolved one. What it would compute of a
// declaration by itself could differ from what prompts and questions say.
func TestBackendsReach(t *testing.T) {
	looked := 0
	for _, room := range []string{"linuxsandbox", "seatbelt"} {
		err := filepath.WalkDir(room, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
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
