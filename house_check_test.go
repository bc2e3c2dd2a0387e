package house

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// source is one Go file of the tree.
type source struct {
	name string // path from the root, with slashes
	room room
	test bool
	ast  *ast.File
	// systems lists the indexes of configs that build the file.
	systems []int
}

func (s source) dir() string { return path.Dir(s.name) }

// config is one system the programs are built for.
type config struct{ goos, goarch string }

var configs = []config{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}}

// house is the parsed tree.
type house struct {
	fset       *token.FileSet
	files      []source
	violations []string
	types      *typed
	// only is the one file to check, of a planted copy; empty: all.
	only string
}

// load parses every Go file below root.
func load(root string) (*house, error) {
	names, err := goFiles(root)
	if err != nil {
		return nil, err
	}
	h := &house{fset: token.NewFileSet()}
	h.types = newTyped(h.fset)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		if err := h.add(name, data); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// plant returns a copy of h in which the file name holds text, and which checks
// that file alone. It shares what h has already checked.
func (h *house) plant(name, text string) (*house, error) {
	c := &house{fset: h.fset, types: h.types.without(path.Dir(name)), only: name}
	c.files = slices.DeleteFunc(slices.Clone(h.files), func(s source) bool { return s.name == name })
	return c, c.add(name, []byte(text))
}

func (h *house) add(name string, data []byte) error {
	f, err := parser.ParseFile(h.fset, name, data, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return err
	}
	s := source{name: name, test: strings.HasSuffix(name, "_test.go"), ast: f}
	if s.systems, err = systems(name, data); err != nil {
		return err
	}
	var ok bool
	if s.room, ok = roomOf(s.dir()); !ok && s.dir() != "." {
		h.say(f.Pos(), "%s is a room without a line in the table of house_test.go", s.dir())
		return nil
	}
	h.files = append(h.files, s)
	return nil
}

func goFiles(root string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && p != root && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "bin") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(base, ".go") {
			rel, err := filepath.Rel(root, p)
			if err != nil {
				return err
			}
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	return names, err
}

// systems says which configs build a file with this name and content.
func systems(name string, data []byte) ([]int, error) {
	var out []int
	for i, c := range configs {
		ctx := build.Default
		ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = c.goos, c.goarch, false
		ctx.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		ok, err := ctx.MatchFile(path.Dir(name), path.Base(name))
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, i)
		}
	}
	return out, nil
}

// roomOf finds the room that a folder belongs to: the longest line that covers it.
func roomOf(dir string) (room, bool) {
	best, ok := room{}, false
	for _, r := range rooms {
		if (r.path == dir || strings.HasPrefix(dir, r.path+"/")) && len(r.path) > len(best.path) {
			best, ok = r, true
		}
	}
	return best, ok
}

func (h *house) say(pos token.Pos, format string, args ...any) {
	p := h.fset.Position(pos)
	text := fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...))
	if !slices.Contains(h.violations, text) {
		h.violations = append(h.violations, text)
	}
}

// check runs every rule and returns what breaks them.
func (h *house) check() []string {
	for _, f := range h.files {
		if h.only != "" && f.name != h.only {
			continue
		}
		h.checkTrials(f)
		for _, spec := range f.ast.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				h.say(spec.Pos(), "import %s: %v", spec.Path.Value, err)
				continue
			}
			h.checkImport(f, spec.Pos(), p)
			if spec.Name != nil && spec.Name.Name == "." && !f.test {
				h.say(spec.Pos(), "dot import of %s: the rules read names by their package", p)
			}
		}
		if f.test || f.room.support || f.dir() == "." {
			continue
		}
		if len(f.systems) == 0 {
			h.say(f.ast.Pos(), "is built for no system we ship, so no rule can see into it")
		}
		h.checkSyntax(f)
		if f.dir() == wiring {
			h.checkWiring(f)
		}
	}
	h.checkSizes()
	h.checkTypes()
	h.checkOwners()
	slices.Sort(h.violations)
	return h.violations
}

func (h *house) checkImport(f source, pos token.Pos, p string) {
	if rel, ours := strings.CutPrefix(p, module+"/"); ours || p == module {
		h.checkOurs(f, pos, rel)
		return
	}
	if f.test || f.room.support {
		return
	}
	for _, d := range doors {
		covered := p == d.prefix || !exactDoors[d.prefix] && strings.HasPrefix(p, d.prefix+"/")
		if covered && !slices.Contains(d.rooms, f.room.path) {
			h.say(pos, "%s imports %s, a door of %s only (%s)", f.room.path, p, orNobody(d.rooms), d.reason)
		}
	}
	if f.room.pure && (p == "syscall" || p == "io/ioutil" || p == "path/filepath" || strings.Contains(p, ".") && !slices.Contains(f.room.libraries, p)) {
		h.say(pos, "%s imports %s: it is of the standard library only and performs no IO", f.room.path, p)
	}
}

// checkOurs judges an import of the folder rel of ours.
func (h *house) checkOurs(f source, pos token.Pos, rel string) {
	to, ok := roomOf(rel)
	switch {
	case !ok:
		h.say(pos, "%s imports %s, which is not a room of the table", f.name, rel)
	case to.path == f.room.path:
	case f.test || f.dir() == ".":
		h.checkTestImport(f, pos, to)
	case to.support && !f.room.support:
		h.say(pos, "%s imports test support %s", f.room.path, to.path)
	case slices.Contains(f.room.imports, to.path):
	default:
		h.say(pos, "%s may not import %s (it may import: %s)", f.room.path, to.path, orNobody(f.room.imports))
	}
}

// checkTestImport is the looser rule for tests: test support and every room on
// the same floor or below, but the agent and its faces stay apart, and nobody
// imports a program.
func (h *house) checkTestImport(f source, pos token.Pos, to room) {
	switch {
	case path.Dir(to.path) == "cmd":
		h.say(pos, "a test of %s imports the program %s", f.room.path, to.path)
	case to.support || f.room.support:
	case f.room.floor < to.floor && f.room.floor > 0:
		h.say(pos, "a test of %s imports %s, which stands on a higher floor", f.room.path, to.path)
	case f.room.floor == 0 && to.floor > 1:
		h.say(pos, "a test of %s imports %s, which stands on a higher floor", f.room.path, to.path)
	case slices.Contains(apart, f.room.path) && slices.Contains(apart, to.path):
		h.say(pos, "a test of %s imports %s: they do not see each other", f.room.path, to.path)
	}
}

func orNobody(list []string) string {
	if len(list) == 0 {
		return "nobody"
	}
	return strings.Join(list, ", ")
}

func lets(list []permitted, f source) bool {
	return slices.ContainsFunc(list, func(p permitted) bool {
		ok, err := path.Match(p.pattern, f.name)
		return p.pattern == f.room.path || err == nil && ok
	})
}

// checkSyntax holds the rules that need no types: goroutines, the end of the
// process, init functions, and IO in pure rooms.
func (h *house) checkSyntax(f source) {
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			h.say(fn.Pos(), "package-level init: what a program does at start is written in main")
		}
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			h.checkVariables(g)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if !lets(starters, f) {
				h.say(n.Pos(), "%s starts a goroutine and is not in the list of those who may", f.name)
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && !lets(starters, f) {
				h.say(n.Pos(), "%s starts a goroutine (a Go method) and is not in the list of those who may", f.name)
			}
		case *ast.SelectorExpr:
			h.checkSelector(f, n)
		}
		return true
	})
}

// checkVariables keeps every start from compiling expressions, which few commands use.
func (h *house) checkVariables(g *ast.GenDecl) {
	ast.Inspect(g, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == "regexp" && strings.HasSuffix(sel.Sel.Name, "Compile") {
				h.say(sel.Pos(), "compiles an expression at every start: sync.OnceValue does it on first use")
			}
		}
		_, later := n.(*ast.FuncLit)
		return !later
	})
}

// checkWiring holds package main to what it says of itself.
func (h *house) checkWiring(f source) {
	if n := h.fset.Position(f.ast.FileEnd).Line; n > wiringMost {
		h.say(f.ast.Pos(), "%s has %d lines, and a file of the wiring at most %d", f.name, n, wiringMost)
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && matches(judges, sel.Sel.Name) {
			h.say(sel.Pos(), "%s uses %s: the wiring judges nothing", f.name, sel.Sel.Name)
		}
		return true
	})
}

// endings end the process from wherever they are called.
var endings = []string{"os.Exit", "syscall.Exit", "golang.org/x/sys/unix.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln"}

// osTypes are what a pure room may take from package os.
var osTypes = []string{"File", "FileMode", "FileInfo", "ErrNotExist", "ErrExist", "ErrPermission"}

func (h *house) checkSelector(f source, sel *ast.SelectorExpr) {
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return
	}
	from := imported(f.ast, id.Name)
	if slices.Contains(endings, from+"."+sel.Sel.Name) && !lets(exiters, f) {
		h.say(sel.Pos(), "%s ends the process with %s.%s: only func main may", f.name, from, sel.Sel.Name)
	}
	if f.room.pure && from == "os" && !slices.Contains(osTypes, sel.Sel.Name) {
		h.say(sel.Pos(), "%s uses os.%s: the room performs no IO", f.name, sel.Sel.Name)
	}
}

// imported returns the import path that the name stands for in f, or "".
func imported(f *ast.File, name string) string {
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path.Base(p) == name {
			return p
		}
	}
	return ""
}

// dependency is one package of `go list -deps`.
type dependency struct{ ImportPath string }

func dependencies(goos, pkg string) ([]string, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath", pkg)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps %s: %w\n%s", pkg, err, &stderr)
	}
	var deps []string
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var d dependency
		if err := dec.Decode(&d); err == io.EOF {
			return deps, nil
		} else if err != nil {
			return nil, err
		}
		deps = append(deps, d.ImportPath)
	}
}

func checkDependencies(program string, deps []string, never []door) []string {
	var out []string
	for _, dep := range deps {
		for _, d := range never {
			if dep == d.prefix || !exactDoors[d.prefix] && strings.HasPrefix(dep, d.prefix+"/") {
				out = append(out, fmt.Sprintf("%s links %s: %s", program, dep, d.reason))
			}
		}
		if rel, ours := strings.CutPrefix(dep, module+"/"); ours {
			if r, ok := roomOf(rel); ok && r.support {
				out = append(out, fmt.Sprintf("%s links test support %s", program, rel))
			}
			if program == helperProgram && !slices.Contains(helperRooms, rel) {
				out = append(out, fmt.Sprintf("%s links %s, which is not one of the helper's rooms", program, rel))
			}
		}
	}
	return out
}

func checkPins(gomod string) []string {
	var out []string
	for _, pin := range pins {
		found := ""
		for line := range strings.Lines(gomod) {
			fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
			if len(fields) >= 2 && fields[0] == pin.module {
				found = fields[1]
			}
		}
		if found != pin.version {
			out = append(out, fmt.Sprintf("go.mod: %s is %q, want %s: %s", pin.module, found, pin.version, pin.reason))
		}
	}
	return out
}
