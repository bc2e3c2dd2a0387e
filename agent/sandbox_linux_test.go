package agent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/event"
	codeexec "codeagent/exec"
	"codeagent/internal/scripted"
	"codeagent/linuxsandbox"
	"codeagent/model/chat"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
	"codeagent/tools"
)

// helper is the path of a freshly built helper. If it cannot be built it is empty: then the
// test binary is its own helper, which takes a second per command with the race detector.
var helper string

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == linuxsandbox.HelperName {
		syscall.Exit(linuxsandbox.HelperMain(os.Args))
	}
	os.Exit(runWithHelper(m))
}

func runWithHelper(m *testing.M) int {
	dir, err := os.MkdirTemp("", "helper")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, linuxsandbox.HelperName)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "codeagent/cmd/linux-sandbox-helper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "no helper was built (%v), the test binary is its own: %s\n", err, out)
	} else {
		helper = path
	}
	return m.Run()
}

// answerer answers every question with yes, and records the questions.
type answerer struct {
	person
	mu    sync.Mutex
	asked []approvals.Request
	say   approvals.Answer
}

func (a *answerer) Ask(_ context.Context, r approvals.Request) (approvals.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r)
	return a.say, nil
}

type field struct {
	*agent.Agent
	face               *answerer
	workspace, outside string
}

// newField returns an agent whose commands run in the real sandbox. workspace and outside are
// two sibling folders.
func newField(t testing.TB, mode approvals.Mode, say approvals.Answer, script func(outside string) []scripted.Reply, more ...func(*agent.Config)) field {
	t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is missing: commands cannot run")
	}
	backend, err := linuxsandbox.New(linuxsandbox.Options{Helper: helper})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { backend.Close() })
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := field{face: &answerer{say: say}, workspace: root + "/work", outside: root + "/outside"}
	for _, dir := range []string{f.workspace, f.outside} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	policy := sandbox.WorkspaceWrite(f.workspace)
	if _, err := sandboxtest.Enforcement(backend, policy); err != nil {
		t.Skipf("this machine cannot confine commands: %v", err)
	}
	server, err := scripted.Start(t.Context(), scripted.Steps(script(f.outside)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	client := chat.New(chat.Options{BaseURL: server.URL, Key: "k"})
	t.Cleanup(func() { client.Close() })
	config := agent.Config{
		Model: client, ModelName: "m", Frontend: f.face, Attended: say.Decision != approvals.Unattended,
		Gate:  approvals.NewGate(approvals.Options{Mode: mode, Base: policy, Files: codeexec.OS{}, Home: "/nonexistent", Workspace: f.workspace}),
		Tools: tools.All(tools.Options{Workspace: f.workspace, Files: codeexec.OS{}, Shell: shell}),
		Stage: tools.Stage{Exec: codeexec.New(codeexec.Options{Backend: backend, None: codeexec.Plain{}, Environ: os.Environ(), Files: codeexec.OS{}, Versions: versions})},
	}
	for _, change := range more {
		change(&config)
	}
	f.Agent = agent.New(config)
	return f
}

func (f field) results() map[string]string { return bench{Agent: f.Agent}.results() }

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil
}

// refusedThenAsks is a model that writes outside, is refused, and asks for just
// that folder.
func refusedThenAsks(outside string) []scripted.Reply {
	command := fmt.Sprintf("echo hello > %s/x && echo written", outside)
	return []scripted.Reply{
		{Calls: []scripted.Call{{ID: "plain", Name: "shell", Arguments: fmt.Sprintf(`{"command":%q}`, command)}}},
		{Calls: []scripted.Call{{ID: "asking", Name: "shell", Arguments: fmt.Sprintf(
			`{"command":%q,"sandbox_permissions":"with_additional_permissions","additional_permissions":{"write":[%q]},"justification":"the user wants it there"}`, command, outside)}}},
		{Calls: []scripted.Call{{ID: "after", Name: "shell", Arguments: fmt.Sprintf(`{"command":"echo more > %s/y"}`, outside)}}},
		{Text: "Done."},
	}
}

// The main case: denied by the kernel, asked for exactly that, granted, done.
func TestRefusedAskedGrantedDone(t *testing.T) {
	for _, c := range []struct {
		say         approvals.Decision
		x, y        bool
		asking      string
		refusedList int
	}{
		{approvals.Once, true, false, "written", 0},
		{approvals.Session, true, true, "written", 0},
		{approvals.Deny, false, false, "the user said no", 0},
		{approvals.Unattended, false, false, "nobody could be asked", 1},
	} {
		t.Run(fmt.Sprintf("%q", c.say), func(t *testing.T) {
			f := newField(t, approvals.OnRequest, approvals.Answer{Decision: c.say}, refusedThenAsks)
			if err := f.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			got := f.results()
			if !strings.Contains(got["plain"], "[sandbox]") || strings.Contains(got["plain"], "written\n") {
				t.Errorf("the first run: %q", got["plain"])
			}
			if attended := c.say != approvals.Unattended; strings.Contains(got["plain"], "additional_permissions") != attended {
				t.Errorf("how to ask, attended %v: %q", attended, got["plain"])
			}
			if !strings.Contains(got["asking"], c.asking) {
				t.Errorf("the asking run: %q", got["asking"])
			}
			if x, y := exists(t, f.outside+"/x"), exists(t, f.outside+"/y"); x != c.x || y != c.y {
				t.Errorf("x %v y %v, want %v %v\n%q", x, y, c.x, c.y, got["after"])
			}
			if len(f.face.asked) != 1 || f.face.asked[0].Grant.Write[0] != f.outside || f.face.asked[0].Justification != "the user wants it there" {
				t.Errorf("asked %+v", f.face.asked)
			}
			end := f.face.events[len(f.face.events)-1].(event.TurnFinished)
			if len(end.Refused) != c.refusedList || end.Outcome != "done" {
				t.Errorf("%+v", end)
			}
		})
	}
}

func TestOnFailureAsksAndRunsAgain(t *testing.T) {
	f := newField(t, approvals.OnFailure, approvals.Answer{Decision: approvals.Once}, func(outside string) []scripted.Reply {
		return []scripted.Reply{
			{Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: fmt.Sprintf(`{"command":"echo hello > %s/x && echo written"}`, outside)}}},
			{Text: "Done."},
		}
	})
	if err := f.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if got := f.results()["a"]; !strings.Contains(got, "The second run:\n") || !exists(t, f.outside+"/x") {
		t.Errorf("%q", got)
	}
	if len(f.face.asked) != 1 || !f.face.asked[0].AfterFailure || !slices.Equal(f.face.asked[0].Grant.Write, []string{f.outside + "/x"}) {
		t.Errorf("asked for more or less than what the kernel refused: %+v", f.face.asked)
	}
}

// An edit outside is a question of its own, and a yes writes exactly that file.
func TestAnEditOutsideIsAsked(t *testing.T) {
	for _, say := range []approvals.Decision{approvals.Once, approvals.Deny} {
		f := newField(t, approvals.OnRequest, approvals.Answer{Decision: say}, func(outside string) []scripted.Reply {
			if err := os.WriteFile(outside+"/old.txt", []byte("before\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			patch := fmt.Sprintf("*** Begin Patch\n*** Update File: %s/old.txt\n@@\n-before\n+hello\n*** End Patch\n", outside)
			return []scripted.Reply{
				{Calls: []scripted.Call{{ID: "a", Name: "apply_patch", Arguments: fmt.Sprintf(`{"patch":%q}`, patch)}}},
				{Text: "Done."},
			}
		})
		if err := f.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		want := map[approvals.Decision]string{approvals.Once: "hello\n", approvals.Deny: "before\n"}[say]
		if data, err := os.ReadFile(f.outside + "/old.txt"); err != nil || string(data) != want {
			t.Errorf("answer %q, and the file holds %q %v\n%q", say, data, err, f.results()["a"])
		}
		if len(f.face.asked) != 1 {
			t.Errorf("asked %d times", len(f.face.asked))
		}
	}
}

// The question shows the target of a link in the workspace, and grants nothing else.
func TestAWishThroughALinkShowsWhereItLeads(t *testing.T) {
	f := newField(t, approvals.OnRequest, approvals.Answer{Decision: approvals.Once}, func(string) []scripted.Reply {
		return []scripted.Reply{
			{Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: `{"command":"ln -s ../outside out && ln -sfn ../outside out2"}`}}},
			{Calls: []scripted.Call{{ID: "b", Name: "shell", Arguments: `{"command":"echo hello > out/x","sandbox_permissions":"with_additional_permissions","additional_permissions":{"write":["out"]},"justification":"j"}`}}},
			{Text: "Done."},
		}
	})
	if err := f.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if len(f.face.asked) != 1 || f.face.asked[0].Grant.Write[0] != f.outside {
		t.Fatalf("%+v", f.face.asked)
	}
	if !exists(t, f.outside+"/x") {
		t.Errorf("granted, and refused: %q", f.results()["b"])
	}
}

// TestHeldGrantedDone: the refused call of a running command is held for the answer. On yes
// the same command continues, with exactly that granted; on no it gets the error that it
// would have got at once.
func TestHeldGrantedDone(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  approvals.Mode
		say   approvals.Decision
		asked int
		files string // of a, b, then a of the next command
		words []string
	}{
		{"once", approvals.OnRequest, approvals.Once, 3, "yes yes yes", []string{"exit status 0", "after a", "after b", "the user opened for it: "}},
		{"session", approvals.OnFailure, approvals.Session, 2, "yes yes yes", []string{"exit status 0", "after a", "after b", "the user opened for it: ", "/outside/b (for this session)."}},
		{"no", approvals.OnFailure, approvals.Deny, 2, "no no no", []string{"exit status 0", "no a", "no b", "and did not open: "}},
		{"not held", approvals.Untrusted, approvals.Once, 2, "no no no", []string{"no a", "no b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newField(t, c.mode, approvals.Answer{Decision: c.say}, func(outside string) []scripted.Reply {
				call := func(id, script string) scripted.Reply {
					return scripted.Reply{Calls: []scripted.Call{{ID: id, Name: "shell", Arguments: fmt.Sprintf(`{"command":%q}`, script)}}}
				}
				return []scripted.Reply{
					call("first", fmt.Sprintf("for f in a b; do echo x > %s/$f && echo after $f || echo no $f; done; mkdir %[1]s/a/c; true", outside)),
					call("second", fmt.Sprintf("echo again >> %s/a || true", outside)),
					{Text: "Done."},
				}
			}, func(c *agent.Config) { c.Hold = func() bool { return true } })
			if err := f.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			got := f.results()
			for _, want := range c.words {
				if !strings.Contains(got["first"], want) {
					t.Errorf("%q is not in %q", want, got["first"])
				}
			}
			for i, file := range []string{"a", "b"} {
				if want := strings.Fields(c.files)[i] == "yes"; exists(t, f.outside+"/"+file) != want {
					t.Errorf("%s exists: %v", file, !want)
				}
			}
			if data, _ := os.ReadFile(f.outside + "/a"); strings.Contains(string(data), "again") != (strings.Fields(c.files)[2] == "yes") {
				t.Errorf("after the second command a holds %q", data)
			}
			if len(f.face.asked) != c.asked {
				t.Errorf("asked %d times, want %d", len(f.face.asked), c.asked)
			}
			for _, q := range f.face.asked {
				if q.Held == (c.mode == approvals.Untrusted) || q.Held && (len(q.Denials) != 1 || q.Denials[0].Evidence != sandbox.EvidenceKernel || q.Grant.Write[0] != q.Denials[0].Target) {
					t.Errorf("asked %+v", q)
				}
			}
		})
	}
}
