package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/config/server"
	"codeagent/event"
	"codeagent/mcp/inquiry"
	"codeagent/model"
	"codeagent/tui/paint"
	"codeagent/tui/transcript"
)

// TestResumedLooksAsLive: what a transcript shows of the calls of a session is the same when the session, or
// a copy of it, is resumed from the disk.
func TestResumedLooksAsLive(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "resumed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	work := dir + "/work"
	for name, text := range map[string]string{"go.mod": "module m\n", "a.txt": "one\ntwo\n", "../home/x": ""} {
		name = filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shell := func(arguments string) model.ToolCall { return model.ToolCall{Name: "shell", Arguments: arguments} }
	patch, _ := json.Marshal(map[string]string{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: b.txt\n+\x1b[2Jb\n*** End Patch"})
	stale, _ := json.Marshal(map[string]string{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-three\n+3\n*** End Patch"})
	play := &played{calls: []model.ToolCall{
		{Name: "read_file", Arguments: `{"path":"a.txt"}`},
		{Name: "read_file", Arguments: `{"path":"none.txt"}`},
		shell(`{"command":"echo out; echo \"exit status 0\"; echo x >c.txt"}`),
		shell(`{"command":"sleep 0.01; exit 3"}`),
		shell(`{"command":"echo x >` + dir + `/outside"}`),
		shell(`{"command":"cat /etc/none; echo y >` + dir + `/other || true"}`),
		shell(`{"command":"kill -9 $$"}`),
		shell(`{"command":"echo a; sleep 100","timeout_ms":100}`),
		shell(`{"command":"seq 20000; printf '\\033[31mred\\n'; exit 1"}`),
		shell(`{"command":"true","sandbox_permissions":"require_escalated","justification":"it has to"}`),
		{Name: "apply_patch", Arguments: string(patch)},
		{Name: "apply_patch", Arguments: string(stale)},
		{Name: "sehll", Arguments: `{}`},
		{Name: "srv__say", Arguments: `{"to":"you"}`},
		shell(`{"command":"echo begun; read line; echo got $line; sleep 60","background":true,"wait_for":"begun"}`),
		{Name: "write_stdin", Arguments: `{"session_id":1,"chars":"x\n","wait_for":"got"}`},
	}}
	env := []string{"HOME=" + dir + "/home", "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=dumb", "CODEAGENT_HOME=" + dir + "/own", "OPENAI_BASE_URL=http://127.0.0.1:1/v1"}
	t.Setenv("HOME", dir+"/home")
	devnull, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { devnull.Close() })
	open := func(from *sessionscmd.ResumeTarget) (*Session, *watcher) {
		stdio := cli.Stdio{In: devnull, Out: devnull, Err: devnull, Environ: env, Text: &cli.Output{W: devnull}}
		set, problem := server.Settings{Command: "/bin/sh", Args: []string{"-c", saying}, Origin: server.OfEditor}.Complete("")
		if problem != "" {
			t.Fatal(problem)
		}
		base, err := Open(t.Context(), stdio, cli.Flags{Folder: work, Model: "test"}, Options{Audience: Audience{Attended: true}, Beginning: Beginning{HasPrompt: true, From: from}, Scope: Scope{Servers: map[string]server.Settings{"srv": set}}})
		if err != nil {
			t.Skipf("no session here: %v", err)
		}
		base.chosen.Model = play
		w := &watcher{shown: transcript.New(time.Now)}
		ses := Join(base, w)
		ses.Begin()
		return ses, w
	}

	ses, live := open(nil)
	id := ses.Record.Log.ID()
	if err := ses.Turn(t.Context(), agent.Input{Text: "do it all"}); err != nil {
		t.Fatal(err)
	}
	if err := ses.Command(t.Context(), "seq 30; exit 4"); err != nil {
		t.Fatal(err)
	}
	ses.Close()
	for _, from := range []*sessionscmd.ResumeTarget{{ID: id}, {ID: id, Fork: true}} {
		ses, again := open(from)
		ses.Close()
		if diff := cmp.Diff(live.ends, again.ends); diff != "" {
			t.Error(diff)
		}
		for _, width := range []int{80, 120} {
			if diff := cmp.Diff(live.lines(width, dir), again.lines(width, dir)); diff != "" {
				t.Errorf("%+v at %d columns: %s", from, width, diff)
			}
		}
	}
	text := strings.Join(live.lines(120, dir), "\n")
	for _, want := range []string{"2 lines", "exit 3", "killed by SIGKILL", "timed out", "full output: ", "not allowed", "changed ", "+1", "heard you", "running in the background (job 1)", "exit 4"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// saying is an MCP server with one tool.
const saying = `while read -r line; do
id=${line#*\"id\":} id=${id%%[,\}]*}
case $line in
*'"initialize"'*) r='{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{}}}' ;;
*'"tools/list"'*) r='{"tools":[{"name":"say","description":"says","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
*'"tools/call"'*) r='{"content":[{"type":"text","text":"[approval] heard you"}]}' ;;
*'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
*) continue ;;
esac
printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done`

// played is a model that makes one call after another.
type played struct {
	calls []model.ToolCall
	made  int
}

func (m *played) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if m.made == len(m.calls) {
			_ = yield(model.TextDelta{Text: "done"}, nil) && yield(model.Finished{Reason: model.StopEnd}, nil)
			return
		}
		call := m.calls[m.made]
		m.made++
		call.ID = fmt.Sprint("call-", m.made)
		_ = yield(model.CallDone{Call: call}, nil) && yield(model.Finished{Reason: model.StopCalls}, nil)
	}
}

// watcher is a face that shows calls. Its person says no once and yes once, in turn.
type watcher struct {
	mu    sync.Mutex
	shown transcript.Transcript
	ends  []string
	asked int
}

func (w *watcher) Emit(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case event.ToolFinished:
		w.ends = append(w.ends, fmt.Sprint(e.Title, e.Outcome, e.Exit, e.Signal, e.Duration, e.Limit, e.Spill))
	case event.SessionStarted, event.TurnStarted, event.ToolStarted, event.MessageFinished, event.PermissionRequested, event.PermissionAnswered:
	default:
		return
	}
	w.shown.Apply(e)
}

// lines are the whole transcript, folded and open.
func (w *watcher) lines(width int, home string) []string {
	c := transcript.Canvas{Theme: paint.New(true), Width: width, Home: home}
	lines := w.shown.View(c, 400)
	lines = append(lines, transcript.NewPage(&w.shown, c).View(c, 4000)...)
	return slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
}

func (w *watcher) Ask(context.Context, approvals.Request) (approvals.Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.asked%2 == 0 {
		return approvals.Answer{Decision: approvals.Once}, nil
	}
	return approvals.Answer{Reason: "not now"}, nil
}

func (*watcher) Steer() (agent.Input, bool) { return agent.Input{}, false }

func (*watcher) Inquire(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return inquiry.Reply{Action: inquiry.Declined}, nil
}
