package house

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// TestPlants plants one violation of each kind into the tree and asserts that
// the house sees it: a rule nobody can break is not known to hold.
func TestPlants(t *testing.T) {
	clean, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	before := clean.check()
	for _, c := range plants {
		t.Run(c.name, func(t *testing.T) {
			h, err := clean.plant(c.file, clean.named(c.file, c.text))
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, v := range h.check() {
				if !slices.Contains(before, v) {
					found = append(found, v)
				}
			}
			switch {
			case c.want == "" && len(found) > 0:
				t.Errorf("is allowed, but the house says:\n%s", strings.Join(found, "\n"))
			case c.want != "" && !slices.ContainsFunc(found, func(v string) bool {
				return strings.HasPrefix(v, c.file+":") && strings.Contains(v, c.want)
			}):
				t.Errorf("want a violation in %s with %q, have:\n%s", c.file, c.want, strings.Join(found, "\n"))
			}
		})
	}
}

// named gives a planted file the package name of the folder it is planted in;
// the type checker passes over a file of another package.
func (h *house) named(file, text string) string {
	for _, f := range h.files {
		if f.dir() == path.Dir(file) && !f.test {
			return strings.Replace(text, "package p\n", "package "+f.ast.Name.Name+"\n", 1)
		}
	}
	return text
}

// withSandbox heads a file of a room that may import sandbox.
const withSandbox = "package p\nimport \"codeagent/sandbox\"\n"

// withJudge heads a file of a room that may import the broker's judge.
const withJudge = "package p\nimport \"codeagent/linuxsandbox/broker/judge\"\n"

var plants = []struct{ name, file, text, want string }{
	// Who may know whom.
	{"a lower room imports a higher", "exec/plant.go", "package p\nimport _ \"codeagent/approvals\"\n", "may not import approvals"},
	{"the helper's half imports the broker's", "linuxsandbox/keeper/plant.go", "package p\nimport _ \"codeagent/linuxsandbox/netns\"\n", "may not import linuxsandbox/netns"},
	{"the filter imports another room", "linuxsandbox/filter/plant.go", "package p\nimport _ \"codeagent/linuxsandbox/kernel\"\n", "may not import linuxsandbox/kernel"},
	{"words import deeds", "sandbox/plant.go", "package p\nimport _ \"codeagent/exec\"\n", "may not import exec"},
	{"a face imports the agent", "tui/plant.go", "package p\nimport _ \"codeagent/agent\"\n", "may not import agent"},
	{"the helper imports the network", "cmd/linux-sandbox-helper/plant.go", "package p\nimport _ \"codeagent/egress\"\n", "may not import egress"},
	{"tools import prompts", "tools/plant.go", "package p\nimport _ \"codeagent/prompts\"\n", "may not import prompts"},
	{"wiring imports a judge", "cmd/codeagent/plant.go", "package p\nimport _ \"codeagent/approvals\"\n", "may not import approvals"},
	{"a command imports the wiring", "cmd/codeagent/doctor/plant.go", "package p\nimport _ \"codeagent/cmd/codeagent\"\n", "may not import cmd/codeagent"},
	{"a command imports another", "cmd/codeagent/doctor/plant.go", "package p\nimport _ \"codeagent/cmd/codeagent/screen\"\n", "may not import cmd/codeagent/screen"},
	{"wiring judges", "cmd/codeagent/plant.go", "package p\ntype j interface{ JudgeWrite(string) bool }\nfunc f(p j) bool { return p.JudgeWrite(\"/\") }\n", "the wiring judges nothing"},
	{"wiring decides", "cmd/codeagent/plant.go", "package p\ntype g interface{ Decide(int) }\nfunc f(x g) { x.Decide(1) }\n", "the wiring judges nothing"},
	{"wiring widens", "cmd/codeagent/plant.go", "package p\ntype g interface{ With(int) g }\nfunc f(x g) { x.With(1) }\n", "the wiring judges nothing"},
	{"a name that only begins so", "cmd/codeagent/plant.go", "package p\ntype g interface{ WithCancel() }\nfunc f(x g) { x.WithCancel() }\n", ""},
	{"a long file of the wiring", "cmd/codeagent/plant.go", "package p\n" + strings.Repeat("\n// x\n", 100), "at most 200"},
	{"a file of the wiring that just fits", "cmd/codeagent/plant.go", "package p\n" + strings.Repeat("// x\n", 199), ""},
	{"a long file of a command", "cmd/codeagent/doctor/plant.go", "package p\n" + strings.Repeat("// x\n", 300), ""},
	{"a program imports test support", "cmd/codeagent/plant.go", "package p\nimport _ \"codeagent/internal/attack\"\n", "imports test support"},
	{"a room imports a program", "agent/plant.go", "package p\nimport _ \"codeagent/cmd/codeagent\"\n", "may not import cmd/codeagent"},
	{"a room without a line", "util/plant.go", "package p\n", "without a line"},
	{"an import of no room", "exec/plant.go", "package p\nimport _ \"codeagent/util\"\n", "not a room of the table"},
	{"a room below a room", "tui/inner/plant.go", "package p\nimport _ \"codeagent/agent\"\n", "may not import agent"},
	{"a part of the screen knows the screen", "tui/question/plant.go", "package p\nimport _ \"codeagent/tui\"\n", "may not import tui"},
	{"a part of the screen is a tea.Model", "tui/transcript/plant.go", "package p\nimport _ \"charm.land/bubbletea/v2\"\n", "imports charm.land/bubbletea"},
	{"another system's file", "exec/plant_darwin.go", "package p\nimport _ \"codeagent/approvals\"\n", "may not import approvals"},
	{"a file no system builds", "exec/plant.go", "//go:build never\n\npackage p\n", "built for no system"},
	{"a test joins two faces", "tui/plant_test.go", "package p\nimport _ \"codeagent/headless\"\n", "do not see each other"},
	{"a test looks up", "exec/plant_test.go", "package p\nimport _ \"codeagent/agent\"\n", "higher floor"},
	{"impossible without a trial", "exec/plant_test.go", "package p\nimport \"testing\"\nfunc f(t *testing.T) { t.Skip(\"not possible on this machine: x\") }\n", "only internal/machine may"},
	{"a sample of its own", "exec/plant_test.go", "package p\nimport \"testing\"\nfunc f(t *testing.T) { t.Skip(\"a sample: not today\") }\n", "only internal/machine may"},
	{"a test imports its support", "exec/plant_test.go", "package p\nimport _ \"codeagent/internal/golden\"\nimport _ \"codeagent/linuxsandbox\"\nimport _ \"net/http\"\n", ""},

	// Doors.
	{"os/exec", "tools/plant.go", "package p\nimport _ \"os/exec\"\n", "imports os/exec"},
	{"net/http", "tools/plant.go", "package p\nimport _ \"net/http\"\n", "imports net/http"},
	{"net/http/httptest", "tools/plant.go", "package p\nimport _ \"net/http/httptest\"\n", "imports net/http/httptest"},
	{"net", "linuxsandbox/plant.go", "package p\nimport _ \"net\"\n", "imports net,"},
	{"net/netip only parses", "tools/plant.go", "package p\nimport _ \"net/netip\"\nimport _ \"net/url\"\n", ""},
	{"bubbletea", "headless/plant.go", "package p\nimport _ \"charm.land/bubbletea/v2\"\n", "imports charm.land/bubbletea/v2"},
	{"lipgloss in wiring", "cmd/codeagent/plant.go", "package p\nimport _ \"charm.land/lipgloss/v2\"\n", "imports charm.land/lipgloss/v2"},
	{"unix", "tools/plant.go", "package p\nimport _ \"golang.org/x/sys/unix\"\n", "imports golang.org/x/sys/unix"},
	{"landlock", "cmd/codeagent/plant.go", "package p\nimport _ \"github.com/landlock-lsm/go-landlock/landlock\"\n", "imports github.com/landlock-lsm/go-landlock/landlock"},
	{"seccomp", "config/plant.go", "package p\nimport _ \"github.com/elastic/go-seccomp-bpf\"\n", "imports github.com/elastic/go-seccomp-bpf"},
	{"os/signal", "exec/plant.go", "package p\nimport _ \"os/signal\"\n", "imports os/signal"},
	{"html/template", "cmd/codeagent/plant.go", "package p\nimport _ \"html/template\"\n", "imports html/template"},
	{"cgo", "linuxsandbox/plant.go", "package p\nimport \"C\"\n", "imports C"},
	{"IO in words", "sandbox/plant.go", "package sandbox\nimport \"os\"\nvar _, _ = os.ReadFile(\"x\")\n", "uses os.ReadFile"},
	{"IO under another name", "model/plant.go", "package model\nimport o \"os\"\nvar _ = o.Getenv(\"x\")\n", "uses os.Getenv"},
	{"a library in a judge", "exec/verdict/plant.go", "package p\nimport _ \"mvdan.cc/sh/v3/interp\"\n", "standard library only"},
	{"a judge looks at files", "exec/verdict/plant.go", "package p\nimport \"os\"\nvar _, _ = os.Stat(\"x\")\n", "exec/verdict"},
	{"a judge runs", "exec/verdict/plant.go", "package p\nimport _ \"codeagent/exec\"\n", "may not import exec"},
	{"a library in words", "patch/plant.go", "package p\nimport _ \"znkr.io/diff\"\n", "standard library only"},
	{"dot import", "tools/plant.go", "package p\nimport . \"codeagent/sandbox\"\n", "dot import"},

	// Grants.
	{"With called", "exec/plant.go", withSandbox + "func f(p sandbox.Policy) { _ = p.With(sandbox.Grant{}) }\n", "Policy.With"},
	{"Plus called", "exec/plant.go", "package p\nimport \"codeagent/sandbox/resolved\"\nfunc f(p resolved.Policy) { _ = p.Plus([]string{\"/\"}, nil) }\n", "Policy.Plus"},
	{"With as a value", "tools/plant.go", withSandbox + "var f = sandbox.Policy.With\n", "Policy.With"},
	{"With of a pointer", "config/plant.go", withSandbox + "func f(p *sandbox.Policy) { g := p.With; _ = g }\n", "Policy.With"},
	{"With through an interface", "config/plant.go", withSandbox + "type w interface{ With(sandbox.Grant) sandbox.Policy }\nfunc f(p w) { p.With(sandbox.Grant{}) }\n", "Policy.With"},
	{"With embedded", "config/plant.go", withSandbox + "type e struct{ sandbox.Policy }\nfunc f(p e) { p.With(sandbox.Grant{}) }\n", "Policy.With"},
	{"With through a generic", "config/plant.go", withSandbox + "import \"slices\"\nfunc f(p []sandbox.Policy) { slices.Clone(p)[0].With(sandbox.Grant{}) }\n", "Policy.With"},
	{"With of something else", "config/plant.go", "package p\ntype t struct{}\nfunc (t) With(int) t { return t{} }\nvar _ = t{}.With(1)\n", ""},
	{"With for another system", "seatbelt/plant_darwin.go", withSandbox + "func f(p sandbox.Policy) { p.With(sandbox.Grant{}) }\n", "Policy.With"},
	{"With in a command", "cmd/codeagent/workspace/plant.go", withSandbox + "func f(p sandbox.Policy) { p.With(sandbox.Grant{Unsandboxed: true}) }\n", "Policy.With"},
	{"With in the wiring", "cmd/codeagent/plant.go", withSandbox + "func f(p sandbox.Policy) { p.With(sandbox.Grant{}) }\n", "Policy.With"},
	{"With in approvals", "approvals/plant.go", withSandbox + "func f(p sandbox.Policy) { p.With(sandbox.Grant{Unsandboxed: true}) }\n", ""},
	{"With in a test", "exec/plant_test.go", withSandbox + "func f(p sandbox.Policy) { p.With(sandbox.Grant{Unsandboxed: true}) }\n", ""},
	{"empty grant", "agent/plant.go", withSandbox + "var g = sandbox.Grant{}\n", ""},
	{"grant literal", "agent/plant.go", withSandbox + "var g = sandbox.Grant{Unsandboxed: true}\n", "builds a sandbox.Grant"},
	{"grant by address", "agent/plant.go", withSandbox + "var g = &sandbox.Grant{Write: []string{\"/\"}}\n", "builds a sandbox.Grant"},
	{"grant in a slice", "headless/plant.go", withSandbox + "var g = []sandbox.Grant{{Unsandboxed: true}}\n", "builds a sandbox.Grant"},
	{"grant under an alias", "tui/plant.go", withSandbox + "type a = sandbox.Grant\nvar g = a{Unsandboxed: true}\n", "builds a sandbox.Grant"},
	{"grant under another import name", "tui/plant.go", "package p\nimport s \"codeagent/sandbox\"\nvar g = s.Grant{Unsandboxed: true}\n", "builds a sandbox.Grant"},
	{"grant filled later", "tools/plant.go", withSandbox + "func f() (g sandbox.Grant) { g.Unsandboxed = true; return }\n", "assignment to a field"},
	{"grant of a request filled", "tools/plant.go", withSandbox + "func f(v *sandbox.Verdict) { v.Suggest.Write[0] = \"/\" }\n", "assignment to a field"},
	{"grant converted", "tools/plant.go", withSandbox + "type x struct { Write []string; Read []string; Hosts []sandbox.HostPort; Sockets []string; Unsandboxed bool }\nvar g = sandbox.Grant(x{Unsandboxed: true})\n", "a conversion"},
	{"grant by pointer to a field", "tools/plant.go", withSandbox + "func f(g *sandbox.Grant) *bool { return &g.Unsandboxed }\n", "address of a field"},
	{"suggestion of a verdict", "exec/verdict/plant.go", withSandbox + "var g = sandbox.Grant{Unsandboxed: true}\n", "builds a sandbox.Grant"},
	{"suggestion in exec", "exec/plant.go", withSandbox + "var g = sandbox.Grant{Unsandboxed: true}\n", "builds a sandbox.Grant"},
	{"a policy's own lists are not a grant", "config/plant.go", withSandbox + "func f(p *sandbox.Policy) { p.Write = append(p.Write, sandbox.Root{Path: \"/w\"}) }\n", ""},

	// Deeds on the host.
	{"open", "agent/plant.go", "package p\nimport \"os\"\nvar _, _ = os.Open(\"x\")\n", "uses os.Open"},
	{"open under another name", "session/plant.go", "package p\nimport o \"os\"\nfunc f() { _, _ = o.ReadFile(\"x\") }\n", "uses os.ReadFile"},
	{"open as a value", "config/plant.go", "package p\nimport \"os\"\nvar open = os.OpenFile\n", "uses os.OpenFile"},
	{"open in a struct", "tools/plant.go", "package p\nimport \"os\"\ntype t struct{ f func(string) error }\nvar v = t{os.Remove}\n", "uses os.Remove"},
	{"open in parentheses", "tools/plant.go", "package p\nimport \"os\"\nvar _ = (os.Create)\n", "uses os.Create"},
	{"a new function of os", "undo/plant.go", "package p\nimport \"os\"\nvar _ = os.OpenSomethingNew\n", "uses os.OpenSomethingNew"},
	{"a root of its own", "exec/plant.go", "package p\nimport \"os\"\nvar _, _ = os.OpenRoot(\"x\")\n", "uses os.OpenRoot"},
	{"start of a program", "cmd/codeagent/plant.go", "package p\nimport \"os\"\nvar _ = os.StartProcess\n", "uses os.StartProcess"},
	{"os/exec in wiring", "cmd/codeagent/plant.go", "package p\nimport _ \"os/exec\"\n", "imports os/exec"},
	{"system call", "session/plant.go", "package p\nimport \"syscall\"\nvar _ = syscall.Open\n", "uses syscall.Open"},
	{"raw system call", "agent/plant.go", "package p\nimport \"syscall\"\nfunc f() { syscall.RawSyscall(0, 0, 0, 0) }\n", "uses syscall.RawSyscall"},
	{"exec by system call", "cmd/codeagent/plant.go", "package p\nimport s \"syscall\"\nvar _ = s.ForkExec\n", "uses syscall.ForkExec"},
	{"unix beside what it may", "undo/look.go", "package undo\nimport \"golang.org/x/sys/unix\"\nvar _ = unix.Unlinkat\n", "uses unix.Unlinkat"},
	{"unix as it may", "undo/look.go", "package undo\nimport \"golang.org/x/sys/unix\"\nvar _ = unix.Fstatat\n", ""},
	{"unix elsewhere in the room", "undo/plant.go", "package p\nimport \"golang.org/x/sys/unix\"\nvar _ = unix.Openat2\n", "uses unix.Openat2"},
	{"where links lead", "gitrun/plant.go", "package p\nimport \"path/filepath\"\nvar _, _ = filepath.EvalSymlinks(\"x\")\n", "uses filepath.EvalSymlinks"},
	{"walk", "tools/plant.go", "package p\nimport fp \"path/filepath\"\nvar _ = fp.WalkDir\n", "uses filepath.WalkDir"},
	{"ioutil", "tools/plant.go", "package p\nimport \"io/ioutil\"\nvar _ = ioutil.ReadFile\n", "uses ioutil.ReadFile"},
	{"another system's deed", "seatbelt/plant_linux.go", "package p\nimport \"golang.org/x/sys/unix\"\nvar _ = unix.Openat\n", "imports golang.org/x/sys/unix"},
	{"terminal that starts", "exec/plant.go", "package p\nimport \"github.com/creack/pty\"\nvar _ = pty.Start\n", "uses pty.Start"},
	{"through the door", "session/plant.go", "package p\nimport \"codeagent/hostfile\"\nvar _, _ = hostfile.Open(\"/x\")\n", ""},
	{"inside the door", "hostfile/plant.go", "package p\nimport \"os\"\nvar _, _ = os.Open(\"x\")\n", ""},
	{"in a test", "session/plant_test.go", "package p\nimport \"os\"\nvar _, _ = os.Open(\"x\")\n", ""},
	{"a local of the package's name", "agent/plant.go", "package p\ntype t struct{ Open func() }\nfunc f(os t) { os.Open() }\n", ""},
	{"the process itself", "agent/plant.go", "package p\nimport \"os\"\nvar _ = os.Getenv(\"X\")\nvar _ *os.File = os.Stderr\nvar _ = os.O_RDONLY\n", ""},

	// Goroutines, endings, inits.
	{"go statement", "approvals/plant.go", "package p\nfunc f() { go f() }\n", "starts a goroutine"},
	{"go in agent's turn", "agent/plant.go", "package p\nfunc f() { go f() }\n", "starts a goroutine"},
	{"errgroup", "tools/plant.go", "package p\nimport \"golang.org/x/sync/errgroup\"\nfunc f(g errgroup.Group) { g.Go(func() error { return nil }) }\n", "starts a goroutine"},
	{"parallel calls", "agent/batch.go", "package p\nfunc f() { go f() }\n", ""},
	{"exit in a library", "linuxsandbox/plant.go", "package p\nimport \"os\"\nfunc f() { os.Exit(1) }\n", "ends the process"},
	{"exit under another name", "exec/plant.go", "package p\nimport x \"os\"\nfunc f() { x.Exit(1) }\n", "ends the process"},
	{"log.Fatal", "config/plant.go", "package p\nimport \"log\"\nfunc f() { log.Fatalf(\"x\") }\n", "ends the process"},
	{"exit beside main", "cmd/codeagent/plant.go", "package p\nimport \"os\"\nfunc f() { os.Exit(1) }\n", "ends the process"},
	{"init", "config/plant.go", "package p\nfunc init() {}\n", "package-level init"},
	{"an expression of every start", "config/plant.go", "package p\nimport \"regexp\"\nvar form = regexp.MustCompile(\"x\")\n", "at every start"},
	{"an expression of the first use", "config/plant.go", "package p\nimport (\n\"regexp\"\n\"sync\"\n)\nvar form = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(\"x\") })\n", ""},
	{"method named init", "config/plant.go", "package p\ntype t struct{}\nfunc (t) init() {}\n", ""},
	// What a part may reach.
	{"a part has its owner", "tui/plant.go", "package p\ntype t struct{ of *app }\n", "names app"},
	{"a part takes its owner", "tui/plant.go", "package p\ntype t struct{}\nfunc (t) key(int, func(*app)) {}\n", "names app"},
	{"an owner under another name", "tui/plant.go", "package p\ntype t = map[string]*app\n", "names app"},
	{"an owner that others can have", "tui/plant.go", "package p\nfunc Whole() *app { return nil }\n", "names app"},
	{"an owner behind an interface", "tui/plant.go", "package p\ntype t interface{ Init(); Update(); View(); send(); back(); move() }\n", "has 6 methods of app"},
	{"an owner behind a parameter", "tui/plant.go", "package p\ntype t struct{}\nfunc (t) key(interface{ Init(); Update(); View(); send(); back(); move() }) {}\n", "has 6 methods of app"},
	{"an owner behind a field", "tui/plant.go", "package p\ntype t struct{ of interface{ Init(); Update(); View(); send(); back(); move() } }\n", "has 6 methods of app"},
	{"what a part needs", "tui/plant.go", "package p\ntype t struct{ of interface{ Init(); Update(); View(); send(); back() } }\n", ""},
	{"a part below its owner", "tui/question/plant.go", "package p\nimport \"codeagent/tui\"\ntype t struct{ of *tui.Screen }\n", "may not import tui"},
	{"a part below, by a function", "tui/form/plant.go", "package p\nimport \"codeagent/tui\"\nfunc f(tui.Options) {}\n", "may not import tui"},
	{"a part below, by another name", "tui/composer/plant.go", "package p\nimport whole \"codeagent/tui\"\ntype t = whole.Screen\n", "may not import tui"},

	// What a handler of the broker may reach.
	{"a handler has the others", "linuxsandbox/broker/plant.go", "package p\ntype t struct{ of *handlers }\n", "names handlers"},
	{"a handler takes who holds calls", "linuxsandbox/broker/plant.go", "package p\ntype t struct{}\nfunc (t) answer(int, func(*holding)) {}\n", "names holding"},
	{"the handlers under another name", "linuxsandbox/broker/plant.go", "package p\ntype t = map[string]*handlers\n", "names handlers"},
	{"handlers that others can have", "linuxsandbox/broker/plant.go", "package p\nfunc Whole() *handlers { return nil }\n", "names handlers"},
	{"who holds calls, behind an interface", "linuxsandbox/broker/plant.go", "package p\ntype t interface{ hold(); holds(); ask(); put(); settle(); deny() }\n", "has 6 methods of holding"},
	{"who holds calls, behind a parameter", "linuxsandbox/broker/plant.go", "package p\ntype t struct{}\nfunc (t) answer(interface{ hold(); holds(); ask(); put(); settle(); deny() }) {}\n", "has 6 methods of holding"},
	{"who holds calls, behind a field", "linuxsandbox/broker/plant.go", "package p\ntype t struct{ of interface{ hold(); holds(); ask(); put(); settle(); deny() } }\n", "has 6 methods of holding"},
	{"what a handler needs", "linuxsandbox/broker/plant.go", "package p\ntype t struct{ of interface{ refuse() }; *fileCalls }\n", ""},
	{"a handler widens", "linuxsandbox/broker/plant.go", withJudge + "type t struct{ of judge.Law }\n", "names Law"},
	{"a handler is given what widens", "linuxsandbox/broker/plant.go", withJudge + "type t struct{}\nfunc (t) answer(judge.Law) {}\n", "names Law"},
	{"a judge that widens", "linuxsandbox/broker/judge/plant.go", "package p\ntype t struct{ law *Law }\n", "names Law"},
	{"what widens, behind a field", "linuxsandbox/broker/plant.go", withJudge + "type t struct{ of interface{ Widen(); Narrow(); KeepAll(); Restore(); State(); Close() } }\n", "has 6 methods of Law"},
	{"a part of the judge knows the broker", "linuxsandbox/broker/judge/plant.go", "package p\nimport \"codeagent/linuxsandbox/broker\"\ntype t struct{ of *broker.Broker }\n", "may not import linuxsandbox/broker"},
	{"a handler below, by a function", "linuxsandbox/broker/terminal/plant.go", "package p\nimport \"codeagent/linuxsandbox/broker\"\nfunc f(broker.Options) {}\n", "may not import linuxsandbox/broker"},
	{"a handler below, by another name", "linuxsandbox/broker/processes/plant.go", "package p\nimport whole \"codeagent/linuxsandbox/broker\"\ntype t = whole.Broker\n", "may not import linuxsandbox/broker"},
}

func TestPlantedDependencies(t *testing.T) {
	deps := []string{
		"fmt", "github.com/alecthomas/chroma/v2", "github.com/alecthomas/chroma/v2/lexers", "charm.land/glamour/v2/ansi",
		"github.com/charmbracelet/bubbletea", "charm.land/bubbletea/v2", "codeagent/internal/attack", "codeagent/internal/scripted",
	}
	got := checkDependencies("cmd/codeagent", deps, slow)
	want := []string{"chroma/v2/lexers", "charm.land/glamour/v2/ansi", "github.com/charmbracelet/bubbletea:", "test support internal/attack"}
	if len(got) != len(want) {
		t.Fatalf("want %d violations, have:\n%s", len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("violation %d is %q, want one about %q", i, got[i], want[i])
		}
	}
	if got := checkDependencies(helperProgram, []string{"net/netip", "net"}, helperFree); len(got) != 1 {
		t.Errorf("a helper that links net: %q", got)
	}
	if got := checkDependencies(helperProgram, []string{"codeagent/linuxsandbox/spec", "codeagent/linuxsandbox/netns"}, helperFree); len(got) != 1 {
		t.Errorf("a helper that links the session's network: %q", got)
	}
}

func TestPlantedPins(t *testing.T) {
	good := "module x\nrequire (\n"
	for _, p := range pins {
		good += "\t" + p.module + " " + p.version + " // indirect\n"
	}
	good += ")\n"
	if got := checkPins(good); len(got) != 0 {
		t.Errorf("good pins: %q", got)
	}
	bad := strings.Replace(good, "v0.0.31", "v0.0.27", 1)
	if got := checkPins(bad); len(got) != 1 || !strings.Contains(got[0], "go-runewidth") {
		t.Errorf("a lowered pin: %q", got)
	}
	if got := checkPins("module x\n"); len(got) != len(pins) {
		t.Errorf("no pins at all: %q", got)
	}
}
