package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/approvals"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/sandbox"
)

func TestShellPlan(t *testing.T) {
	p := newPlace(t, map[string]string{"sub/f": "", "file": ""})
	p.link("sub", "inside")
	p.link(p.out, "outside")
	p.link("loop", "loop")
	if err := os.Mkdir(filepath.Join(p.ws, "..", "extra"), 0o755); err != nil {
		t.Fatal(err)
	}
	action := func(command, folder string, w approvals.Wish) approvals.Action {
		return approvals.Action{CallID: "c1", Tool: "shell", Kind: word.KindCommand, Title: "$ " + command, Command: command,
			Folder: filepath.Join(p.ws, folder), Argv: []string{"/bin/sh", "-c", command}, Wish: w}
	}
	for _, tt := range []struct {
		name string
		args args
		want approvals.Action
		err  string
	}{
		{"plain", args{"command": "ls"}, action("ls", "", approvals.Wish{}), ""},
		{"default permissions", args{"command": "ls", "sandbox_permissions": "use_default"}, action("ls", "", approvals.Wish{}), ""},
		{"workdir", args{"command": "ls", "workdir": "sub"}, action("ls", "sub", approvals.Wish{}), ""},
		{"workdir through a link inside", args{"command": "ls", "workdir": "inside"}, action("ls", "sub", approvals.Wish{}), ""},
		{"workdir in another allowed folder", args{"command": "ls", "workdir": "../extra"}, action("ls", "../extra", approvals.Wish{}), ""},
		{"workdir that only begins alike", args{"command": "ls", "workdir": p.ws + "x"}, approvals.Action{}, "there is no folder"},
		{"workdir a loop of links", args{"command": "ls", "workdir": "loop"}, approvals.Action{}, "too many symbolic links"},
		{"workdir a file", args{"command": "ls", "workdir": "file"}, approvals.Action{}, "file is not a folder"},
		{"workdir absent", args{"command": "ls", "workdir": "nope"}, approvals.Action{}, "there is no folder nope"},
		{"workdir of a home", args{"command": "ls", "workdir": "~/x"}, approvals.Action{}, "begins with ~"},
		{"no command", args{}, approvals.Action{}, `"command" is missing`},
		{"blank command", args{"command": " \n"}, approvals.Action{}, `"command" is empty`},
		{"NUL", args{"command": "a\x00b"}, approvals.Action{}, "NUL"},
		{"too long", args{"command": strings.Repeat("x", maxCommand+1)}, approvals.Action{}, "bytes; at most"},
		{"negative timeout", args{"command": "ls", "timeout_ms": -1}, approvals.Action{}, `"timeout_ms" must be positive`},
		{"additional", args{"command": "ls", "sandbox_permissions": "with_additional_permissions", "justification": " because ",
			"additional_permissions": args{"write": []string{"/x"}, "hosts": []string{"h:1"}, "read": []string{"/r"}, "sockets": []string{"/s"}}},
			action("ls", "", approvals.Wish{Write: []string{"/x"}, Read: []string{"/r"}, Hosts: []string{"h:1"}, Sockets: []string{"/s"}, Justification: "because"}), ""},
		{"additional without saying so", args{"command": "ls", "justification": "j", "additional_permissions": args{"write": "/x"}},
			action("ls", "", approvals.Wish{Write: []string{"/x"}, Justification: "j"}), ""},
		{"additional that is empty", args{"command": "ls", "additional_permissions": args{"write": []string{}}}, action("ls", "", approvals.Wish{}), ""},
		{"additional without naming", args{"command": "ls", "sandbox_permissions": "with_additional_permissions", "justification": "j"}, approvals.Action{}, "additional_permissions names nothing"},
		{"additional without a reason", args{"command": "ls", "additional_permissions": args{"write": "/x"}}, approvals.Action{}, `add a "justification"`},
		{"additional against default", args{"command": "ls", "sandbox_permissions": "use_default", "justification": "j", "additional_permissions": args{"write": "/x"}}, approvals.Action{}, `to ask for them write "with_additional_permissions"`},
		{"escalated", args{"command": "ls", "sandbox_permissions": "require_escalated", "justification": "j"}, action("ls", "", approvals.Wish{Unsandboxed: true, Justification: "j"}), ""},
		{"escalated without a reason", args{"command": "ls", "sandbox_permissions": "require_escalated", "justification": " "}, approvals.Action{}, `add a "justification"`},
		{"escalated, the older way", args{"command": "ls", "with_escalated_permissions": true, "justification": "j"}, action("ls", "", approvals.Wish{Unsandboxed: true, Justification: "j"}), ""},
		{"escalated, the older way, no", args{"command": "ls", "with_escalated_permissions": false}, action("ls", "", approvals.Wish{}), ""},
		{"escalated, the older way, without a reason", args{"command": "ls", "with_escalated_permissions": true}, approvals.Action{}, `add a "justification"`},
		{"escalated both ways, in contradiction", args{"command": "ls", "with_escalated_permissions": true, "sandbox_permissions": "use_default"}, approvals.Action{}, "contradict"},
		{"unknown permissions", args{"command": "ls", "sandbox_permissions": "full"}, approvals.Action{}, `must be "use_default", "with_additional_permissions" or "require_escalated", not "full"`},
		{"unknown permission", args{"command": "ls", "additional_permissions": args{"network": true}}, approvals.Action{}, `there is no argument "additional_permissions.network"`},
		{"many lines", args{"command": "set -e\nls"}, approvals.Action{CallID: "c1", Tool: "shell", Kind: word.KindCommand, Title: "$ set -e …",
			Command: "set -e\nls", Folder: p.ws, Argv: []string{"/bin/sh", "-c", "set -e\nls"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := p.plan("shell", tt.args)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Folder = filepath.Clean(tt.want.Folder)
			if diff := cmp.Diff(tt.want, c.Action()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStreamsApart: each stream of a command has its own pieces, and the model gets both.
func TestStreamsApart(t *testing.T) {
	for _, apart := range []bool{false, true} {
		p := newPlace(t, nil)
		p.options.Apart = apart
		var mu sync.Mutex
		streamed := map[string]string{}
		sink := func(stream string) func(int64, []byte) {
			return func(offset int64, data []byte) {
				mu.Lock()
				defer mu.Unlock()
				if offset != int64(len(streamed[stream])) {
					t.Errorf("%s: offset %d after %q", stream, offset, streamed[stream])
				}
				streamed[stream] += string(data)
			}
		}
		p.stage.Output, p.stage.Stream = sink(""), sink
		r := p.ok("shell", args{"command": "for i in 1 2 3; do echo out $i; echo err $i >&2; done"})
		want := map[string]string{"stdout": "out 1\nout 2\nout 3\n", "stderr": "err 1\nerr 2\nerr 3\n"}
		if !apart {
			want = map[string]string{"": "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"}
		}
		if d := cmp.Diff(want, streamed); d != "" {
			t.Errorf("apart %v: %s", apart, d)
		}
		for _, line := range []string{"out 3\n", "err 3\n"} {
			contains(t, "text", r.Text, line)
		}
	}
}

func TestShellRun(t *testing.T) {
	p := newPlace(t, nil)
	var mu sync.Mutex
	var streamed strings.Builder
	p.stage.Output = func(offset int64, data []byte) {
		mu.Lock()
		defer mu.Unlock()
		streamed.Write(data)
	}
	r := p.ok("shell", args{"command": "pwd; echo out; echo err >&2"})
	if r.Outcome != word.OK || r.Exit != 0 || len(r.Output) != len(p.ws+"\nout\nerr\n") {
		t.Errorf("%+v", r)
	}
	contains(t, "text", r.Text, "exit status 0 after ", "s\noutput:\n", p.ws+"\n", "out\n", "err\n")
	if streamed.String() != r.Output {
		t.Errorf("streamed %q", streamed.String())
	}
	if r := p.ok("shell", args{"command": "true"}); !strings.HasSuffix(r.Text, "\n(no output)") {
		t.Errorf("%q", r.Text)
	}
	for _, tt := range []struct {
		command      string
		outcome      word.Outcome
		signal, text string
		exit         int
	}{
		{"exit 3", word.Failed, "", "exit status 3 after", 3},
		{"kill -9 $$", word.Failed, "SIGKILL", "ended by signal 9 (SIGKILL) after", -1},
		{"nosuchprogram", word.Failed, "", "exit status 127 after", 127},
	} {
		r, err := p.do("shell", args{"command": tt.command})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Failed || r.Outcome != tt.outcome || r.Exit != tt.exit || r.Signal != tt.signal || !strings.HasPrefix(r.Text, tt.text) {
			t.Errorf("%s: %+v", tt.command, r)
		}
	}
}

func TestShellTimesOut(t *testing.T) {
	p := newPlace(t, nil)
	var r Result
	// The machine may be too slow for a shell to begin in so short a time.
	for wait := 50; wait < 60_000 && !strings.Contains(r.Text, "begun"); wait *= 4 {
		var err error
		r, err = p.do("shell", args{"command": "echo begun; sleep 100", "timeout_ms": wait})
		if err != nil || r.Outcome != word.TimedOut || !r.Failed {
			t.Errorf("%+v, %v", r, err)
		}
	}
	contains(t, "text", r.Text, "killed with all it had started, because its time was up", "begun")
}

func TestShellInterrupted(t *testing.T) {
	p := newPlace(t, nil)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p.stage.Exec = p.runner()
	p.stage.Output = func(int64, []byte) { stop() }
	c, err := p.plan("shell", args{"command": "echo begun; sleep 100; echo never"})
	if err != nil {
		t.Fatal(err)
	}
	permit, err := p.permit(c.Action())
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run(ctx, permit, p.stage)
	if err != nil || r.Outcome != word.Interrupted || strings.Contains(r.Text, "never") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.Run(ctx, permit, p.stage); !errors.Is(err, context.Canceled) {
		t.Errorf("a call began after the interrupt: %v", err)
	}
}

func TestShellLongOutput(t *testing.T) {
	p := newPlace(t, nil)
	r := p.ok("shell", args{"command": "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done"})
	contains(t, "text", r.Text, "line 0\n", "bytes cut", "line 8999\n")
	if len(r.Text) > 25<<10 || strings.Contains(r.Text, "line 4500\n") {
		t.Errorf("%d bytes", len(r.Text))
	}
}

func TestShellHostileOutput(t *testing.T) {
	p := newPlace(t, nil)
	r := p.ok("shell", args{"command": `printf 'a\377b'`})
	contains(t, "text", r.Text, "a\uFFFDb")
}

// The working directory gives no permission: not under the policy of the command, and not if
// it asks for other permissions.
func TestWorkdirIsNoWriteRoot(t *testing.T) {
	p := newPlace(t, map[string]string{"sub/f": ""})
	for _, w := range []args{{"command": "ls", "workdir": p.out}, {"command": "ls", "workdir": "sub"}} {
		c, err := p.plan("shell", w)
		if err != nil {
			t.Fatal(err)
		}
		permit, err := p.permit(c.Action())
		if err != nil {
			t.Fatal(err)
		}
		policy, err := permit.Policy(c.Action())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]sandbox.Root{{Path: p.ws}}, policy.Write); diff != "" {
			t.Error(diff)
		}
	}
}

// The gate receives exactly what was asked for.
func TestShellWishReachesTheGate(t *testing.T) {
	p := newPlace(t, nil)
	p.answer = approvals.Answer{Decision: approvals.Once}
	target := filepath.Join(p.out, "new")
	p.ok("shell", args{"command": "echo x > " + target, "additional_permissions": args{"write": []string{p.out}}, "justification": "the report belongs there"})
	if len(p.asked) != 1 || p.asked[0].Justification != "the report belongs there" || p.asked[0].Grant.Write[0] != p.out {
		t.Errorf("%+v", p.asked)
	}
	if p.read(target) != "x\n" {
		t.Error("the command did not run")
	}
}

// TestOutsideThereIsNoBackend: a command that a rule sends to a backend, and a person lets run outside the sandbox, starts
// nothing there, and the model does not read that it ran there.
func TestOutsideThereIsNoBackend(t *testing.T) {
	p := newPlace(t, nil)
	list, err := rules.Parse("rules.toml", []byte("[[command]]\nwords = [\"echo\"]\nbackend = \"box\"\n"), "/nonexistent")
	if err != nil {
		t.Fatal(err)
	}
	gate := approvals.NewGate(approvals.Options{Base: p.policy, Files: exec.OS{}, Home: "/nonexistent", Workspace: p.ws, Rules: rules.Join(list)})
	p.options.Backend = gate.BackendOf
	c, err := p.plan("shell", args{"command": "echo ran", "sandbox_permissions": "with_additional_permissions", "additional_permissions": args{"hosts": []string{"example.com:443"}}, "justification": "the page is needed"})
	if err != nil {
		t.Fatal(err)
	}
	_, asked, err := gate.Decide(c.Action())
	if err != nil || asked == nil || c.Action().Backend != "box" {
		t.Fatalf("%+v, %v", asked, err)
	}
	permit, err := gate.Settle(asked, approvals.Answer{Decision: approvals.Outside})
	if err != nil {
		t.Fatal(err)
	}
	p.stage.Exec = p.runner()
	p.stage.In = func(name string) (*exec.Runner, error) { return nil, errors.New("the backend is started") }
	r, err := c.Run(t.Context(), permit, p.stage)
	if err != nil || r.Output != "ran\n" || strings.Contains(r.Text, "[backend]") {
		t.Errorf("%+v, %v", r, err)
	}
}
