//go:build linux

package linuxsandbox

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// proceedFile is the one file in which rules of the kernel and replies that proceed
// are made.
const proceedFile = "proceed.go"

// TestProceedIsJustified: nothing but proceed.go lets a call proceed, or makes the
// rule that would hold it.
func TestProceedIsJustified(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name != proceedFile {
			checked++
			for _, bad := range unjustified(t, name, nil) {
				t.Error(bad)
			}
		}
	}
	if checked < 50 {
		t.Errorf("looked at %d files", checked)
	}
	for _, planted := range []string{
		`func f() reply { return reply{rule: byLandlock} }`,
		`func f(b *broker) (a reply) { a.rule = byLandlock; return a }`,
		`func f(b *broker) { b.rules = kernelRules{reasons: [ruleKinds]string{byLandlock: "because"}} }`,
		`func f(b *broker) { b.rules.reasons[byLandlock] = "because" }`,
		`var always = kernelRules{[ruleKinds]string{"a", "b", "c", "d", "e"}}`,
		`func f() *kernelRules { return new(kernelRules) }`,
		`func f(n [ruleKinds]string) kernelRules { return kernelRules(struct{ reasons [ruleKinds]string }{n}) }`,
		`func f(n *notification) reply { return reply{0, 0, byLandlock, false, false} }`,
		`func f(b *broker) *[ruleKinds]string { return &b.rules.reasons }`,
		`func f(a *reply) *kernelRule { return &a.rule }`,
		`const flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE`,
	} {
		if len(unjustified(t, "planted.go", "package linuxsandbox\n"+planted)) == 0 {
			t.Errorf("not caught: %s", planted)
		}
	}
}

// unjustified lists what makes a rule or a reply that proceeds in a file.
func unjustified(t *testing.T, name string, src any) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	say := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s", files.Position(n.Pos()), what))
	}
	isRule := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && (id.Name == "kernelRule" || id.Name == "kernelRules")
	}
	// named is a field that only proceed.go writes.
	named := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		return ok && (s.Sel.Name == "rule" || s.Sel.Name == "rules" || s.Sel.Name == "reasons")
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if isRule(n.Type) && len(n.Elts) > 0 {
				say(n, "makes a rule")
			}
			if id, ok := n.Type.(*ast.Ident); ok && id.Name == "reply" {
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); !ok || fmt.Sprint(kv.Key) == "rule" {
						say(e, "makes a reply that proceeds")
					}
				}
			}
		case *ast.CallExpr:
			if isRule(n.Fun) || len(n.Args) > 0 && isRule(n.Args[0]) {
				say(n, "makes a rule")
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if named(left) {
					say(left, "writes a rule")
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND && named(n.X) {
				say(n, "takes a rule's address")
			}
		case *ast.SelectorExpr:
			if n.Sel.Name == "reasons" {
				say(n, "touches the reasons of rules")
			}
			if n.Sel.Name == "SECCOMP_USER_NOTIF_FLAG_CONTINUE" && name != "notify.go" {
				say(n, "lets a call proceed")
			}
		}
		return true
	})
	return found
}

// TestRulesOf: which rules a command has follows from what its keeper enforces.
func TestRulesOf(t *testing.T) {
	for _, row := range []struct {
		name                              string
		spec                              Spec
		files, network, caller, processes bool
	}{
		{"no broker for files", Spec{PathSockets: true}, false, false, true, false},
		{"no mounts", Spec{Ask: true}, true, false, true, false},
		{"the host's network", Spec{Ask: true, Network: true}, true, false, true, false},
		{"a network of its own", Spec{Ask: true, Network: true, HostNet: 1}, true, true, true, false},
		{"a network of its own that is shut", Spec{Ask: true, HostNet: 1}, true, false, true, false},
		{"mounts", Spec{Ask: true, Mounts: &mountPlan{Terminals: true, Writable: []string{"/tmp/ws", "/dev/shm/ws"}}}, true, false, true, true},
		{"the host's terminal among its own", Spec{Ask: true, Mounts: &mountPlan{Terminals: true, Readable: []string{"/dev/pts/3"}}}, false, false, true, true},
		{"the host's terminals", Spec{Ask: true, Mounts: &mountPlan{Readable: []string{"/dev/pts/3"}}}, true, false, true, true},
		{"the host's /proc", Spec{Ask: true, Mounts: &mountPlan{HostProc: true}}, true, false, true, false},
	} {
		r := rulesOf(&row.spec)
		for _, is := range []struct {
			rule kernelRule
			want bool
		}{{byLandlock, row.files}, {byNetwork, row.network}, {byCaller, row.caller}, {byProcesses, row.processes}, {noRule, false}, {ruleKinds, false}, {-1, false}} {
			if a := r.proceed(is.rule); a.Proceeds() != is.want || is.want == (a.errno != 0) {
				t.Errorf("%s: %+v, want it to proceed: %v", row.name, a, is.want)
			}
		}
	}
}
