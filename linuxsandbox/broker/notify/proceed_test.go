//go:build linux

package notify

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/linuxsandbox/spec"
)

// The files that may contain what TestProceedIsJustified looks for.
const (
	proceedFile = "broker/notify/proceed.go" // makes rules, and replies that proceed
	notifyFile  = "broker/notify/notify.go"  // sends a reply to the kernel
	startFile   = "broker/broker.go"         // knows what a keeper enforces
)

// TestProceedIsJustified: in all rooms of the backend only proceed.go lets a call proceed
// or makes a rule. Outside this package the compiler ensures most of that, since the fields
// are not exported.
func TestProceedIsJustified(t *testing.T) {
	const root = "../.."
	checked := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		checked++
		for _, bad := range unjustified(t, path, filepath.ToSlash(name), nil) {
			t.Error(bad)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 100 {
		t.Errorf("looked at %d files", checked)
	}
	for _, planted := range []string{
		`func f() Reply { return Reply{rule: ByLandlock} }`,
		`func f(b *broker) (a Reply) { a.rule = ByLandlock; return a }`,
		`func f(b *broker) { b.rules = Rules{reasons: [ruleKinds]string{ByLandlock: "because"}} }`,
		`func f(b *broker) { b.rules.reasons[ByLandlock] = "because" }`,
		`var always = Rules{[ruleKinds]string{"a", "b", "c", "d", "e"}}`,
		`func f() *Rules { return new(Rules) }`,
		`func f(n [ruleKinds]string) Rules { return Rules(struct{ reasons [ruleKinds]string }{n}) }`,
		`func f(n *Notification) Reply { return Reply{0, 0, ByLandlock, false, false} }`,
		`func f(b *broker) *[ruleKinds]string { return &b.rules.reasons }`,
		`func f(a *Reply) *Rule { return &a.rule }`,
		`const flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE`,
		`const send = unix.SECCOMP_IOCTL_NOTIF_SEND`,
		`func f() notify.Rules { return notify.RulesOf(&spec.Spec{Ask: true}) }`,
		`var make = notify.RulesOf`,
		`func f(b *broker, r *notify.Rules) { b.rules = *r }`,
		`func f(r, other *notify.Rules) { *r = *other }`,
		`func f() notify.Reply { return notify.Reply{0, 0, notify.ByLandlock, false, false} }`,
	} {
		if len(unjustified(t, "planted.go", "broker/planted.go", "package planted\n"+planted)) == 0 {
			t.Errorf("not caught: %s", planted)
		}
	}
}

// unjustified lists what makes a rule or a reply that proceeds in one file. name is the
// file's path below linuxsandbox.
func unjustified(t *testing.T, path, name string, src any) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if name == proceedFile {
		return nil
	}
	say := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s", files.Position(n.Pos()), what))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if called(n.Type) == "Rules" && len(n.Elts) > 0 {
				say(n, "makes a rule")
			}
			if called(n.Type) == "Reply" {
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); !ok || fmt.Sprint(kv.Key) == "rule" {
						say(e, "makes a reply that proceeds")
					}
				}
			}
		case *ast.CallExpr:
			if called(n.Fun) == "Rules" || called(n.Fun) == "new" && called(n.Args[0]) == "Rules" {
				say(n, "makes a rule")
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if star, ok := left.(*ast.StarExpr); ok {
					left = star.X
				}
				if sel, ok := left.(*ast.SelectorExpr); ok && (sel.Sel.Name == "rule" || sel.Sel.Name == "rules") {
					say(left, "writes a rule")
				}
			}
			for _, right := range n.Rhs {
				if star, ok := right.(*ast.StarExpr); ok && len(n.Lhs) == 1 {
					if _, ok := n.Lhs[0].(*ast.StarExpr); ok {
						say(star, "copies what may be rules")
					}
				}
			}
		case *ast.UnaryExpr:
			if sel, ok := n.X.(*ast.SelectorExpr); ok && n.Op == token.AND && (sel.Sel.Name == "rule" || sel.Sel.Name == "rules") {
				say(n, "takes a rule's address")
			}
		case *ast.Ident:
			switch n.Name {
			case "reasons":
				say(n, "touches the reasons of rules")
			case "SECCOMP_USER_NOTIF_FLAG_CONTINUE", "SECCOMP_IOCTL_NOTIF_SEND":
				if name != notifyFile {
					say(n, "answers a notification")
				}
			case "RulesOf":
				if name != startFile {
					say(n, "has rules computed")
				}
			}
		}
		return true
	})
	return found
}

// called returns the name of a type or function, without its package.
func called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// TestRulesOf: the rules of a command follow from what its keeper enforces.
func TestRulesOf(t *testing.T) {
	for _, row := range []struct {
		name                     string
		spec                     spec.Spec
		files, caller, processes bool
	}{
		{"no broker for files", spec.Spec{PathSockets: true}, false, true, false},
		{"no mounts", spec.Spec{Ask: true}, true, true, false},
		{"the host's network", spec.Spec{Ask: true, Network: true}, true, true, false},
		{"a network of its own", spec.Spec{Ask: true, Network: true, HostNet: 1}, true, true, false},
		{"a network of its own that is shut", spec.Spec{Ask: true, HostNet: 1}, true, true, false},
		{"mounts", spec.Spec{Ask: true, Mounts: &spec.Mounts{Terminals: true, Writable: []string{"/tmp/ws", "/dev/shm/ws"}}}, true, true, true},
		{"the host's terminal among its own", spec.Spec{Ask: true, Mounts: &spec.Mounts{Terminals: true, Readable: []string{"/dev/pts/3"}}}, false, true, true},
		{"the host's terminals", spec.Spec{Ask: true, Mounts: &spec.Mounts{Readable: []string{"/dev/pts/3"}}}, true, true, true},
		{"the host's /proc", spec.Spec{Ask: true, Mounts: &spec.Mounts{HostProc: true}}, true, true, false},
	} {
		row.spec.LandlockABI = 1
		r := RulesOf(&row.spec)
		row.spec.LandlockABI = 0
		bare := RulesOf(&row.spec)
		if bare.Has(ByDomain) != (row.spec.Ask && row.processes) {
			t.Errorf("%s: without Landlock traces proceed: %v", row.name, bare.Has(ByDomain))
		}
		for _, is := range []struct {
			rule Rule
			want bool
		}{{ByLandlock, row.files}, {ByCaller, row.caller}, {ByProcesses, row.processes}, {ByDomain, row.spec.Ask}} {
			if a := r.Proceed(is.rule); a.Proceeds() != is.want || is.want == (a.Errno != 0) {
				t.Errorf("%s: %+v, want it to proceed: %v", row.name, a, is.want)
			}
		}
	}
}

// TestConfine: a call proceeds only as far as the kernel's Landlock confines what it can do.
func TestConfine(t *testing.T) {
	for abi, want := range map[int]Effect{0: Reads, 1: Changes, 2: Changes, 3: Empties, 9: Empties} {
		r := RulesOf(&spec.Spec{Ask: true, LandlockABI: abi})
		for _, e := range []Effect{Reads, Changes, Empties} {
			if a := r.Confine(r.Proceed(ByLandlock), e); a.Proceeds() != (e <= want) || a.Proceeds() == (a.Errno != 0) {
				t.Errorf("ABI %d, effect %d: %+v", abi, e, a)
			}
			if a := r.Confine(r.Proceed(ByCaller), e); !a.Proceeds() {
				t.Errorf("ABI %d, effect %d: %+v of another rule", abi, e, a)
			}
		}
	}
}
