package house

import (
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// An owner holds the parts of something, and the loop that moves them. A part gets what it needs and
// returns what it wants: it cannot reach its owner, nor the other parts through it.
type owner struct {
	// dir and name are its package and type.
	dir, name string
	// loop are the types of its package that are no parts: they may name it. A name with a folder is elsewhere.
	loop []permitted
}

// mostOfOwner is how many methods of its owner an interface may have: one with more is the owner
// under another name.
const mostOfOwner = 5

var owners = []owner{
	{dir: "tui", name: "app", loop: []permitted{
		{"drawn", "it is the app on a terminal"},
		{"inLines", "it is the app without a screen"},
		{"Screen", "it makes the app, runs it, and prints its end"},
		{"then", "it is what the loop does after work outside of it"},
	}},
	{dir: "linuxsandbox/broker", name: "handlers", loop: []permitted{
		{"Broker", "it receives the calls that they answer"},
	}},
	{dir: "linuxsandbox/broker", name: "holding", loop: []permitted{
		{"Broker", "it brings the answers of people to it"},
	}},
	{dir: "linuxsandbox/broker/judge", name: "Law", loop: []permitted{
		{"New", "it makes the law with the judge"},
		{"linuxsandbox/broker.holding", "a grant widens the policy only where a person has answered"},
	}},
}

func (o owner) is(t *types.Named) bool {
	obj := t.Obj()
	return obj.Name() == o.name && obj.Pkg() != nil && obj.Pkg().Path() == module+"/"+o.dir
}

// reach says how t reaches the owner; "": it does not. It does not look into named types, which are
// looked at where they are declared. methods are the owner's.
func (o owner) reach(t types.Type, methods []string) string {
	first := func(all ...types.Type) string {
		for _, one := range all {
			if how := o.reach(one, methods); how != "" {
				return how
			}
		}
		return ""
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if o.is(t) {
			return "names " + o.name
		}
		return first(slices.Collect(t.TypeArgs().Types())...)
	case *types.Map:
		return first(t.Key(), t.Elem())
	case interface{ Elem() types.Type }:
		return first(t.Elem())
	case *types.Signature:
		return first(t.Params(), t.Results())
	case *types.Tuple:
		var all []types.Type
		for v := range t.Variables() {
			all = append(all, v.Type())
		}
		return first(all...)
	case *types.Struct:
		var all []types.Type
		for f := range t.Fields() {
			all = append(all, f.Type())
		}
		return first(all...)
	case *types.Interface:
		n := 0
		var all []types.Type
		for m := range t.Methods() {
			all = append(all, m.Type())
			if slices.Contains(methods, m.Name()) {
				n++
			}
		}
		if n > mostOfOwner {
			return "has " + string(rune('0'+min(n, 9))) + " methods of " + o.name
		}
		return first(all...)
	}
	return ""
}

// checkOwners reports the parts that reach their owner: by a field or a signature in its own package,
// and by any declaration outside of it. A function of the owner's package that takes the owner is a
// method under another name; it is counted with the methods (TestOwners).
func (h *house) checkOwners() {
	for _, o := range owners {
		for _, packages := range h.types.done {
			at := packages[o.dir]
			if at == nil {
				continue
			}
			methods := o.methods(at)
			for dir, pkg := range packages {
				if h.only == "" || path.Dir(h.only) == dir {
					o.look(h, dir, pkg, methods)
				}
			}
		}
	}
}

func (o owner) look(h *house, dir string, pkg *types.Package, methods []string) {
	inside := dir == o.dir
	if !inside && !strings.HasPrefix(dir, o.dir+"/") && !strings.HasPrefix(o.dir, dir+"/") {
		methods = nil // there an interface with such names is of something else
	}
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		report := func(obj types.Object, how string) {
			if how != "" {
				h.say(obj.Pos(), "%s.%s %s: a part returns what it wants, and cannot reach its owner", dir, obj.Name(), how)
			}
		}
		of, isType := obj.(*types.TypeName)
		if inside && name == o.name {
			continue
		}
		if i := slices.IndexFunc(o.loop, func(p permitted) bool { return p.pattern == name && inside || p.pattern == dir+"."+name }); i >= 0 {
			if o.reach(obj.Type(), methods) != "" || isType && o.reachedBy(of, methods) {
				h.types.used[o.dir+"."+o.loop[i].pattern] = true
			}
			continue
		}
		switch {
		case !isType || of.IsAlias():
			if !inside || obj.Exported() || isType {
				report(obj, o.reach(obj.Type(), methods))
			}
			continue
		}
		report(of, o.reach(of.Type().Underlying(), methods))
		for m := range methodsOf(of) {
			report(m, o.reach(m.Type(), methods))
		}
	}
}

func methodsOf(of *types.TypeName) func(func(*types.Func) bool) {
	if named, ok := of.Type().(*types.Named); ok {
		return named.Methods()
	}
	return func(func(*types.Func) bool) {}
}

// reachedBy reports whether a type of the loop needs to be one.
func (o owner) reachedBy(of *types.TypeName, methods []string) bool {
	for m := range methodsOf(of) {
		if o.reach(m.Type(), methods) != "" {
			return true
		}
	}
	return o.reach(of.Type().Underlying(), methods) != ""
}

// methods names those of the owner.
func (o owner) methods(at *types.Package) (names []string) {
	if of, ok := at.Scope().Lookup(o.name).(*types.TypeName); ok {
		for m := range methodsOf(of) {
			names = append(names, m.Name())
		}
	}
	return names
}

// takers names the functions of its package whose first parameter is the owner.
func (o owner) takers(at *types.Package) (names []string) {
	for _, name := range at.Scope().Names() {
		if f, ok := at.Scope().Lookup(name).(*types.Func); ok {
			if p := f.Signature().Params(); p.Len() > 0 && o.reach(p.At(0).Type(), nil) != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// TestOwners says how large each owner is, and that its loop is no larger than it must be. What an
// owner does is its methods and the functions that take it: neither is moved away by becoming the other.
func TestOwners(t *testing.T) {
	h, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	h.check()
	for _, o := range owners {
		at := h.types.done[0][o.dir]
		if at == nil || len(o.methods(at)) == 0 {
			t.Errorf("%s.%s is not there, or does nothing", o.dir, o.name)
			continue
		}
		methods, takers := len(o.methods(at)), len(o.takers(at))
		t.Logf("%s.%s: %d methods and %d functions that take it, %d together", o.dir, o.name, methods, takers, methods+takers)
		for _, p := range o.loop {
			if p.reason == "" || !h.types.used[o.dir+"."+p.pattern] {
				t.Errorf("%s.%s may name %s (%q), and does not", o.dir, p.pattern, o.name, p.reason)
			}
		}
	}
}
