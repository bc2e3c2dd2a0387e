package house

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestUnused: what the tables allow and nothing needs is taken away. The reason
// that stands beside it is no longer true, and nobody would see it being used.
func TestUnused(t *testing.T) {
	h, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string][]string{} // by room, of its files that ship
	started := map[string]bool{}      // by file
	for _, f := range h.files {
		if f.test || f.room.support || f.dir() == "." {
			continue
		}
		for _, spec := range f.ast.Imports {
			if p, err := strconv.Unquote(spec.Path.Value); err == nil {
				imported[f.room.path] = append(imported[f.room.path], p)
			}
		}
		started[f.name] = starts(f.ast)
	}
	for _, r := range rooms {
		for _, imp := range r.imports {
			if !r.support && !reaches(imported[r.path], module+"/"+imp, true) {
				t.Errorf("room %s may import %s, and does not", r.path, imp)
			}
		}
	}
	for _, d := range doors {
		for _, r := range d.rooms {
			if !reaches(imported[r], d.prefix, !exactDoors[d.prefix]) {
				t.Errorf("room %s may import %s, and does not", r, d.prefix)
			}
		}
	}
	for _, p := range starters {
		if !slices.ContainsFunc(h.files, func(f source) bool { return started[f.name] && lets([]permitted{p}, f) }) {
			t.Errorf("%s may start goroutines, and starts none", p.pattern)
		}
	}
}

// reaches reports whether a room that imports those reaches prefix, or with below
// something that lies below it.
func reaches(imports []string, prefix string, below bool) bool {
	return slices.ContainsFunc(imports, func(p string) bool {
		return p == prefix || below && strings.HasPrefix(p, prefix+"/")
	})
}

// starts reports whether a file starts a goroutine, as checkSyntax sees it.
func starts(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && sel.Sel.Name == "Go"
		}
		return !found
	})
	return found
}
