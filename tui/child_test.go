package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/approvals/ask"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tui/attention"
	"codeagent/tui/message"
)

// childVariable makes the test binary the program under test: a real Screen on
// its terminal, with a turn that plays what the message names.
const childVariable = "CODEAGENT_TUI_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

func child() int {
	mode := os.Getenv(childVariable)
	if mode == "floor" { // what a process on a terminal costs without a screen
		fmt.Println("Ask codeagent")
		return 0
	}
	var grace time.Duration
	if strings.Contains(mode, "unrested") {
		grace = time.Hour
	}
	var calls attention.Settings
	if strings.Contains(mode, "calls") {
		calls = attention.Settings{Notify: attention.OSC9, Title: true, Progress: attention.On}
	}
	var s *Screen
	s = New(Options{
		Environ: os.Environ(),
		Home:    os.Getenv("HOME"),
		Still:   !strings.Contains(mode, "moving"),
		Mouse:   strings.Contains(mode, "mouse"),
		Job: Job{Suspend: func(context.Context) {
			woken := make(chan os.Signal, 1)
			signal.Notify(woken, syscall.SIGCONT)
			_ = syscall.Kill(0, syscall.SIGTSTP)
			<-woken
		}, Foreground: func() bool { return exec.InForeground(os.Stdin) }},
		Grace: grace,
		Look:  Look{Attention: calls},
		Turn: func(ctx context.Context, said message.Message) error {
			return play(ctx, s, said.Text)
		},
	})
	s.Emit(session())
	ctx := context.Background()
	if strings.Contains(mode, "signal") {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM)
		defer stop()
	}
	err := s.Run(ctx)
	if err != nil {
		fmt.Println("run:", err)
		return 1
	}
	fmt.Println("left")
	return 0
}

func session() event.SessionStarted {
	return event.SessionStarted{
		ID: "s1", Model: "scripted-1", Folder: "/home/ada/src/app", Policy: "workspace-write", Approval: "on-request",
		Enforcement: sandbox.Enforcement{
			Backend: "linux", LandlockABI: 7,
			Layers: []sandbox.Layer{{Name: "landlock", State: sandbox.LayerActive, Reason: "ABI 7"}, {Name: "userns", State: sandbox.LayerAbsent, Reason: "EPERM"}},
			Weaknesses: []sandbox.Weakness{{
				ID: "metadata", What: "A command can change modes and times of files outside the workspace that you own.",
				Why: "Landlock does not cover metadata, and no broker watches.", Remedy: "Run under an ordinary user.",
			}},
		},
	}
}

// play is one turn. What it does is named by the message.
func play(ctx context.Context, s *Screen, text string) error {
	s.Emit(event.TurnStarted{Text: text})
	s.Emit(event.RequestStarted{})
	finish := func(outcome word.TurnOutcome, answer string) error {
		s.Emit(event.TurnFinished{Outcome: outcome, Answer: answer})
		return nil
	}
	switch w, rest, _ := strings.Cut(text, " "); w {
	case "echo":
		s.Emit(event.TextDelta{Text: "You said: "})
		s.Emit(event.TextDelta{Text: fmt.Sprintf("%d bytes, %d lines: ", len(rest), strings.Count(rest, "\n")+1)})
		s.Emit(event.MessageFinished{Text: fmt.Sprintf("You said: %d bytes, %d lines: %.40s", len(rest), strings.Count(rest, "\n")+1, rest)})
		return finish("done", "")
	case "wait":
		s.Emit(event.ToolStarted{CallID: "w", Tool: "shell", Kind: "command", Title: "$ sleep 1000", Command: "sleep 1000"})
		s.Emit(event.ToolOutput{CallID: "w", Data: []byte("sleeping\n")})
		<-ctx.Done()
		s.Emit(event.ToolFinished{CallID: "w", Kind: "command", Outcome: "interrupted"})
		return finish("interrupted", "")
	case "steer":
		for ctx.Err() == nil {
			if said, ok := s.Steer(); ok {
				s.Emit(event.Steered{Text: said.Text})
				s.Emit(event.MessageFinished{Text: "Steered: " + said.Text})
				return finish("done", "")
			}
			time.Sleep(5 * time.Millisecond)
		}
		return finish("interrupted", "")
	case "ask":
		ans, err := s.Ask(ctx, npmRequest("q1"))
		if err != nil {
			s.Emit(event.Notice{Level: word.LevelInfo, Text: "asked in vain: " + err.Error()})
			return finish("interrupted", "")
		}
		s.Emit(event.MessageFinished{Text: fmt.Sprintf("Answer: %q reason %q", string(ans.Decision), ans.Reason)})
		return finish("done", "")
	case "lines":
		for i := range 200 {
			s.Emit(event.TextDelta{Text: fmt.Sprintf("line %d\n\n", i)})
		}
		return finish("done", "")
	case "panic":
		panic("the turn broke")
	case "fail":
		err := errors.New("the provider says no")
		s.Emit(event.TurnFinished{Outcome: "failed", Err: err})
		return err
	case "lists": // 1,000 tokens of lists and code
		pace := time.NewTicker(5 * time.Millisecond)
		defer pace.Stop()
		for i := range 1000 {
			<-pace.C
			s.Emit(event.TextDelta{Text: listToken(i)})
		}
		s.Emit(event.TextDelta{Text: "\n\nAll tokens told."})
		return finish("done", "")
	case "tokens":
		pace := time.NewTicker(5 * time.Millisecond)
		defer pace.Stop()
		for i := range 1000 {
			<-pace.C
			w := "token "
			switch {
			case i%40 == 39:
				w = "end.\n\n"
			case i%13 == 0:
				w = "**bold** "
			}
			s.Emit(event.TextDelta{Text: w})
		}
		s.Emit(event.TextDelta{Text: "All tokens told."})
		return finish("done", "")
	case "large": // 20 MB in 400 answers
		for i := range 400 {
			text := fmt.Sprintf("answer %d\n\n", i) + strings.Repeat(strings.Repeat("token **bold** word ", 40)+"\n\n", 50<<10/(40*20))
			s.Emit(event.TextDelta{Text: text})
			s.Emit(event.MessageFinished{Text: text})
			s.Emit(event.RequestStarted{})
		}
		s.Emit(event.TextDelta{Text: "told-all"})
		return finish("done", "")
	case "flood":
		for i := 0; ctx.Err() == nil; i++ {
			word := "token "
			if i%40 == 39 {
				word = "end.\n\n"
			}
			s.Emit(event.TextDelta{Text: word})
			time.Sleep(2 * time.Millisecond)
		}
		return finish("interrupted", "")
	case "tour":
		return tourTurn(ctx, s)
	}
	return finish("done", "")
}

func portRequest(id string) approvals.Request {
	a := approvals.Action{Kind: "command", Title: "$ npm run dev", Command: "npm run dev", Folder: "/home/ada/src/app", CallID: "c-" + id}
	q := ask.Publish(a, 1, sandbox.Listener{Port: 5173, Executable: "/usr/bin/node"}, "http://127.73.21.4:5173")
	q.ID, q.Options = id, ask.Numbered(q.Options)
	return q
}

func npmRequest(id string) approvals.Request {
	return approvals.Request{
		GrantOnly: true,
		ID:        id, CallID: "c-" + id, Title: "npm install wants to leave the sandbox",
		Action: approvals.Action{Kind: "command", Title: "$ npm install --no-audit leftpad", Command: "npm install --no-audit leftpad", Folder: "/home/ada/src/app"},
		Denials: []sandbox.Denial{
			{Kind: sandbox.KindWrite, Operation: "openat", Target: "/home/ada/.npm/_cacache/tmp/a1b2", Program: "npm", Evidence: sandbox.EvidenceKernel, Count: 1},
			{Kind: sandbox.KindNetwork, Operation: "connect", Target: "registry.npmjs.org:443", Program: "npm", Evidence: sandbox.EvidenceOutput, Count: 2},
		},
		Justification: "npm needs its cache and the registry to install the package you asked for",
		Grant:         sandbox.Grant{Write: []string{"/home/ada/.npm"}, Hosts: []sandbox.HostPort{{Host: "registry.npmjs.org", Port: 443}}},
		Options: []approvals.Option{
			{Key: "1", Decision: approvals.Once, Label: "this once"},
			{Key: "2", Decision: approvals.Session, Label: "this session"},
			{Key: "3", Decision: approvals.Outside, Label: "outside the sandbox, once"},
			{Key: "n", Decision: approvals.Deny, Label: "no, because …"},
			{Key: "s", Decision: approvals.Stop, Label: "stop"},
		},
	}
}

// tourTurn plays a whole session: words, a read, an edit, a refused command,
// the question, the same command allowed, a plan.
func tourTurn(ctx context.Context, s *Screen) error {
	pause := func() {
		if d, err := time.ParseDuration(os.Getenv("CODEAGENT_TUI_PACE")); err == nil {
			time.Sleep(d)
		}
	}
	for _, e := range recorded()[1:] {
		if r, ok := e.(event.PermissionRequested); ok {
			s.Emit(e)
			ans, err := s.Ask(ctx, npmRequest(r.ID))
			if err != nil {
				return err
			}
			answer := word.Answer(ans.Decision)
			if answer == "" {
				answer = "denied"
			}
			s.Emit(event.PermissionAnswered{ID: r.ID, CallID: r.CallID, Answer: answer, Reason: ans.Reason})
			continue
		}
		if _, ok := e.(event.PermissionAnswered); ok {
			continue
		}
		if d, ok := e.(event.TextDelta); ok {
			for _, word := range strings.SplitAfter(d.Text, " ") {
				s.Emit(event.TextDelta{Text: word})
				pause()
			}
			continue
		}
		pause()
		s.Emit(e)
	}
	return nil
}

// recorded is a session as events, for the golden screens and the README.
func recorded() []event.Event {
	npm := npmRequest("p1")
	const diff = `--- a/main.go
+++ b/main.go
@@ -10,7 +10,8 @@ func main() {
 	flag.Parse()
 	log.SetFlags(0)
-	fmt.Println("hello, world")
+	name := cmp.Or(flag.Arg(0), "world")
+	fmt.Printf("hello, %s\n", name)
 	if err := run(); err != nil {
 		log.Fatal(err)
 	}
`
	return []event.Event{
		session(),
		event.TurnStarted{Text: "greet by name, and add left padding"},
		event.RequestStarted{},
		event.ReasoningDelta{Text: "The user wants a greeting by name. I should look at main.go first and see how flags are parsed."},
		event.ReasoningFinished{Text: "The user wants a greeting by name. I should look at main.go first and see how flags are parsed."},
		event.TextDelta{Text: "I'll look at the program first, then change **one line** of `main.go`."},
		event.MessageFinished{Text: "I'll look at the program first, then change **one line** of `main.go`."},
		event.ToolStarted{CallID: "c1", Tool: "read_file", Kind: "read", Title: "read main.go"},
		event.ToolFinished{CallID: "c1", Tool: "read_file", Kind: "read", Title: "read main.go", Outcome: "ok", Message: "31 lines", Output: "package main\n"},
		event.ToolStarted{CallID: "c2", Tool: "read_file", Kind: "read", Title: "read go.mod"},
		event.ToolFinished{CallID: "c2", Tool: "read_file", Kind: "read", Title: "read go.mod", Outcome: "ok", Message: "5 lines", Output: "module app\n"},
		event.PlanUpdated{Steps: []event.PlanStep{{Step: "greet by name", Status: "in_progress"}, {Step: "install leftpad", Status: "pending"}, {Step: "run the tests", Status: "pending"}}},
		event.ToolStarted{CallID: "c3", Tool: "apply_patch", Kind: "edit", Title: "edit main.go"},
		event.ToolFinished{CallID: "c3", Tool: "apply_patch", Kind: "edit", Title: "edit main.go", Outcome: "ok", Message: "1 file changed, +2 -1",
			Changes: []event.FileChange{{Path: "main.go", Kind: "update", Diff: diff, Added: 2, Removed: 1}}},
		event.RequestStarted{},
		event.ToolStarted{CallID: "c4", Tool: "shell", Kind: "command", Title: "$ npm install leftpad", Command: npm.Action.Command, Folder: npm.Action.Folder},
		event.ToolOutput{CallID: "c4", Data: []byte("npm error code EACCES\nnpm error syscall open\nnpm error path /home/ada/.npm/_cacache/tmp/a1b2\nnpm error errno EACCES\nnpm error Your cache folder contains root-owned files\n")},
		event.ToolFinished{CallID: "c4", Tool: "shell", Kind: "command", Title: "$ npm install leftpad", Outcome: "failed", Message: "exit status 243", Exit: 243, Duration: 412 * time.Millisecond,
			Output:  "npm error code EACCES\nnpm error syscall open\nnpm error path /home/ada/.npm/_cacache/tmp/a1b2\nnpm error errno EACCES\nnpm error Your cache folder contains root-owned files\n",
			Verdict: sandbox.Verdict{Denied: true, Confidence: sandbox.Certain, Denials: npm.Denials}},
		event.RequestStarted{},
		event.ToolStarted{CallID: "c-p1", Tool: "shell", Kind: "command", Title: "$ npm install leftpad", Command: npm.Action.Command, Folder: npm.Action.Folder},
		event.PermissionRequested{ID: "p1", CallID: "c-p1", Title: npm.Title, Command: npm.Action.Command, Folder: npm.Action.Folder, Justification: npm.Justification, Denials: npm.Denials, Wanted: npm.Grant},
		event.PermissionAnswered{ID: "p1", CallID: "c-p1", Answer: "once"},
		event.ToolFinished{CallID: "c-p1", Tool: "shell", Kind: "command", Title: "$ npm install leftpad", Outcome: "ok", Message: "exit status 0", Duration: 2300 * time.Millisecond, Output: "added 1 package in 2s\n"},
		event.UsageUpdated{Last: model.Usage{Input: 11800, Output: 480}, Total: model.Usage{Input: 31200, Output: 1400}},
		event.RequestStarted{},
		event.TextDelta{Text: "## Done\n\n- `main.go` greets by name\n- **leftpad** is installed; npm was let into its cache *once*\n\n```sh\ngo run . Ada\n```\n\nNothing else changed."},
		event.MessageFinished{Text: "## Done\n\n- `main.go` greets by name\n- **leftpad** is installed; npm was let into its cache *once*\n\n```sh\ngo run . Ada\n```\n\nNothing else changed."},
		event.TurnFinished{Outcome: "done"},
	}
}

// listToken is one of a thousand tokens of an answer of lists and code that scrolls.
func listToken(i int) string {
	switch at := i % 50; {
	case at == 0:
		return "\n\n- first"
	case at < 20 && at%5 == 0:
		return "\n- **item** "
	case at == 20:
		return "\n\n```go\n"
	case at > 20 && at < 49 && at%7 == 0:
		return "{\n\treturn "
	case at == 49:
		return "\n}\n```\n"
	case at > 20 && at%7 == 1:
		return "\n}\nfunc name() int "
	}
	return "word "
}
