package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/mcp"
	"codeagent/mcp/inquiry"
	"codeagent/mcp/signin"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// plan plans a call of one of the server's tools. The error is written for the model.
func (m *member) plan(c model.ToolCall) (tools.Call, error) {
	list := m.offers()
	i := slices.IndexFunc(list, func(t mcp.Tool) bool { return t.Offered == c.Name })
	if i < 0 {
		var names []string
		for _, t := range list {
			names = append(names, t.Offered)
		}
		if st := m.status(); len(names) == 0 {
			return nil, fmt.Errorf("the MCP server %s offers no tools (%s)", m.name, strings.Join(append([]string{st.State}, st.Problem), " "))
		}
		return nil, fmt.Errorf("the MCP server %s has no such tool; its tools are %s", m.name, short.List(names, 40))
	}
	tool, arguments := list[i], c.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
		return nil, fmt.Errorf("%s: the arguments must be a JSON object that fits the tool's schema", tool.Offered)
	}
	call := &approvals.ServerCall{
		Server: m.name, Tool: tool.Name, ReadOnly: tool.ReadOnly, Remote: m.remote(), Described: m.described(tool), Arguments: arguments,
	}
	m.mu.Lock()
	call.Program, call.Policy, call.Own = m.program(), m.box.policy, m.box.own
	call.Keyed = len(m.configured.Env)+len(m.configured.Sandbox.Env) > 0
	m.mu.Unlock()
	call.Changed = m.loads()
	action := approvals.Action{
		CallID: c.ID, Tool: tool.Offered, Kind: word.KindServer, Title: m.name + ": " + visible.Line(tool.Name),
		Folder: m.all.options.Workspace.Folder, Server: call,
	}
	return tools.Outside(action, func(ctx context.Context, p sandbox.Policy, s tools.Stage) (tools.Result, error) {
		return m.call(ctx, action, p, s)
	}), nil
}

// described identifies what a yes to a tool is bound to: how the server describes the tool, and which
// server that is. Threat: a server of a project or of an editor takes the name of one that the user
// trusted, and describes its tools alike.
func (m *member) described(t mcp.Tool) string {
	sum := sha256.New()
	for _, s := range append([]string{t.Sum, m.all.folder(m.name, m.configured), m.configured.URL, m.configured.Command}, m.configured.Args...) {
		fmt.Fprintf(sum, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// errOther: what the person and the model saw is not what would be called.
var errOther = errors.New("the server has changed this tool since the call was planned; look at its description again")

// call runs a call under p, the policy of its permit.
func (m *member) call(ctx context.Context, a approvals.Action, p sandbox.Policy, s tools.Stage) (tools.Result, error) {
	if m.remote() {
		return m.far(ctx, a, p, s)
	}
	if err := m.enter(ctx); err != nil {
		return tools.Result{}, err
	}
	defer m.leave()
	one, err := m.running(ctx, p, a.Server.Changed)
	if err != nil {
		return tools.Result{}, err
	}
	if err := m.unchanged(a); err != nil {
		return tools.Result{}, err
	}
	return m.confined(ctx, one, a, p, s), nil
}

// far calls a tool of a server that runs elsewhere. No sandbox is around it, so several calls may run. One that
// has forgotten the session has done nothing, and is called once more in another.
func (m *member) far(ctx context.Context, a approvals.Action, p sandbox.Policy, s tools.Stage) (tools.Result, error) {
	for again := false; ; again = true {
		if err := m.enter(ctx); err != nil {
			return tools.Result{}, err
		}
		one, err := m.running(ctx, p, a.Server.Changed)
		m.leave()
		if err == nil {
			err = m.unchanged(a)
		}
		if err != nil {
			return tools.Result{}, err
		}
		answer, err := one.client.Call(ctx, a.Server.Tool, json.RawMessage(a.Server.Arguments), progressTo(s.Output))
		forgotten := errors.Is(err, mcp.ErrForgotten)
		if forgotten {
			m.drop(one)
		}
		if again || !forgotten {
			return m.result(ctx, answer, err, sandbox.Verdict{}), nil
		}
	}
}

// unchanged refuses a call of a tool that is described in another way than when it was planned.
func (m *member) unchanged(a approvals.Action) error {
	for _, t := range m.offers() {
		if t.Name == a.Server.Tool && m.described(t) == a.Server.Described {
			return nil
		}
	}
	return errOther
}

// confined runs a call, and takes back what was granted for it alone.
func (m *member) confined(ctx context.Context, one *instance, a approvals.Action, p sandbox.Policy, s tools.Stage) tools.Result {
	m.mu.Lock()
	h := &permitHolder{Holder: s.Holder, client: one.client, policy: p, beyond: m.all.options.Ledger.Opens(one.under, p)}
	m.mu.Unlock()
	between := one.service.Begin(ctx, h, notOwn(s.Observer(), m.box.own))
	m.note(one, between, false)
	m.setCalling(a.CallID)
	answer, err := one.client.Call(ctx, a.Server.Tool, json.RawMessage(a.Server.Arguments), progressTo(s.Output))
	m.setCalling("")
	during, granted := one.service.End()
	one.given = append(one.given, granted...)
	m.lapse(one)
	v := one.service.Judge(during, err != nil || answer.Failed, answer.Text)
	if errors.Is(err, mcp.ErrTime) && !one.client.Answers(ctx, hangs) {
		m.stop()
		err = fmt.Errorf("%w, nor a ping after that; it was ended, and the next call starts it again", err)
	}
	if errors.Is(err, mcp.ErrEnded) {
		one.close()                     // follow may do the same
		err = m.whyEnded(one, err, nil) // the verdict has the refusals of the call
	}
	return m.result(ctx, answer, err, v)
}

// hangs is how long a server has to answer a ping after a call that it did not answer.
const hangs = 2 * time.Second

func (m *member) setCalling(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calling = id
}

// lapse takes from the server what it was granted and neither its settings nor an answer for the
// session opens. If it may read more than that it is ended, and the next call starts it again: what a
// running program may read stays as it was at its start. The caller holds m.turn.
func (m *member) lapse(one *instance) {
	l := m.all.options.Ledger
	now := l.ServerPolicy(m.name, m.box.policy)
	if back := l.Lapsed(now, one.given); !back.Empty() {
		one.service.Revoke(back)
	}
	one.given = slices.DeleteFunc(one.given, func(g sandbox.Grant) bool { return !l.Lapsed(now, []sandbox.Grant{g}).Empty() })
	m.mu.Lock()
	reads := sameReads(one.under, now)
	m.mu.Unlock()
	if !reads {
		m.stop()
	}
}

// revoke is Servers.Revoke.
func (m *member) revoke(closed []sandbox.Grant) (running int, became sandbox.RevokeResult) {
	one := m.current()
	if one == nil || one.service == nil {
		return 0, sandbox.RevokeResult{}
	}
	l := m.all.options.Ledger
	back := l.Lapsed(l.ServerPolicy(m.name, m.box.policy), closed)
	if back.Empty() {
		return 0, sandbox.RevokeResult{}
	}
	m.mu.Lock()
	one.under = one.under.Closed(back)
	m.mu.Unlock()
	return 1, one.service.Revoke(back)
}

// result makes the result of a call.
func (m *member) result(ctx context.Context, answer mcp.Result, err error, v sandbox.Verdict) tools.Result {
	r := tools.Result{Outcome: word.OK, Verdict: v, Images: answer.Images, Text: answer.Text, Structured: string(answer.Structured)}
	switch {
	case err != nil && ctx.Err() != nil:
		r.Failed, r.Outcome, r.Text = true, word.Interrupted, "The call was cancelled, and the server was informed of that."
	case errors.Is(err, mcp.ErrTime):
		r.Failed, r.Outcome, r.Text = true, word.TimedOut, err.Error()
	case err != nil:
		r.Failed, r.Outcome, r.Text = true, word.Failed, err.Error()
	case answer.Failed:
		r.Failed, r.Outcome, r.Text = true, word.Failed, "The tool failed: "+answer.Text
	}
	if answer.Structured != nil && !answer.Repeated {
		r.Text += "\nstructured content: " + string(answer.Structured)
	}
	r.Output = exec.Shorten(r.Text, mostShown, "")
	if r.Failed {
		r.Message, _, _ = strings.Cut(short.Cut(r.Text, 200), "\n")
	} else if n := len(r.Images); n > 0 {
		r.Message = short.Count(n, "image")
	}
	return r
}

// mostShown bounds the answer of a tool as the person sees it, in bytes.
const mostShown = 20 << 10

// progressTo shows the progress of a call as output, a line each; nil: it is not shown.
func progressTo(sink exec.Sink) func(string) {
	if sink == nil {
		return nil
	}
	var offset int64
	return func(text string) { // the reader of the connection calls it, one at a time
		line := []byte(text + "\n")
		sink(offset, line)
		offset += int64(len(line))
	}
}

// permitHolder answers the refused system calls of one tool call: what the permit allows passes at
// once, and the call's own holder, which may be nil, answers the rest. While it asks a person, the
// time limit of the call waits.
type permitHolder struct {
	sandbox.Holder
	client *mcp.Client
	policy sandbox.Policy
	beyond sandbox.Grant
}

func (h *permitHolder) Asks(d sandbox.Denial) bool {
	return h.allows(d) || h.Holder != nil && h.Holder.Asks(d)
}

func (h *permitHolder) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	if h.allows(d) {
		return h.beyond, true
	}
	if h.Holder == nil {
		return sandbox.Grant{}, false
	}
	defer h.client.Asked()()
	return h.Holder.Hold(ctx, d)
}

// allows reports whether the permit opens what d was refused.
func (h *permitHolder) allows(d sandbox.Denial) bool {
	if h.beyond.Empty() {
		return false
	}
	switch d.Kind {
	case sandbox.KindWrite, sandbox.KindMetadata, sandbox.KindProtected:
		return sandbox.CoveredBy(h.beyond.Write, d.Target) && h.policy.JudgeWrite(d.Target).Allowed
	case sandbox.KindNetwork:
		host, err := sandbox.ParseHostPort(d.Target)
		return err == nil && h.policy.JudgeHost(host).Allowed
	case sandbox.KindSocket:
		return slices.Contains(h.beyond.Sockets, d.Target)
	}
	return false
}

// elicit puts a question of the server to the person.
func (m *member) elicit(ctx context.Context, q inquiry.Question) inquiry.Reply {
	m.mu.Lock()
	q.Server, q.CallID = m.name, m.calling
	m.mu.Unlock()
	return m.all.inquire(ctx, q)
}

// clientOptions are those of the connection to the server.
func (m *member) clientOptions() mcp.Options {
	o := mcp.Options{
		Name: m.name, Version: m.all.options.Workspace.Process.Version, Startup: m.settings.StartupTimeout, Call: m.settings.ToolTimeout,
		Enabled: m.settings.EnabledTools, Disabled: m.settings.DisabledTools, Elicit: m.elicit,
		Log: func(level, text string) {
			if level == "warning" {
				m.all.notice(word.LevelWarning, "the MCP server %s: %s", m.name, visible.Line(text))
				return
			}
			m.all.options.Workspace.Process.Log.Server(m.name, level, text)
		},
	}
	if ws := m.all.options.Workspace; m.remote() {
		o.SignIn = signin.Store{Dir: ws.Paths.SignIns}.Tokens(m.name, m.settings.URL)
	}
	o.Changed = func() {
		if one := m.current(); one != nil {
			m.changed(one.client)
		}
	}
	return o
}
