package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/attack"
	"codeagent/linuxsandbox"
	"codeagent/mcp/inquiry"
	"codeagent/model"
	"codeagent/sandbox"
)

var hostileHelper, hostileTests attack.Program

// TestHostileServer lets a hostile MCP server try all that it can, in every setting.
func TestHostileServer(t *testing.T) { inSettings(t, "^TestHostile.*InSetting$") }

// inSettings runs tests of this room in every setting.
func inSettings(t *testing.T, pattern string) {
	attack.InSettings(t, true, len(attack.Settings), func(t *testing.T, s attack.Setting) *exec.Cmd {
		dir := attack.Stage(t, s.UID)
		binary := filepath.Join(dir, "tests")
		from := "/proc/self/exe"
		if s.Name != "user" {
			from = hostileTests.BuildPlain(t, "codeagent/cmd/codeagent/conversation")
		}
		attack.CopyFile(t, from, binary)
		attack.CopyFile(t, hostileHelper.BuildHelper(t, linuxsandbox.HelperName), filepath.Join(dir, linuxsandbox.HelperName))
		cmd := s.Command(t, dir, binary, pattern)
		cmd.Args = append(cmd.Args, "-test.timeout=5m") // of a setting that hangs the log is kept
		cmd.Env = append(cmd.Env, "HOST_SECRET="+hostileSecret)
		return cmd
	})
}

// hostileFace is a person who watches, and answers as the test wants.
type hostileFace struct {
	mu       sync.Mutex
	finished []event.ToolFinished
	notices  []string
	asked    []approvals.Request
	inquired []inquiry.Question
	yes      func(approvals.Request) approvals.Answer
	news     *sync.Cond // of notices; nil: nobody waits
	seen     func(event.Event)
}

func (f *hostileFace) Emit(e event.Event) {
	if f.seen != nil {
		f.seen(e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := e.(type) {
	case event.ToolFinished:
		f.finished = append(f.finished, e)
	case event.HelperEvent:
		if end, ok := e.Event.(event.ToolFinished); ok {
			f.finished = append(f.finished, end)
		}
	case event.Notice:
		f.notices = append(f.notices, e.Text)
		if f.news != nil {
			f.news.Broadcast()
		}
	}
}

// heard waits for a notice.
func (f *hostileFace) heard(part string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news = sync.NewCond(&f.mu)
	for !slices.ContainsFunc(f.notices, func(text string) bool { return strings.Contains(text, part) }) {
		f.news.Wait()
	}
}

func (f *hostileFace) Ask(_ context.Context, r approvals.Request) (approvals.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r)
	if f.yes == nil {
		return approvals.Answer{}, nil
	}
	return f.yes(r), nil
}

func (*hostileFace) Steer() (agent.Input, bool) { return agent.Input{}, false }

func (f *hostileFace) Inquire(_ context.Context, q inquiry.Question) (inquiry.Reply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inquired = append(f.inquired, q)
	return inquiry.Reply{Action: inquiry.Declined}, nil
}

// of returns what became of a call.
func (f *hostileFace) of(id string) event.ToolFinished {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.finished, func(e event.ToolFinished) bool { return e.CallID == id })
	if i < 0 {
		return event.ToolFinished{}
	}
	return f.finished[i]
}

// hostileModel makes one call a turn.
type hostileModel struct {
	calls int
	next  model.ToolCall
	last  model.Request // of the last round
	// helper returns the next calls of a helper; nil: it makes no calls.
	helper func(model.Request) []model.ToolCall
}

func (m *hostileModel) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if m.helper != nil && r.Items[0].Text == "attack" {
			calls := m.helper(r)
			for _, c := range calls {
				if !yield(model.CallDone{Call: c}, nil) {
					return
				}
			}
			reason := model.StopCalls
			if len(calls) == 0 {
				reason = model.StopEnd
				_ = yield(model.TextDelta{Text: "a report"}, nil)
			}
			_ = yield(model.Finished{Reason: reason}, nil)
			return
		}
		m.last = r
		if last := r.Items[len(r.Items)-1]; last.Kind == model.Result {
			_ = yield(model.TextDelta{Text: "done"}, nil) && yield(model.Finished{Reason: model.StopEnd}, nil)
			return
		}
		_ = yield(model.CallDone{Call: m.next}, nil) && yield(model.Finished{Reason: model.StopCalls}, nil)
	}
}

// hostileSession is a session with hostile servers.
type hostileSession struct {
	t     *testing.T
	ses   *Session
	face  *hostileFace
	model *hostileModel
}

// session opens a session in a scene, with servers as in settings.
func (h *hostileHost) session(s *hostileScene, attended bool, settings string, flags ...string) *hostileSession {
	h.t.Helper()
	err := os.MkdirAll(s.Config, 0o700)
	if err == nil {
		err = os.WriteFile(s.Config+"/config.toml", []byte(settings), 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	devnull, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { devnull.Close() })
	stdio := cli.Stdio{In: devnull, Out: devnull, Err: devnull, Text: &cli.Output{W: devnull},
		Environ: []string{"HOME=" + s.Home, "PATH=/usr/bin:/bin", "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "OPENAI_API_KEY=" + hostileSecret,
			"HOST_SECRET=" + hostileSecret, "VICTIM_SECRET=" + hostileSecret}}
	base, err := Open(h.t.Context(), stdio, cli.Flags{Folder: s.Work, Model: "test", Settings: flags}, Options{Audience: Audience{Attended: attended}, Beginning: Beginning{HasPrompt: true, Ephemeral: true}})
	if err != nil {
		h.t.Fatal(err)
	}
	out := &hostileSession{t: h.t, face: &hostileFace{}, model: &hostileModel{}}
	base.chosen.Model = out.model
	out.ses = Join(base, out.face)
	out.ses.Begin()
	return out
}

// call makes a call of a tool in a turn of its own, and returns what became of it and what the model
// reads about it.
func (ses *hostileSession) call(tool string, arguments any) (event.ToolFinished, string) {
	ses.t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		ses.t.Fatal(err)
	}
	ses.model.calls++
	ses.model.next = model.ToolCall{ID: fmt.Sprint("call-", ses.model.calls), Name: tool, Arguments: string(text)}
	if err := ses.ses.Turn(ses.t.Context(), agent.Input{Text: tool}); err != nil {
		ses.t.Fatalf("%s: %v", tool, err)
	}
	items := ses.model.last.Items
	return ses.face.of(ses.model.next.ID), items[len(items)-1].Text
}

// names reports whether a verdict names a refusal of this kind, of target or of anything for "".
func names(v sandbox.Verdict, kind sandbox.DenialKind, target string) bool {
	return slices.ContainsFunc(v.Denials, func(d sandbox.Denial) bool {
		return (kind == "" || d.Kind == kind) && (target == "" || d.Target == target)
	})
}

// TestHostileRowsInSetting is a body of TestHostileServer, in a process of the setting: the rows.
func TestHostileRowsInSetting(t *testing.T) {
	setting := attack.CurrentSetting(t, "TestHostileServer")
	h := newHostileHost(t)
	free := h.scene("bare")
	h.bare(free, "victim"+free.Mark, "secret=V_SECRET")
	free.VictimDir = free.Own
	h.victim(free)
	client := h.bare(free, "reads")
	boxed := h.scene("boxed")
	ses := h.session(boxed, false, hostileSettings(boxed))
	closed := sync.OnceFunc(ses.ses.Close)
	defer closed()
	if err := ses.ses.Servers.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A server that writes in its own folder alone takes no yes for the session away.
	if c := (contents{ses.ses.Workspace}); c.ws.Runner.Observes(c.ws.Policy) {
		if w := c.Writers(); len(w) != 1 || w[0].Name != "the server writes" {
			t.Errorf("servers that may change what a command outside reads: %+v", w)
		}
	}
	servers := boxed.Home + "/.local/share/codeagent/servers/"
	boxed.VictimDir = servers + "victim"
	h.victim(boxed)
	type tried struct {
		row    hostileRow
		target string
		ended  event.ToolFinished
	}
	var all []tried
	for _, row := range hostileRows {
		if row.server == "" {
			row.server = "reads"
		}
		try := func(s *hostileScene, do func() string) (said string, landed bool) {
			if row.prey {
				defer h.prey(s)()
			}
			said = do()
			if row.landed != nil {
				return said, row.landed(h, s, said)
			}
			return said, strings.Contains(said, hostileSecret)
		}
		arguments := func(s *hostileScene) obj { return obj{"row": row.name, "scene": s} }
		h.boxed = false
		bare, landed := try(free, func() string {
			text, err := json.Marshal(arguments(free))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Call(t.Context(), "try", text, nil)
			if err != nil {
				t.Fatal(err)
			}
			return answer.Text
		})
		if !landed {
			t.Errorf("%s: does not work without a sandbox either (%q), so nothing is shown", row.name, bare)
		}
		h.boxed, boxed.Own = true, servers+row.server
		var ended event.ToolFinished
		said, landed := try(boxed, func() (text string) {
			ended, text = ses.call(row.server+"__try", arguments(boxed))
			return text
		})
		one := tried{row: row, ended: ended}
		if row.target != nil {
			one.target = row.target(boxed)
		}
		all = append(all, one)
		t.Logf("%s: bare %.60q, boxed %.200q %s", row.name, bare, said, describeDenials(ended.Verdict))
		switch {
		case landed && row.weakness != "" && ses.ses.Workspace.Enforcement.Weak(row.weakness):
		case landed:
			t.Errorf("%s: ESCAPE: %q", row.name, said)
		case ended.Outcome == "":
			t.Errorf("%s: the call did not run: %q", row.name, said)
		case row.quiet && (ended.Outcome != word.OK || !strings.Contains(said, one.target)):
			t.Errorf("%s: %s, and the model reads %q", row.name, ended.Outcome, said)
		case row.silent == "" && !names(ended.Verdict, row.kind, one.target):
			t.Errorf("%s: the call does not name %s %s: %+v", row.name, row.kind, one.target, ended.Verdict.Denials)
		}
	}
	for _, a := range all {
		for _, b := range all {
			if a.target != "" && a.ended.CallID != b.ended.CallID && a.target != b.target && names(b.ended.Verdict, a.row.kind, a.target) {
				t.Errorf("%s is named with the call of %q, and belongs to %q", a.target, b.row.name, a.row.name)
			}
		}
	}
	closed()
	if hostileAlive(boxed.Mark) {
		t.Error("what forked away outlives the session")
	}
	if !hostileAlive(free.Mark) {
		t.Error("what forks away does not outlive a plain server: nothing is shown")
	}
	if pid := hostileProcess(awayName, free.Mark); pid > 0 {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	t.Logf("%s: %d rows", setting.Name, len(hostileRows))
}

func describeDenials(v sandbox.Verdict) string {
	var out []string
	for _, d := range v.Denials {
		out = append(out, fmt.Sprintf("⊘ %s %s (%s, moot %v)", d.Kind, d.Target, d.Evidence, d.Moot))
	}
	return strings.Join(out, " ")
}

// hostileSettings are the settings of the servers of hostileRows.
func hostileSettings(s *hostileScene) string {
	var b strings.Builder
	for name, more := range map[string]string{
		"reads": "", "writes": "sandbox.workspace = \"write\"\n", "away": "sandbox.workspace = \"none\"\n",
		"victim": "env = { V_SECRET = \"$VICTIM_SECRET\" }\n",
	} {
		args := hostileArgs(name)
		if name == "victim" {
			args = hostileArgs("victim"+s.Mark, "secret=V_SECRET")
		}
		fmt.Fprintf(&b, "[mcp.servers.%s]\ncommand = %q\nargs = [%s]\n%s", name, os.Args[0], quotedList(args), more)
	}
	return b.String()
}

func quotedList(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return strings.Join(out, ", ")
}
