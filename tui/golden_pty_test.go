package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tui/home"
	"codeagent/tui/picker"
	"codeagent/tui/undoing"
)

// everySituation is all of them, by subject. Their last step waits for nothing: what is seen then is
// compared.
func everySituation() []situation {
	var all []situation
	for _, some := range [][]situation{beginnings(), questions(), forms(), modelAsks(), serverCalls(), servers(), calls(), words(), listed(), endings()} {
		all = append(all, some...)
	}
	return all
}

// beginnings are screens without a turn, and those of the message.
func beginnings() []situation {
	plain := session()
	plain.ID, plain.Enforcement.Weaknesses = "s2", nil
	danger := plain
	danger.ID, danger.Policy, danger.Approval = "s3", "danger-full-access", "never"
	danger.Enforcement = sandbox.Enforcement{Backend: "none"}
	tour := plain
	tour.ID, tour.Tour = "s4", true
	long := plain
	long.ID, long.Model = "s5", "a-seller-of-models/with-a-maker/and-a-name-of-many-words-and-more:free"
	long.Folder = "/home/ada/src/a-monorepo/packages/services/billing/internal/ledger"
	files := func(s *stage) {
		s.opt.Writing.Files = func(context.Context) ([]string, bool, error) {
			return []string{"README.md", "src/", "src/parser.go", "src/parser_test.go", "src/a b.go", "go.mod"}, false, nil
		}
	}
	return []situation{
		{name: "empty"},
		{name: "help-key", steps: []do{types("?"), sees("Help")}},
		{name: "home", given: func(s *stage) {
			s.opt.Extras.Thinks = "high"
			s.opt.Opening = home.Facts{Sandbox: "writes here, no network", Servers: []string{"github", "docs"}, Look: func(context.Context) home.Found {
				return home.Found{Last: "Find out why the parser drops the last line of a file without a newline", Age: "2 h ago", Instructions: []string{"~/.config/codeagent/AGENTS.md", "AGENTS.md"}}
			}}
		}, steps: []do{sees("reads")}},
		{name: "home-new", given: func(s *stage) {
			s.opt.Opening = home.Facts{Sandbox: "writes here, no network", Look: func(context.Context) home.Found { return home.Found{} }}
		}, steps: []do{sees("no AGENTS.md")}},
		{name: "start-danger", given: func(s *stage) { s.opt.Approvals = &policies{mode: approvals.Never} }, steps: []do{emits(danger)}},
		{name: "start-tour", steps: []do{emits(tour)}},
		{name: "start-long-names", steps: []do{emits(long)}},
		{name: "typing", steps: []do{types("make the tests pass")}},
		{name: "typing-lines", steps: []do{types("first"), presses("ctrl+j"), types("second"), presses("ctrl+j"), types("third")}},
		{name: "typing-wraps", steps: []do{types(strings.Repeat("a long message ", 12) + "ends.")}},
		{name: "typing-wide", steps: []do{types("漢字を書く" + strings.Repeat("漢字", 20) + " é👩‍👩‍👧")}},
		{name: "typing-vi", given: func(s *stage) { s.opt.Writing.Vim = true }, steps: []do{types("a word"), sees("› a word"), presses("esc"), sees("N a word"), types("b")}},
		{name: "paste-chip", steps: []do{types("see "), pastes(strings.Repeat("line\n", 40))}},
		{name: "paste-controls", steps: []do{pastes("\u202ehidden \x1b[2J and \u200bzero\ttab")}},
		{name: "image-chip", steps: []do{pastes("/tmp/shot.png")}},
		{name: "mention", given: files, steps: []do{types("see @pars")}},
		{name: "mention-none", given: files, steps: []do{types("see @zzz")}},
		{name: "history", steps: []do{says("first message"), ends(word.TurnDone, nil), says("second one"), ends(word.TurnDone, nil), presses("ctrl+r")}},
		{name: "recalled", steps: []do{says("first message"), ends(word.TurnDone, nil), presses("up")}},
		{name: "slash-menu", steps: []do{types("/")}},
		{name: "slash-menu-part", steps: []do{types("/s")}},
		{name: "slash-unknown", steps: []do{types("/nothing"), loses("/help"), presses("enter")}},
		{name: "help", steps: []do{types("/help"), presses("enter")}},
		{name: "help-end", steps: []do{types("/help"), presses("enter"), sees("── Help"), presses("end")}},
		{name: "status", steps: []do{types("/status"), presses("enter")}},
		{name: "quit-again", steps: []do{presses("ctrl+c")}},
		{name: "quit-again-jobs", steps: []do{emits(event.BackgroundChanged{Running: 2}), sees("2 running"), presses("ctrl+c")}},
		{name: "leaving-while-it-works", steps: []do{says("go"), sees("Working"), presses("ctrl+d")}},
	}
}

// started is the beginning of a command.
func started(command string) event.ToolStarted {
	return event.ToolStarted{CallID: "c", Tool: "shell", Kind: word.KindCommand, Title: "$ " + command, Command: command, Folder: "/home/ada/src/app"}
}

// working are the steps up to a command that runs.
func working(command string, rest ...do) []do {
	return append([]do{says("go"), emits(event.RequestStarted{}, started(command))}, rest...)
}

// questions are requests for permissions, one of each kind, in each of their states.
func questions() []situation {
	npm := npmRequest("q")
	of := func(change func(q *approvals.Request)) approvals.Request {
		q := npmRequest("q")
		change(&q)
		return q
	}
	asked := func(q approvals.Request, rest ...do) []do {
		return append(working(q.Action.Command, asks(q), sees("s stop")), rest...)
	}
	armed := func(q approvals.Request, rest ...do) []do {
		return asked(q, append([]do{sees("Ctrl+Y"), presses("ctrl+y"), loses("Ctrl+Y to")}, rest...)...)
	}
	lasting := always(nil)
	manyHosts := of(func(q *approvals.Request) {
		for i := range 14 {
			q.Grant.Hosts = append(q.Grant.Hosts, sandbox.HostPort{Host: fmt.Sprintf("mirror-%d.registry.example", i), Port: 443})
		}
	})
	long := of(func(q *approvals.Request) {
		q.Action.Command = "set -e; " + strings.Repeat("npm run build --workspace packages/one-of-many && ", 30) + "curl https://example.org/last"
	})
	hostile := of(func(q *approvals.Request) {
		q.Title, q.Justification = "npm\x1b[2J\nwants \u202eeverything", strings.Repeat("trust me \x1b]0;x\x07 ", 200)
	})
	warned := of(func(q *approvals.Request) {
		q.Warnings = []string{"~/.npm holds programs that run outside the sandbox later.", "The command may send what it can read to registry.npmjs.org."}
		q.Facts = []string{"3 files in ~/.npm changed in this session."}
		q.Withheld = []string{"always: the command starts a shell"}
	})
	outside := of(func(q *approvals.Request) {
		q.Title, q.Grant, q.GrantOnly, q.Denials, q.Widest = "npm wants to run outside the sandbox", sandbox.Grant{}, false, nil, true
		q.Options = []approvals.Option{{Key: "1", Decision: approvals.Outside, Label: "outside the sandbox, once"}, {Key: "2", Decision: approvals.OutsideSession, Label: "outside, this session"}, {Key: "n", Label: "no, because …"}, {Key: "s", Decision: approvals.Stop, Label: "stop"}}
	})
	inside := of(func(q *approvals.Request) {
		q.Title, q.Grant, q.GrantOnly, q.Denials, q.Justification = "run npm install --no-audit leftpad in the sandbox?", sandbox.Grant{}, false, nil, ""
		q.Options = []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "this once"}, {Key: "2", Decision: approvals.Session, Label: "this session"}, {Key: "n", Label: "no, because …"}, {Key: "s", Decision: approvals.Stop, Label: "stop"}}
	})
	edit := approvals.Request{
		ID: "q", CallID: "c", Title: "edit main.go", Action: approvals.Action{Kind: word.KindEdit, Title: "edit main.go", Folder: "/home/ada/src/app"},
		Options: []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "this edit"}, {Key: "2", Decision: approvals.AllEdits, Label: "all edits in the workspace, this session"}, {Key: "n", Label: "no, because …"}, {Key: "s", Decision: approvals.Stop, Label: "stop"}},
	}
	cleanup := approvals.Request{
		ID: "q", Title: "The tour is over. Remove the files it made?", Warnings: []string{"/home/ada/src/app/codeagent-tour.txt"},
		Options: []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "remove them"}, {Key: "n", Label: "keep them"}},
	}
	other := of(func(q *approvals.Request) { q.ID, q.Title = "r", "another question" })
	held := heldRequest("q", 41)
	heldSteps := func(rest ...do) []do {
		return append([]do{says("go"), emits(started("curl https://example.org"), event.PermissionRequested{ID: "q", CallID: "c", Title: held.Title, Denials: held.Denials, Wanted: held.Grant, Held: true}),
			asks(held), sees("curl wants")}, rest...)
	}
	return []situation{
		{name: "question", steps: asked(npm)},
		{name: "question-port", steps: asked(portRequest("p"))},
		{name: "question-armed", steps: armed(npm)},
		{name: "question-typing", steps: asked(npm, sees("Ctrl+Y"), types("wait"))},
		{name: "question-full", steps: asked(npm, sees("Ctrl+Y"), presses("ctrl+o"))},
		{name: "question-because", steps: armed(npm, types("n"), sees("because:"), types("not now"))},
		{name: "question-note", steps: armed(npm, presses("tab"), sees("note"), types("only this package"))},
		{name: "question-answered", steps: armed(npm, types("n"), sees("because:"), presses("enter"), loses("because:"))},
		{name: "question-two", steps: asked(npm, asks(other))},
		{name: "question-always", steps: asked(lasting)},
		{name: "question-rule", steps: armed(lasting, presses("ctrl+o", "pgdown", "pgdown", "pgdown"), types("3"), sees("Enter saves"))},
		{name: "question-rule-toml", steps: armed(lasting, presses("ctrl+o", "pgdown", "pgdown", "pgdown"), types("3"), sees("Enter saves"), presses("ctrl+o"), sees("[[host]]"))},
		{name: "question-rule-bad", steps: armed(lasting, presses("ctrl+o", "pgdown", "pgdown", "pgdown"), types("3"), sees("Enter saves"), types("bad"), sees("bad value"))},
		{name: "question-many-hosts", steps: asked(manyHosts)},
		{name: "question-long-command", steps: asked(long)},
		{name: "question-hostile", steps: asked(hostile)},
		{name: "question-warned", steps: asked(warned)},
		{name: "question-outside", steps: asked(outside, presses("ctrl+y"))},
		{name: "question-in-sandbox", steps: asked(inside, presses("ctrl+y"))},
		{name: "question-edit", steps: []do{says("go"), asks(edit)}},
		{name: "question-cleanup", steps: []do{asks(cleanup)}},
		{name: "question-behind-page", steps: []do{says("go"), types("/status"), presses("enter"), sees("── Status"), asks(npm)}},
		{name: "held", steps: heldSteps()},
		{name: "held-allowed", steps: heldSteps(presses("ctrl+y", "ctrl+o", "pgdown", "pgdown"), types("1"), loses("curl wants"), emits(event.PermissionAnswered{ID: "q", CallID: "c", Answer: word.AnswerOnce},
			event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.OK, Output: "hello\n", Duration: time.Second}))},
		{name: "mode-wider", given: func(s *stage) { s.opt.Approvals = &policies{mode: approvals.Untrusted} }, steps: []do{sees("· ask"), types("/permissions never"), presses("enter")}},
		{name: "mode-stricter", steps: []do{types("/permissions untrusted"), presses("enter")}},
		{name: "mode-plan", given: func(s *stage) { s.opt.Approvals = &policies{mode: approvals.OnRequest} }, steps: []do{sees("accept edits"), presses("shift+tab"), sees("mode: plan")}},
	}
}

// calls are tool calls: what they show while they run, and how they end.
func calls() []situation {
	denied := sandbox.Verdict{Denied: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull, Denials: npmRequest("q").Denials}
	over := func(e event.ToolFinished) []do {
		e.CallID, e.Tool, e.Kind = "c", "shell", word.KindCommand
		return working("make check", emits(e), ends(word.TurnDone, nil))
	}
	lines := strings.Repeat("a line of output\n", 40)
	diff := func(name, text string, c event.FileChange) []do {
		c.Path, c.Diff = name, text
		return []do{says("go"), emits(event.ToolStarted{CallID: "e", Kind: word.KindEdit, Title: "edit " + name}, event.ToolFinished{CallID: "e", Kind: word.KindEdit, Title: "edit " + name, Outcome: word.OK, Changes: []event.FileChange{c}}), ends(word.TurnDone, nil)}
	}
	var added strings.Builder
	for i := range 60 {
		fmt.Fprintf(&added, "+line %d of a new file\n", i)
	}
	changed := event.ToolFinished{Outcome: word.OK, Duration: time.Second, Changed: sandbox.Changes{List: []sandbox.Change{
		{Path: "/home/ada/src/app/a.go", Kind: sandbox.Updated}, {Path: "/home/ada/src/app/b.go", Kind: sandbox.Deleted}, {Path: "/home/ada/src/app/dir/", Kind: sandbox.Added}, {Path: "/srv/more/x", Kind: sandbox.Updated}}}}
	edit := event.ToolFinished{CallID: "e", Kind: word.KindEdit, Title: "edit a.go", Outcome: word.OK, Changes: []event.FileChange{{Path: "a.go", Kind: sandbox.Updated, Diff: "@@ -1,1 +1,1 @@\n-return a\n+return b\n", Added: 1, Removed: 1}},
		Diagnostics: []event.Diagnostics{{Title: "5 new errors (gopls)", Lines: []string{"a.go:1:8: error: undefined: b, whose message is so long that it does not fit into one line of any of these screens, not even the widest of them [compiler UndeclaredName]", "a.go:2:1: error: two", "a.go:3:1: error: three", "a.go:4:1: error: four", "a.go:5:1: error: five"}}}}
	wrong := []do{says("go"), emits(event.ToolStarted{CallID: "e", Kind: word.KindEdit, Title: "edit a.go"}, edit), ends(word.TurnDone, nil)}
	return []situation{
		{name: "command-runs", steps: working("make check", emits(event.ToolOutput{CallID: "c", Data: []byte(lines + "the last line\n")}))},
		{name: "command-ok", steps: over(event.ToolFinished{Outcome: word.OK, Output: "ok\n", Duration: 1500 * time.Millisecond})},
		{name: "command-silent", steps: over(event.ToolFinished{Outcome: word.OK, Duration: 2 * time.Second})},
		{name: "command-failed", steps: over(event.ToolFinished{Outcome: word.Failed, Exit: 2, Output: lines + "make: *** [check] Error 1\n", Duration: 61 * time.Second})},
		{name: "command-denied", steps: over(event.ToolFinished{Outcome: word.Failed, Exit: 243, Output: "npm error code EACCES\n", Verdict: denied})},
		{name: "command-denied-open", steps: append(over(event.ToolFinished{Outcome: word.Failed, Exit: 243, Output: "npm error code EACCES\n", Verdict: denied}), presses("ctrl+o"))},
		{name: "command-killed", steps: over(event.ToolFinished{Outcome: word.Failed, Signal: "SIGSEGV", Output: "Segmentation fault\n"})},
		{name: "command-timeout", steps: over(event.ToolFinished{Outcome: word.TimedOut, Limit: sandbox.LimitWall, Output: lines, Duration: 2 * time.Minute, Message: "stopped after 2m 0s"})},
		{name: "command-memory", steps: over(event.ToolFinished{Outcome: word.Failed, Signal: "SIGKILL", Limit: sandbox.LimitMemory})},
		{name: "command-not-started", steps: over(event.ToolFinished{Outcome: word.NotStarted, Message: "the sandbox could not be set up: no user namespace"})},
		{name: "command-refused", steps: over(event.ToolFinished{Outcome: word.Refused, Message: "the user said no: not now"})},
		{name: "command-changed-files", steps: over(changed)},
		{name: "command-spilled", steps: over(event.ToolFinished{Outcome: word.OK, Output: lines, Spill: "/home/ada/.local/state/codeagent/output/s1/c.txt"})},
		{name: "command-hostile", steps: over(event.ToolFinished{Outcome: word.OK, Output: "\x1b[2J\x1b[Hgone \u202eback\x1b]0;title\x07 \x9b31m\xff\xfe\r\rover\n" + strings.Repeat("漢", 200) + "\n"})},
		{name: "command-interrupted", steps: working("sleep 1000", sees("sleep"), presses("esc"), sees("Interrupted."), loses("Working"))},
		{name: "command-background", steps: over(event.ToolFinished{Outcome: word.OK, Job: 1, Running: true, Message: "running in the background (job 1)"})},
		{name: "job-ended", steps: []do{emits(event.BackgroundEnded{Job: 1, Command: "npm run dev", Message: "job 1 ended", Exit: 1, Duration: time.Minute, Output: "address in use\n"})}},
		{name: "looks", steps: []do{emits(looks()...)}},
		{name: "looks-top", steps: []do{emits(looks()...), sees("released"), presses("ctrl+home")}},
		{name: "session", steps: []do{emits(recorded()[1:]...)}},
		{name: "diff-new", steps: diff("new.txt", "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,60 @@\n"+added.String(), event.FileChange{Kind: sandbox.Added, Added: 60})},
		{name: "diff-deleted", steps: diff("old.txt", "--- a/old.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n", event.FileChange{Kind: sandbox.Deleted, Removed: 2})},
		{name: "diff-diagnostics", steps: wrong},
		{name: "diff-diagnostics-open", steps: append(wrong[:len(wrong):len(wrong)], presses("ctrl+o"))},
		{name: "diff-moved", steps: diff("to.go", "", event.FileChange{Kind: sandbox.Moved, From: "from.go"})},
		{name: "diff-wide", steps: diff("wide.txt", "@@ -1,1 +1,1 @@\n-"+strings.Repeat("old 漢字 ", 30)+"\n+"+strings.Repeat("new 漢字 ", 30)+"\n", event.FileChange{Kind: sandbox.Updated, Added: 1, Removed: 1})},
		{name: "plan-resumed", steps: []do{emits(event.TurnStarted{Text: "mend the parser"}, event.PlanUpdated{Steps: []event.PlanStep{{Step: "read the parser", Status: word.StepCompleted}, {Step: "mend it", Status: word.StepInProgress}, {Step: "run the tests"}}}, event.MessageFinished{Text: "I have read it."}, event.Notice{Level: word.LevelInfo, Text: "resumed session “mend the parser”"}), sees("plan 2 of 3")}},
		{name: "port", steps: []do{emits(event.BackgroundChanged{Running: 1, Ports: []string{"http://127.73.21.4:5173"}}), sees(":5173")}},
		{name: "plan", steps: []do{emits(event.PlanUpdated{Explanation: "The tests come last.", Steps: []event.PlanStep{{Step: "read the parser and everything that calls it, to see which branch loses a token", Status: word.StepCompleted}, {Step: "mend it", Status: word.StepInProgress}, {Step: "run the tests", Status: word.StepPending}}})}},
	}
}

// words are answers, thoughts and notices.
func words() []situation {
	table := "| file | what was changed | lines |\n|---|---|--:|\n| `a.go` | the sign of the second summand, which made every sum a difference | 1 |\n| `b.go` | nothing | 0 |\n"
	return []situation{
		{name: "working", steps: []do{says("go"), sees("Working")}},
		{name: "thinking", steps: []do{says("go"), emits(event.RequestStarted{}, event.ReasoningDelta{Text: "The user wants a greeting. **First** I look at `main.go`."})}},
		{name: "streaming", steps: []do{says("go"), emits(event.RequestStarted{}, event.TextDelta{Text: "# A head\n\nSome *text* and a list:\n\n- one\n- two with `code` and\n\n```go\nfunc f() {"})}},
		{name: "table", steps: []do{emits(event.MessageFinished{Text: table})}},
		{name: "nested-lists", steps: []do{emits(event.MessageFinished{Text: "1. one\n   - [x] done\n   - [ ] open, with words enough to wrap on a narrow screen for sure\n2. two\n   1. deep\n      > quoted\n"})}},
		{name: "code-wide", steps: []do{emits(event.MessageFinished{Text: "```sh\ncurl -fsSL https://example.org/a/very/long/path/to/a/file.tar.gz | tar xz --strip-components=1 -C /opt/tool\n```\n"})}},
		{name: "notices", steps: []do{emits(event.Notice{Level: word.LevelInfo, Text: "now using openai/gpt-5"}, event.Notice{Level: word.LevelWarning, Text: "AGENTS.md is larger than 32 KiB; its end was not read"}, event.Notice{Level: word.LevelError, Text: "/home/ada/.config/codeagent/config.toml:3:1: unknown setting \"modle\" (did you mean \"model\"?)"})}},
		{name: "notice-in-answer", steps: []do{says("explain it"), emits(event.TextDelta{Text: "The parser reads "}, event.Notice{Level: word.LevelWarning, Text: "the sandbox has less memory now"}, event.TextDelta{Text: "one line at a time."}, event.MessageFinished{Text: "The parser reads one line at a time."}), ends(word.TurnDone, nil)}},
		{name: "steered", steps: []do{says("go"), sees("Working"), types("left a bit"), sees("a bit"), presses("enter"), loses("› left")}},
		{name: "queued", steps: []do{says("go"), sees("Working"), types("then this"), sees("then this"), presses("tab"), loses("› then")}},
		{name: "retrying", steps: []do{says("go"), emits(event.RequestStarted{}, event.Retrying{Message: "too many requests", Delay: 75 * time.Second, Attempt: 2, Most: 5})}},
		{name: "compacting", steps: []do{says("go"), emits(event.Compacting{Reason: word.CompactNear}, event.TextDelta{Text: "The user asked"})}},
		{name: "compacted", steps: []do{emits(event.Compacting{Reason: word.CompactAsked}, event.Compacted{Reason: word.CompactAsked, Before: 98_000, After: 4_200, Summary: "The user asked for a greeting by name."})}},
		{name: "compaction-failed", steps: []do{emits(event.Compacting{Reason: word.CompactFull}, event.Compacted{Reason: word.CompactFull, Before: 98_000, Err: "the provider rejected the API key (401)"})}},
		{name: "earlier-answer", steps: []do{says("what is it?"), emits(event.MessageFinished{Text: "It is a parser."}, event.EarlierAnswer{At: time.Date(2026, 1, 2, 14, 2, 0, 0, time.Local), Score: 0.979, Files: 6}), ends(word.TurnDone, nil)}},
		{name: "context-crowded", steps: []do{emits(event.UsageUpdated{Last: model.Usage{Input: 100_000}, Total: model.Usage{Input: 900_000, Output: 20_000}, Context: 100_000, Limit: 128_000})}},
	}
}

// listed are the lists to choose from, and the pages.
func listed() []situation {
	open := func(command, shown string, rest ...do) []do {
		return append([]do{types(command), sees(command), presses("enter"), sees(shown)}, rest...)
	}
	permits := func(s *stage) {
		s.opt.Permissions = &fakePermissions{list: []picker.Row{
			{Id: "s1", Text: "write /srv/data", About: "setting · this session", More: "s1  used 2 times"},
			{Id: "g1", Text: "network docs.example:443", About: "you answered · this session", More: "g1  used 2 times  13 connections, last 15:04, sent 8.1 KiB, received 4.6 MiB, bytes of 1 unknown  since 14:58  npm install"},
			{Id: "r1", Text: "allow npm test\x1b[2J", About: "rule · everywhere"},
		}}
	}
	past := func(s *stage) {
		s.opt.Rewind = &pastMessages{said: []string{"first question", "second question"}, look: rewindLook()}
	}
	talk := emits(event.TurnStarted{Text: "first question"}, event.MessageFinished{Text: "first answer"}, event.TurnFinished{Outcome: word.TurnDone},
		event.TurnStarted{Text: "second question"}, event.MessageFinished{Text: "second answer"}, event.TurnFinished{Outcome: word.TurnDone})
	tries := func(s *stage) {
		s.opt.Writing.Run, s.opt.Writing.Drafts = func(context.Context, string) error { return nil }, &fakeDrafts{}
	}
	onDraft := func(s *stage) {
		f := &fakeDrafts{}
		f.last, _ = f.Try(context.Background(), "this session")
		f.last.Session = true
		tries(s)
		s.opt.Writing.Drafts, s.opt.Extras.OnDraft = f, true
	}
	many := func(s *stage) {
		s.offers.models = nil
		for i := range 60 {
			s.offers.models = append(s.offers.models, picker.Row{Id: fmt.Sprint(i), Text: fmt.Sprintf("seller/model-%02d", i), About: "128k"})
		}
	}
	return []situation{
		{name: "models", steps: open("/model", "gpt-5")},
		{name: "models-none", given: func(s *stage) { s.offers.models = nil }, steps: open("/model", "── ")},
		{name: "models-many", given: many, steps: open("/model", "model-00", presses("end"))},
		{name: "models-filtered", steps: open("/model", "gpt-5", types("qwen"), loses("gpt-5"))},
		{name: "sessions", steps: open("/sessions", "release", presses("down"))},
		{name: "sessions-all", steps: open("/sessions", "release", presses("tab"))},
		{name: "sessions-delete", steps: open("/sessions", "release", presses("down"), sees("Ctrl+X"), presses("ctrl+x"))},
		{name: "sessions-rename", steps: open("/sessions", "release", presses("ctrl+r"))},
		{name: "undo", steps: open("/undo", "── Undo")},
		{name: "undo-done", steps: open("/undo", "── Undo", presses("enter"), sees("undone"))},
		{name: "undo-none", given: func(s *stage) { s.offers.preview = undoing.Preview{} }, steps: open("/undo", "nothing to undo")},
		{name: "undo-fails", given: func(s *stage) { s.offers.err = errors.New("the log of undo cannot be read") }, steps: open("/undo", "cannot be")},
		{name: "tried", given: tries, steps: open("!!make generate", "── Draft")},
		{name: "draft", given: onDraft, steps: open("/draft", "── Draft")},
		{name: "draft-what", given: onDraft, steps: open("/draft", "── Draft", presses("enter"))},
		{name: "tried-what", given: tries, steps: open("!!make generate", "── Draft", presses("enter"))},
		{name: "tried-some", given: tries, steps: open("!!make generate", "── Draft", presses("enter"), sees("Drop"), types("2"), sees("chosen"), presses("down", "down", "down", "down", "enter"), sees("[x]"))},
		{name: "tried-kept", given: tries, steps: open("!!make generate", "── Draft", presses("enter"), sees("Drop"), types("1"), sees("kept 1"))},
		{name: "jobs", steps: open("/ps", "npm run dev")},
		{name: "jobs-none", given: func(s *stage) { s.offers.commands = nil }, steps: open("/ps", "no command")},
		{name: "job-output", steps: open("/ps", "npm run dev", presses("enter"), sees("the end of b2"))},
		{name: "job-kill", steps: open("/ps", "npm run dev", presses("ctrl+x"))},
		{name: "permissions", given: permits, steps: open("/permissions", "docs")},
		{name: "permissions-used", given: permits, steps: open("/permissions", "docs", presses("down"))},
		{name: "permissions-none", steps: open("/permissions", "── ")},
		{name: "permissions-asked", steps: []do{emits(recorded()[1:]...), sees("changed."), types("/permissions"), sees("› /perm"), presses("enter")}},
		{name: "themes", steps: open("/theme", "── ")},
		{name: "going-back", given: past, steps: []do{talk, sees("second answer"), presses("esc", "esc"), sees("Enter"), presses("up")}},
		{name: "going-back-what", given: past, steps: []do{talk, sees("second answer"), presses("esc", "esc"), sees("Enter"), presses("up", "enter"), sees("Both")}},
		{name: "going-back-files", given: past, steps: []do{talk, sees("second answer"), presses("esc", "esc"), sees("Enter"), presses("up", "enter"), sees("Both"), presses("down", "enter"), sees("goes back")}},
		{name: "block-chosen", steps: []do{talk, sees("second answer"), presses("ctrl+up")}},
		{name: "scrolled-up", steps: []do{emits(recorded()[1:]...), sees("changed."), presses("pgup")}},
		{name: "transcript", steps: []do{emits(recorded()[1:]...), sees("changed."), presses("ctrl+t")}},
		{name: "find", steps: []do{emits(recorded()[1:]...), sees("changed."), presses("ctrl+f"), sees("find"), types("leftpad")}},
		{name: "find-none", steps: []do{emits(recorded()[1:]...), sees("changed."), presses("ctrl+f"), sees("find"), types("absent"), sees("absent"), presses("enter")}},
	}
}

// endings are the ends of turns.
func endings() []situation {
	failed := func(text string) []do { return []do{says("go"), ends(word.TurnFailed, errors.New(text))} }
	return []situation{
		{name: "failed-key", steps: failed("the provider rejected the API key (401)")},
		{name: "failed-long", steps: failed("the provider cannot be reached: dial tcp 192.0.2.1:443: connect: connection refused\nset OPENAI_BASE_URL, or see: codeagent help config")},
		{name: "failed-hostile", steps: failed("400: \x1b[2J\u202e" + strings.Repeat("no ", 200))},
		{name: "interrupted", steps: []do{says("go"), sees("Working"), presses("esc"), sees("Interrupted."), loses("Working")}},
		{name: "stopped", steps: []do{says("go"), ends(word.TurnStopped, nil)}},
		{name: "took", steps: []do{says("go"), emits(event.MessageFinished{Text: "done"}), lasts(75 * time.Second), ends(word.TurnDone, nil), sees("Took")}},
	}
}
