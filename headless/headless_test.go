package headless

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/sandbox"

	"github.com/google/jsonschema-go/jsonschema"
)

// aRun is one whole run: a denied command, the refused question, an edit, a plan.
func aRun() []event.Event {
	wanted := sandbox.Grant{Write: []string{"/etc/hosts"}}
	denied := sandbox.Verdict{Denied: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull, Suggest: wanted,
		Connections: sandbox.Connections{List: []sandbox.Connection{
			{Host: "a.example", Address: netip.MustParseAddr("1.2.3.4"), Port: 443, Protocol: "tcp", Executable: "/tmp/c\x1b[2Jurl", Program: "c\x1b[2Jurl", Verdict: sandbox.ConnectionAllowed,
				Traffic: sandbox.Traffic{Count: 3, Bytes: &sandbox.Bytes{Sent: 10, Received: 20}, Unmeasured: 1, Last: time.Unix(0, 0).UTC()}},
			{Host: "evil.example", Program: "curl", Verdict: sandbox.ConnectionDenied, Traffic: sandbox.Traffic{Count: 1}},
		}, More: 5},
		Denials: []sandbox.Denial{
			{Kind: sandbox.KindWrite, Operation: "openat", Target: "/etc/hosts", Requested: "../etc/hosts", Program: "touch", PID: 7,
				Chain: []sandbox.Ancestor{{Program: "make\u202e", PID: 6}, {Program: "bash", PID: 5}}, Order: 2, Errno: "EACCES", Evidence: sandbox.EvidenceKernel, Count: 2},
			{Kind: sandbox.KindMetadata, Operation: "chmod", Target: "/etc/passwd", Program: "touch", PID: 7, Order: 1, Errno: "EPERM", Evidence: sandbox.EvidenceKernel,
				Moot: true, MootReason: "the user's own permissions refuse it too", Count: 1},
		}}
	guessed := sandbox.Verdict{Denied: true, Confidence: sandbox.Likely, Evidence: sandbox.EvidenceOutputOnly,
		Denials: []sandbox.Denial{{Kind: sandbox.KindRead, Operation: "open", Target: "/w/\x1b[2J.env", Program: "cat", Evidence: sandbox.EvidenceOutput, Count: 1}}}
	changed := sandbox.Changes{List: []sandbox.Change{{Path: "/w/a\x1b[2J", Kind: sandbox.Updated}, {Path: "/w/d/", Kind: sandbox.Added}}, More: 3, Partial: true}
	return []event.Event{
		event.SessionStarted{ID: "s1", Model: "m", Folder: "/w", Policy: "workspace-write", Approval: "on-request",
			Enforcement: sandbox.Enforcement{Backend: "linux", LandlockABI: 7, Layers: []sandbox.Layer{{Name: "landlock", State: sandbox.LayerActive, Reason: "ABI 7"}},
				Weaknesses: []sandbox.Weakness{{ID: "metadata", What: "chmod works outside", Why: "no broker"}}}},
		event.TurnStarted{Text: "do it"},
		event.RequestStarted{},
		event.ReasoningDelta{Text: "hm"}, event.ReasoningFinished{Text: "hm"},
		event.TextDelta{Text: "Trying."}, event.MessageFinished{Text: "Trying."},
		event.ToolStarted{CallID: "c1", Tool: "shell", Kind: "command", Title: "$ touch /etc/hosts", Command: "touch /etc/hosts", Folder: "/w"},
		event.ToolOutput{CallID: "c1", Data: []byte("touch: \x1b[31mno\n")},
		event.ToolFinished{CallID: "c1", Tool: "shell", Kind: "command", Title: "$ touch /etc/hosts", Outcome: "failed", Exit: 1,
			Output: "touch: \x1b[31mno\n", Duration: 1500 * time.Microsecond, Verdict: denied},
		event.ToolStarted{CallID: "c2", Tool: "shell", Kind: "command", Title: "$ touch /etc/hosts", Command: "touch /etc/hosts", Folder: "/w"},
		event.PermissionRequested{ID: "p1", CallID: "c2", Title: "touch wants to write outside", Command: "touch /etc/hosts", Justification: "need\u202eit", Wanted: wanted, Warnings: []string{"a link leads there"}},
		event.PermissionAnswered{ID: "p1", CallID: "c2", Answer: "refused", Reason: "nobody is there", Hint: "--add-dir /etc/hosts"},
		event.ToolFinished{CallID: "c2", Tool: "shell", Kind: "command", Title: "$ touch /etc/hosts", Outcome: "refused", Message: "nobody is there"},
		event.ToolStarted{CallID: "c5", Tool: "shell", Kind: "command", Title: "$ cat .env", Command: "cat .env", Folder: "/w"},
		event.ToolFinished{CallID: "c5", Tool: "shell", Kind: "command", Title: "$ cat .env", Outcome: "failed", Exit: 1, Verdict: guessed},
		event.ToolStarted{CallID: "c9", Tool: "shell", Kind: "command", Title: "$ nosuch", Command: "nosuch", Folder: "/w"},
		event.ToolFinished{CallID: "c9", Tool: "shell", Kind: "command", Title: "$ nosuch", Outcome: "not_started", Message: "could not be started: command not found: nosuch"},
		event.ToolStarted{CallID: "c3", Tool: "apply_patch", Kind: "edit", Title: "edit a.txt"},
		event.ToolFinished{CallID: "c3", Tool: "apply_patch", Kind: "edit", Title: "edit a.txt", Outcome: "ok", Duration: time.Millisecond,
			Changes: []event.FileChange{{Path: "/w/a.txt", Kind: "add", Diff: "+x", Added: 1}}},
		event.ToolStarted{CallID: "c4", Tool: "update_plan", Kind: "plan", Title: "plan"},
		event.PlanUpdated{Steps: []event.PlanStep{{Step: "one", Status: "completed"}, {Step: "two", Status: "pending"}}},
		event.ToolFinished{CallID: "c4", Tool: "update_plan", Kind: "plan", Outcome: "ok"},
		event.Retrying{Message: "HTTP 429", Delay: 703610873 * time.Nanosecond, Attempt: 2, Most: 5},
		event.ToolStarted{CallID: "c6", Tool: "shell", Kind: "command", Title: "$ serve", Command: "serve", Folder: "/w"},
		event.ToolFinished{CallID: "c6", Tool: "shell", Kind: "command", Title: "$ serve", Outcome: "ok", Output: "ready\n", Job: 1, Running: true,
			Message: "running in the background (job 1)", Changed: changed},
		event.ToolStarted{CallID: "c7", Tool: "write_stdin", Kind: "input", Title: "type \"go\\n\" to job 1: $ serve"},
		event.ToolFinished{CallID: "c7", Tool: "write_stdin", Kind: "input", Title: "type \"go\\n\" to job 1: $ serve", Outcome: "ok", Output: "no\n", Job: 1, Running: true,
			Message: "job 1 is running, for 0.8 s",
			Verdict: sandbox.Verdict{Confidence: sandbox.NoConfidence, Evidence: sandbox.EvidencePartial, Denials: denied.Denials[:1]}},
		event.ToolStarted{CallID: "c8", Tool: "write_stdin", Kind: "read", Title: "wait for job 1: $ serve"},
		event.ToolFinished{CallID: "c8", Tool: "write_stdin", Kind: "read", Title: "wait for job 1: $ serve", Outcome: "ok", Output: "bye\n", Job: 1, Exit: 3,
			Message: "job 1 ended: exit status 3", Verdict: denied},
		event.BackgroundEnded{Job: 2, Command: "watch", Folder: "/w", Message: "background job 2 (watch) ended: exit status 3", Exit: 3, Output: "gone\x1b[2J\n",
			Duration: 2 * time.Second, Verdict: denied, Changed: changed},
		event.ToolStarted{CallID: "m1", Tool: "files__read", Kind: "server", Title: "files: read", Server: &event.ServerCall{Server: "files", Tool: "read", Arguments: `{"path":"/etc/x\u202e","n":12345678901234567}`}},
		event.ToolOutput{CallID: "m1", Data: []byte("1 of 2: opening\x1b[2J\n")},
		event.ToolFinished{CallID: "m1", Tool: "files__read", Kind: "server", Title: "files: read", Outcome: "failed", Output: "The tool failed: no\x1b[31m", Message: "The tool failed: no\x1b[31m", Duration: 2 * time.Millisecond, Verdict: denied},
		event.ToolStarted{CallID: "m2", Tool: "files__list", Kind: "server", Title: "files: list", Server: &event.ServerCall{Server: "files", Tool: "list", Arguments: "{}"}},
		event.ToolFinished{CallID: "m2", Tool: "files__list", Kind: "server", Title: "files: list", Outcome: "ok", Output: "[image 1]\nstructured content: {\"n\":1}", Structured: `{"n":1}`, Message: "1 image", Duration: 2 * time.Millisecond},
		event.ToolStarted{CallID: "m3", Tool: "files__write", Kind: "server", Title: "files: write", Server: &event.ServerCall{Server: "files", Tool: "write", Arguments: `{"path":"a"}`}},
		event.ToolFinished{CallID: "m3", Tool: "files__write", Kind: "server", Title: "files: write", Outcome: "refused", Message: "nobody is there"},
		event.Compacting{Reason: word.CompactNear},
		event.Compacted{Reason: word.CompactNear, Before: 8000, After: 1500, Summary: "what was\u202e done"},
		event.Compacting{Reason: word.CompactFull},
		event.Compacted{Reason: word.CompactFull, Before: 9000, After: 9000, Err: "no answer"},
		event.Notice{Level: word.LevelWarning, Text: "careful"},
		event.MessageFinished{Text: "Done, but not hosts."},
		event.UsageUpdated{},
		event.BackgroundEnded{Job: 3, Command: "npm run dev", Folder: "/w", Message: "ended with codeagent: background command 3 in /w: npm run dev", Killed: true,
			Exit: -1, Signal: "SIGKILL", Output: "ready\n", Verdict: sandbox.Verdict{Confidence: sandbox.NoConfidence, Evidence: sandbox.EvidenceFull}},
		event.TurnFinished{Outcome: "done", Answer: "Done, but not hosts.", Refused: []event.Refusal{{Title: "touch /etc/hosts", Grant: wanted, Hint: "--add-dir /etc/hosts"}}},
	}
}

func play(o Options, events []event.Event) (stdout, stderr string) {
	var out, errs bytes.Buffer
	o.Out, o.Err = &out, &errs
	p := New(o)
	for _, e := range events {
		p.Emit(e)
	}
	return out.String(), errs.String()
}

func TestPlainRunPutsOnlyTheAnswerOnStdout(t *testing.T) {
	stdout, stderr := play(Options{}, aRun())
	if stdout != "Done, but not hosts.\n" {
		t.Errorf("stdout = %q", stdout)
	}
	golden.Check(t, "run.stderr", stderr)
	if strings.ContainsAny(stderr, "\x1b\u202e") {
		t.Error("a control sequence or a bidirectional mark of a command or the model reached the terminal")
	}
}

// TestATerminalObeysNoAnswer: a terminal gets the model's answer with control characters made
// visible; a pipe gets every byte.
func TestATerminalObeysNoAnswer(t *testing.T) {
	const hostile = "a\x1b]52;c;ZXZpbA==\x07b\x1b[2J\u009b31mc\u202ed\x7f\U000e0041\rx\n\tmore é 🙂\n"
	events := []event.Event{event.MessageFinished{Text: hostile}, event.TurnFinished{Outcome: "done", Answer: hostile}}
	if piped, _ := play(Options{}, events); piped != hostile {
		t.Errorf("a pipe gets %q, want %q", piped, hostile)
	}
	want := "a␛]52;c;ZXZpbA==␇b␛[2J<U+009B>31mc<U+202E>d␡<U+E0041>␍x\n\tmore é 🙂\n"
	if shown, _ := play(Options{Terminal: true}, events); shown != want {
		t.Errorf("a terminal gets %q, want %q", shown, want)
	}
}

// TestLinesHideNothing: the JSON lines are the same everywhere, since they also reach terminals
// through tee, less and the log of a CI system.
func TestLinesHideNothing(t *testing.T) {
	const hostile = "a\x1b]52;c;ZXZpbA==\x07\u009b31mc\u202ed\x7f\u2028\u200b\U000e0041 é 🙂"
	stdout, _ := play(Options{JSON: true}, []event.Event{event.MessageFinished{Text: hostile}})
	if strings.ContainsAny(stdout, "\x1b\x07\x7f\u009b\u202e\u2028\u200b\U000e0041") {
		t.Errorf("a reader gets the lines %q", stdout)
	}
	var got struct{ Item struct{ Text string } }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Item.Text != hostile {
		t.Errorf("decoded %q, %v; want %q", got.Item.Text, err, hostile)
	}
}

func TestLinesAreGoldenAndFitTheSchema(t *testing.T) {
	stdout, _ := play(Options{JSON: true}, aRun())
	golden.Check(t, "run.jsonl", stdout)
	for _, ln := range strings.Split(strings.TrimSpace(stdout), "\n") {
		validate(t, ln)
	}
}

// TestNothingToListIsAnEmptyList, never null: a machine without weaknesses.
func TestNothingToListIsAnEmptyList(t *testing.T) {
	stdout, _ := play(Options{JSON: true}, []event.Event{event.SessionStarted{}})
	validate(t, strings.TrimSpace(stdout))
}

// TestPlainJSONHasNothingOfOurs: --experimental-json is what other readers know.
func TestPlainJSONHasNothingOfOurs(t *testing.T) {
	stdout, _ := play(Options{JSON: true, Plain: true}, aRun())
	golden.Check(t, "run.plain.jsonl", stdout)
	for _, ours := range []string{"permission_request", "sandbox", "refused", "duration_ms", "compaction", `"session":`, `"running":`, "declined", "notice"} {
		if strings.Contains(stdout, ours) {
			t.Errorf("plain lines contain %q", ours)
		}
	}
}

// TestEveryEventIsHandled feeds each event's zero value to each form: no panic,
// and what becomes a line fits the schema.
func TestEveryEventIsHandled(t *testing.T) {
	for _, e := range event.All() {
		play(Options{}, []event.Event{e})
		started := []event.Event{
			event.ToolStarted{Kind: "command"}, event.PermissionRequested{}, e,
		}
		stdout, _ := play(Options{JSON: true}, started)
		for i, ln := range strings.Split(strings.TrimSpace(stdout), "\n") {
			if i >= 2 {
				var got map[string]any
				if err := json.Unmarshal([]byte(ln), &got); err != nil || got["type"] == "" {
					t.Errorf("%T: line %q: %v", e, ln, err)
				}
			}
		}
	}
}

// TestCallsSideBySideAreToldApart: a line about a call that was not the last one named names
// it.
func TestCallsSideBySideAreToldApart(t *testing.T) {
	start := func(id, title string) event.Event {
		return event.ToolStarted{CallID: id, Kind: "command", Title: title}
	}
	end := func(id, title string, outcome word.Outcome) event.Event {
		return event.ToolFinished{CallID: id, Kind: "command", Title: title, Outcome: outcome, Exit: 1, Output: "of " + id + "\n"}
	}
	_, stderr := play(Options{}, []event.Event{
		start("a", "$ one"), start("b", "$ two"), end("b", "$ two", "ok"), end("a", "$ one", "failed"), start("c", "$ three"), end("c", "$ three", "ok"),
	})
	want := "$ one\n$ two\n  done in 0s\n$ one:\n  failed: exit 1\n  | of a\n$ three\n  done in 0s\n"
	if stderr != want {
		t.Errorf("got\n%swant\n%s", stderr, want)
	}
}

func TestFailedTurnTellsWhy(t *testing.T) {
	events := []event.Event{event.TurnFinished{Outcome: "failed", Err: errors.New("no route")}}
	stdout, _ := play(Options{JSON: true}, events)
	validate(t, strings.TrimSpace(stdout))
	if !strings.Contains(stdout, `"type":"turn.failed"`) || !strings.Contains(stdout, "no route") {
		t.Errorf("got %s", stdout)
	}
	stdout, stderr := play(Options{}, events)
	if stdout != "" || stderr != "" { // the program reports it as its last line
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
}

func TestNobodyIsThereToAsk(t *testing.T) {
	p := New(Options{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	got, err := p.Ask(t.Context(), approvals.Request{})
	if err != nil || got.Decision != approvals.Unattended {
		t.Errorf("Ask = %+v, %v", got, err)
	}
}

type goneWriter struct{ n int }

func (w *goneWriter) Write(p []byte) (int, error) { w.n++; return 0, errors.New("broken pipe") }

// TestReaderWentAway: after the first failure nothing more is written, and the
// error is kept for the exit status.
func TestReaderWentAway(t *testing.T) {
	w := &goneWriter{}
	p := New(Options{Out: w, Err: &bytes.Buffer{}, JSON: true})
	for _, e := range aRun() {
		p.Emit(e)
	}
	if w.n != 1 || p.Err() == nil {
		t.Errorf("%d writes, err %v", w.n, p.Err())
	}
}

func validate(t *testing.T, ln string) {
	t.Helper()
	data, err := os.ReadFile("schema/lines.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal([]byte(ln), &v); err != nil {
		t.Fatalf("%q: %v", ln, err)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("%s\n%v", ln, err)
	}
}

// TestAReasonPassesForNothingElse: it comes after the facts, in at most three lines that the
// terminal does not wrap, each with its mark.
func TestAReasonPassesForNothingElse(t *testing.T) {
	reason := "please\n  opens: nothing" + strings.Repeat(" 漢字", 30) + strings.Repeat(" ", 200) + "opens: write /FAKE" + strings.Repeat(" because", 200)
	_, stderr := play(Options{}, []event.Event{event.PermissionRequested{ID: "p", Title: "sh wants to write /etc/hosts", Justification: reason,
		Wanted: sandbox.Grant{Write: []string{"/etc/hosts"}}, Warnings: []string{"mind this"}}})
	before, after, _ := strings.Cut(stderr, "model's words:\n")
	if !strings.Contains(before, "opens: write /etc/hosts") || !strings.Contains(before, "warning: mind this") {
		t.Errorf("the facts are not first:\n%s", stderr)
	}
	rows := strings.Split(strings.TrimSuffix(after, "\n"), "\n")
	for _, l := range rows {
		if !strings.HasPrefix(l, "  > ") || len([]rune(l)) > 78 {
			t.Errorf("row %q", l)
		}
	}
	if len(rows) > 3 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestSparedDenialsAreOneLine: the denials that a passed command did without are one line on
// stderr.
func TestSparedDenialsAreOneLine(t *testing.T) {
	f := event.ToolFinished{CallID: "1", Kind: word.KindCommand.Shown(), Title: "$ go vet", Outcome: word.OK, Verdict: sandbox.Verdict{Denials: []sandbox.Denial{
		{Kind: sandbox.KindWrite, Target: "/home/u/.a", Count: 2, Order: 1}, {Kind: sandbox.KindWrite, Target: "/out/q", Order: 2}, {Kind: sandbox.KindWrite, Target: "/out/lost", Named: true, Order: 3},
	}}}
	for outcome, want := range map[word.Outcome]string{
		word.OK:     "  ⊘ write /out/lost\n  ⊘ did without: /home/u/.a, /out/q (3 refused calls)\n",
		word.Failed: "  ⊘ write /home/u/.a, 2 times\n  ⊘ write /out/q\n  ⊘ write /out/lost\n",
	} {
		var b strings.Builder
		f.Outcome = outcome
		(&progress{w: &b}).tool(f)
		if !strings.HasSuffix(b.String(), want) {
			t.Errorf("%s: %q, want %q", outcome, b.String(), want)
		}
	}
}

// TestDetail: quiet leaves what a person must know, verbose adds what a normal run leaves out.
// Neither changes the lines of stdout.
func TestDetail(t *testing.T) {
	stdout, stderr := play(Options{Detail: Quiet}, aRun())
	golden.Check(t, "run.quiet.stderr", stderr)
	if stdout != "Done, but not hosts.\n" {
		t.Errorf("stdout = %q", stdout)
	}
	_, stderr = play(Options{Detail: Verbose}, aRun())
	golden.Check(t, "run.verbose.stderr", stderr)
	normal, _ := play(Options{JSON: true}, aRun())
	if quiet, _ := play(Options{JSON: true, Detail: Quiet}, aRun()); quiet != normal {
		t.Error("--quiet changes the lines of --json")
	}
}
