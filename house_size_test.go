package house

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// Sizes. What is larger than this is not read as a whole by anybody, and holds more than
// one thing.
const (
	mostFiles    = 35 // of a package
	mostExported = 40 // names that a package exports, methods and fields apart
	mostMethods  = 40 // of a type
	mostFields   = 25 // of a struct
)

// large are the packages ("sandbox") and types ("agent.Agent") that may be larger.
var large = []permitted{
	{"tui/keys", "each scope and action has a name"},
	{"sandbox", "its names are the vocabulary of policies, denials and verdicts, which all rooms share"},
}

// size is what is counted of one package.
type size struct {
	files, exported    int
	lastFile, lastName token.Pos
	// methods and fields are counted by type; at says where the type stands.
	methods, fields map[string]int
	at              map[string]token.Pos
}

// sizes counts what ships, by package.
func (h *house) sizes() map[string]*size {
	out := map[string]*size{}
	for _, f := range h.files {
		if f.test || f.room.support || f.dir() == "." {
			continue
		}
		s := out[f.dir()]
		if s == nil {
			s = &size{methods: map[string]int{}, fields: map[string]int{}, at: map[string]token.Pos{}}
			out[f.dir()] = s
		}
		s.files++
		s.lastFile = f.ast.Pos()
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					s.name(d.Name)
				} else if of := receiver(d.Recv.List[0].Type); of != "" {
					s.methods[of]++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					s.spec(spec)
				}
			}
		}
	}
	return out
}

func (s *size) name(id *ast.Ident) {
	if id.IsExported() {
		s.exported++
		s.lastName = id.Pos()
	}
}

func (s *size) spec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, id := range spec.Names {
			s.name(id)
		}
	case *ast.TypeSpec:
		s.name(spec.Name)
		s.at[spec.Name.Name] = spec.Name.Pos()
		switch t := spec.Type.(type) {
		case *ast.StructType:
			for _, field := range t.Fields.List {
				s.fields[spec.Name.Name] += max(1, len(field.Names))
			}
		case *ast.InterfaceType:
			s.methods[spec.Name.Name] += t.Methods.NumFields()
		}
	}
}

// receiver names the type that a method belongs to.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.ParenExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	}
	return ""
}

// checkSizes reports what is too large. The position is that of the type, or of what made
// the package too large.
func (h *house) checkSizes() {
	for dir, s := range h.sizes() {
		if h.only != "" && path.Dir(h.only) != dir {
			continue
		}
		s.exceeds(dir, func(what string, pos token.Pos, count int, of string, most int) {
			if !maybeLarge(what) {
				h.say(pos, "%s has %d %s, and at most %d are allowed", what, count, of, most)
			}
		})
	}
}

// exceeds calls report for each count that is beyond its limit.
func (s *size) exceeds(dir string, report func(what string, pos token.Pos, count int, of string, most int)) {
	if s.files > mostFiles {
		report(dir, s.lastFile, s.files, "files", mostFiles)
	}
	if s.exported > mostExported {
		report(dir, s.lastName, s.exported, "exported names", mostExported)
	}
	for name, n := range s.methods {
		if n > mostMethods {
			report(dir+"."+name, s.at[name], n, "methods", mostMethods)
		}
	}
	for name, n := range s.fields {
		if n > mostFields {
			report(dir+"."+name, s.at[name], n, "fields", mostFields)
		}
	}
}

func maybeLarge(what string) bool {
	return slices.ContainsFunc(large, func(p permitted) bool { return p.pattern == what })
}

// TestUnusedSizes: what is not too large needs no exception.
func TestUnusedSizes(t *testing.T) {
	h, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	needed := map[string]bool{}
	for dir, s := range h.sizes() {
		s.exceeds(dir, func(what string, _ token.Pos, _ int, _ string, _ int) { needed[what] = true })
	}
	for _, p := range large {
		if p.reason == "" || !needed[p.pattern] {
			t.Errorf("%s may be large (%q), and is not", p.pattern, p.reason)
		}
	}
}

// TestManyFiles: the one file too many is reported.
func TestManyFiles(t *testing.T) {
	h, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	last := "gitrun/plant.go"
	for h.sizes()["gitrun"].files <= mostFiles {
		if n := len(h.check()); n > 0 && h.only != "" {
			t.Fatalf("%d files are too many: %q", h.sizes()["gitrun"].files, h.violations)
		}
		last = strings.Replace(last, ".go", "x.go", 1)
		if h, err = h.plant(last, "package gitrun\n"); err != nil {
			t.Fatal(err)
		}
	}
	if v := h.check(); len(v) != 1 || !strings.HasPrefix(v[0], last+":") || !strings.Contains(v[0], "gitrun has 36 files") {
		t.Errorf("of %d files: %q", mostFiles+1, v)
	}
}

// many is a line for each number below n, in which # stands for the number.
func many(n int, line string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(line, "#", string(rune('A'+i/26))+string(rune('A'+i%26))))
	}
	return b.String()
}
