package house

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
)

// checkTypes holds the rules about Policy.With and Grant, which need types. It
// type-checks our own packages from source, once per system, and stands empty
// packages in for what is not ours: their names are then unknown, which harms
// nothing, since a Grant is made of our own types alone. The few generic
// packages of the standard library that pass values through are real.
func (h *house) checkTypes() {
	for i := range configs {
		c := &checker{house: h, config: i, std: h.types.std, done: h.types.done[i]}
		for _, f := range h.files {
			if f.test || f.room.support || f.dir() == "." {
				continue
			}
			// For a planted file one system that builds it is enough.
			if h.only == "" || f.name == h.only && len(f.systems) > 0 && f.systems[0] == i {
				c.load(f.dir())
			}
		}
	}
}

// typed is what was type-checked so far: for each system, by folder.
type typed struct {
	std  types.Importer
	done []map[string]*types.Package
	// used are the exceptions that were needed, by pattern and deed.
	used map[string]bool
}

func newTyped(fset *token.FileSet) *typed {
	t := &typed{std: importer.ForCompiler(fset, "source", nil), used: map[string]bool{}}
	for range configs {
		t.done = append(t.done, map[string]*types.Package{})
	}
	return t
}

// without returns a copy that has not looked at dir yet.
func (t *typed) without(dir string) *typed {
	c := &typed{std: t.std, used: t.used}
	for _, done := range t.done {
		done = maps.Clone(done)
		delete(done, dir)
		c.done = append(c.done, done)
	}
	return c
}

var passThrough = map[string]bool{"slices": true, "maps": true, "iter": true, "cmp": true}

type checker struct {
	house  *house
	config int
	std    types.Importer
	done   map[string]*types.Package
}

// Import implements types.Importer.
func (c *checker) Import(p string) (*types.Package, error) {
	if rel, ours := strings.CutPrefix(p, module+"/"); ours {
		return c.load(rel), nil
	}
	if passThrough[p] {
		return c.std.Import(p)
	}
	pkg := types.NewPackage(p, guessName(p))
	pkg.MarkComplete()
	return pkg, nil
}

// guessName is the package name an import path usually has.
func guessName(p string) string {
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && base[1] >= '0' && base[1] <= '9' {
		base = path.Base(path.Dir(p))
	}
	base = strings.TrimPrefix(base, "go-")
	if i := strings.LastIndexAny(base, ".-"); i > 0 {
		base = base[i+1:]
	}
	return base
}

// load type-checks the non-test files of one folder and looks at them.
func (c *checker) load(dir string) *types.Package {
	if pkg, ok := c.done[dir]; ok {
		return pkg
	}
	name := path.Base(dir)
	c.done[dir] = types.NewPackage(module+"/"+dir, name) // an import cycle ends here
	var files []*ast.File
	var sources []source
	for _, f := range c.house.files {
		if f.dir() == dir && !f.test && slices.Contains(f.systems, c.config) {
			files, sources = append(files, f.ast), append(sources, f)
		}
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	conf := types.Config{Importer: c, Error: func(error) {}, FakeImportC: true}
	// Errors are expected: most of the standard library is not there.
	pkg, _ := conf.Check(module+"/"+dir, c.house.fset, files, info)
	c.done[dir] = pkg
	for _, f := range sources {
		if !f.room.support {
			c.inspect(f, info)
		}
	}
	return pkg
}

func (c *checker) inspect(f source, info *types.Info) {
	if !lets(wideners, f) {
		c.findWith(f, info)
	}
	if !lets(granters, f) {
		c.findGrants(f, info)
	}
	c.findDeeds(f, info)
}

// findWith reports each use of Policy.With and Policy.Plus, called or taken as a value.
func (c *checker) findWith(f source, info *types.Info) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "With" && sel.Sel.Name != "Plus" {
			return true
		}
		// A receiver whose type is not known here might be a Policy that came
		// through a package that is not ours.
		s, known := info.Selections[sel]
		if known && !isNamed(s.Recv(), "Policy") && !takesGrant(s.Type()) {
			return true
		}
		if !known && !typeUnknown(info, sel.X) {
			return true
		}
		c.house.say(sel.Pos(), "%s widens a policy with Policy.%s: only approvals may", f.name, sel.Sel.Name)
		return true
	})
}

// takesGrant catches a With reached through an interface or an embedding.
func takesGrant(t types.Type) bool {
	sig, ok := t.(*types.Signature)
	return ok && sig.Params().Len() > 0 && isNamed(sig.Params().At(sig.Params().Len()-1).Type(), "Grant")
}

func typeUnknown(info *types.Info, x ast.Expr) bool {
	if id, ok := x.(*ast.Ident); ok {
		if _, pkg := info.Uses[id].(*types.PkgName); pkg {
			return false
		}
	}
	tv, ok := info.Types[x]
	return !ok || tv.Type == nil || tv.Type == types.Typ[types.Invalid]
}

// findGrants reports what makes a Grant that is not empty: a literal with
// elements, a conversion, an assignment to a field, an address of a field.
func (c *checker) findGrants(f source, info *types.Info) {
	say := func(pos token.Pos, how string) {
		c.house.say(pos, "%s builds a sandbox.Grant (%s): only approvals may", f.name, how)
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if tv, ok := info.Types[n]; ok && isNamed(tv.Type, "Grant") && len(n.Elts) > 0 {
				say(n.Pos(), "a literal with fields")
			}
		case *ast.CallExpr:
			if tv, ok := info.Types[n.Fun]; ok && tv.IsType() && isNamed(tv.Type, "Grant") {
				say(n.Pos(), "a conversion")
			}
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				if isGrantField(info, lhs) {
					say(lhs.Pos(), "an assignment to a field")
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND && isGrantField(info, n.X) {
				say(n.Pos(), "the address of a field")
			}
		}
		return true
	})
}

// isGrantField reports whether x is g.Field, or an element of it, for a Grant g.
func isGrantField(info *types.Info, x ast.Expr) bool {
	for {
		switch e := x.(type) {
		case *ast.ParenExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.SelectorExpr:
			s, ok := info.Selections[e]
			return ok && s.Kind() == types.FieldVal && isNamed(s.Recv(), "Grant")
		default:
			return false
		}
	}
}

// isNamed reports whether t is the type of that name in package sandbox, or a
// pointer to it.
func isNamed(t types.Type, name string) bool {
	if t == nil {
		return false
	}
	t = types.Unalias(t)
	if ptr, ok := t.(*types.Pointer); ok {
		t = types.Unalias(ptr.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok {
		return false
	}
	obj := named.Obj()
	return obj.Name() == name && obj.Pkg() != nil && (obj.Pkg().Path() == module+"/sandbox" || obj.Pkg().Path() == module+"/sandbox/resolved")
}
