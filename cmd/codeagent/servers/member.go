package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/approvals/content"
	"codeagent/approvals/decide"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config/server"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/mcp"
	"codeagent/sandbox"
)

// member is one server of a session.
type member struct {
	all  *Servers
	name string
	// configured are the settings as written: what is shown holds no value of a variable.
	configured server.Settings
	// turn is held by what uses the connection: one call, or a start.
	turn chan struct{}
	// ahead is made for the first start while the settings are prepared; begin alone uses it.
	ahead *ground

	mu sync.Mutex
	// box and settings, with variables replaced, are set once, before state is Running.
	box      box
	settings server.Settings
	live     *instance  // nil: it does not run; guarded by mu
	tools    []mcp.Tool // of the last instance; guarded by mu
	state    string
	problem  string
	mark     int64 // of what the session changed, at the last start
	took     time.Duration
	protocol string
	words    string // its instructions
	refused  refusalLog
	calling  string // the ID of the tool call that runs, or ""
}

// instance is one run of a server.
type instance struct {
	client  *mcp.Client
	service *exec.Service // nil: the server is remote
	// under is what it was started with, without what was revoked since; guarded by member.mu.
	under sandbox.Policy
	// given is what it was granted since; only the holder of member.turn uses it.
	given []sandbox.Grant
	// closing: its end is wanted; guarded by member.mu.
	closing bool
	// refusalLog is what this run was refused; guarded by member.mu.
	refused refusalLog
	discard func() // removes its folder for temporary files
}

func newMember(s *Servers, name string, settings server.Settings) *member {
	m := &member{all: s, name: name, configured: settings, settings: settings, state: Starting, turn: make(chan struct{}, 1)}
	m.turn <- struct{}{} // until begin is over: nothing uses a server that is not prepared
	return m
}

// ground is where a run of a server takes place: it meets neither commands nor other servers.
type ground struct {
	runner *exec.Runner
	over   func()
}

func (m *member) newGround() (*ground, error) {
	runner, over, err := m.all.options.Workspace.ApartOn(m.settings.Sandbox.Backend)
	if err != nil {
		return nil, err
	}
	return &ground{runner, over}, nil
}

// begin prepares the server and starts it the first time.
func (m *member) begin() {
	defer m.leave()
	var err error
	if !m.remote() && m.all.options.Workspace.Confines() {
		m.ahead, err = m.newGround()
	}
	if err == nil {
		err = m.prepare()
	}
	defer func() {
		if m.ahead != nil { // it was not started
			m.ahead.over()
		}
	}()
	if err == nil && m.settings.Sandbox.Backend != "" && m.ahead != nil {
		err = m.weaknesses(m.ahead.runner)
	}
	if err == nil {
		_, err = m.start(m.all.life, m.all.options.Ledger.ServerPolicy(m.name, m.box.policy))
	}
	if err != nil {
		m.failed(err)
	}
}

// weaknesses says what the server's own backend does not enforce, and that of the session would.
func (m *member) weaknesses(r *exec.Runner) error {
	ids, err := m.all.options.Workspace.Weaker(r, m.all.options.Workspace.System(), m.box.policy)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	m.all.notice(word.LevelWarning, "the backend %s does not enforce everything for the MCP server %s (codeagent doctor --backend %s): %s",
		m.settings.Sandbox.Backend, m.name, m.settings.Sandbox.Backend, strings.Join(ids, ", "))
	return nil
}

// failed records why the server does not run, and says it.
func (m *member) failed(err error) {
	// Room mcp names the server and what it was doing, for errors of calls.
	problem := strings.TrimPrefix(visible.Text(cli.InWords(err).Error()), "MCP server "+m.name+", starting: ")
	m.mu.Lock()
	m.state, m.problem = Failed, problem
	m.mu.Unlock()
	if m.all.life.Err() == nil {
		m.all.notice(word.LevelWarning, "the MCP server %s did not start: %s", m.name, oneLine(problem))
	}
}

// start starts the server under p and reads its tools. The caller holds m.turn.
func (m *member) start(ctx context.Context, p sandbox.Policy) (*instance, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, m.settings.StartupTimeout, mcp.ErrTime)
	defer cancel()
	defer context.AfterFunc(m.all.life, cancel)()
	one := &instance{under: p, discard: func() {}}
	mark := m.all.options.Workspace.Trees.Mark() // before it loads anything
	var err error
	if m.remote() {
		one.client, err = mcp.OverHTTP(ctx, m.settings.URL, m.settings.Headers, m.clientOptions())
		err = m.limited(err)
	} else {
		err = m.serve(ctx, one)
	}
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	if m.all.life.Err() != nil { // close has looked for a live one already
		m.mu.Unlock()
		one.close()
		return nil, errOver
	}
	m.live, m.mark, m.state, m.problem, m.took = one, mark, Running, "", time.Since(begun)
	m.tools, m.protocol, m.words = one.client.Tools(), one.client.Protocol(), one.client.Instructions()
	m.mu.Unlock()
	if one.service != nil {
		go m.follow(one)
	}
	return one, nil
}

// serve starts the program of the server.
func (m *member) serve(ctx context.Context, one *instance) error {
	temp, discard, err := m.all.options.Workspace.Paths.NewTemp()
	if err != nil {
		return err
	}
	one.under.Temp = temp
	c := exec.Command{By: "the server " + m.name, Argv: m.box.argv, Dir: m.box.dir, Observer: m.observer()}
	if learn := m.all.options.Learn; learn != nil {
		c.Learn, c.Evidence = learn(m.name), sandbox.EvidenceFull
	}
	g := m.ahead
	if m.ahead = nil; g == nil {
		if g, err = m.newGround(); err != nil {
			_ = discard()
			return err
		}
	}
	one.discard = func() {
		g.over()
		_ = discard() // what is left is swept later
	}
	if one.service, err = g.runner.Serve(ctx, one.under, c); err != nil {
		one.discard()
		return err
	}
	one.client, err = mcp.OverPipes(ctx, one.service.Out, one.service.In, m.clientOptions())
	during, _ := one.service.End()
	m.note(one, during, err != nil)
	if err != nil {
		one.service.Close()
		err = m.whyEnded(one, m.limited(err), m.refusals(&one.refused))
		one.discard()
	}
	return err
}

// limited adds to the err of a start that took too long which limit it was.
func (m *member) limited(err error) error {
	if !errors.Is(err, mcp.ErrTime) {
		return err
	}
	return fmt.Errorf("%w (startup_timeout_s is %.0f)", err, m.settings.StartupTimeout.Seconds())
}

// whyEnded adds to err how the program ended, what it printed last, and the lines on what it was refused.
func (m *member) whyEnded(one *instance, err error, refused []string) error {
	var b strings.Builder
	b.WriteString(err.Error())
	if errors.Is(err, mcp.ErrEnded) {
		if o, failed := one.service.Outcome(); failed == nil {
			b.WriteString(" (" + ending(o) + ")")
		}
	}
	if said := lastLines(one.service.Errors()); said != "" {
		b.WriteString("\nit printed: " + said)
	}
	for _, words := range refused {
		b.WriteString("\n" + words)
	}
	return errors.New(b.String())
}

// refusal says what was refused, to which program, and what its name does not show.
func refusal(d sandbox.Denial) string {
	words := string(d.Kind) + " " + d.Target
	if who := d.Who(); who != "" {
		words += " (" + who + ")"
	}
	for _, more := range []string{d.Why, d.Note} {
		if more != "" {
			words += ": " + more
		}
	}
	return visible.Line(short.Bound(words, mostPrinted))
}

// ending says how a program ended.
func ending(o exec.Outcome) string {
	if o.Status.Signal != 0 {
		return fmt.Sprintf("signal %d", o.Status.Signal)
	}
	return fmt.Sprintf("exit status %d", o.Status.Exit)
}

// mostPrinted bounds what of a server's stderr is shown, in bytes; mostRefused how many refusals are.
const (
	mostPrinted = 600
	mostRefused = 6
)

func lastLines(text string) string {
	return visible.Text(strings.TrimSpace(short.Tail(strings.TrimSpace(text), mostPrinted)))
}

// note records what the sandbox refused, and the connections, outside of tool calls. failed: the server did not do what it
// was to do.
func (m *member) note(one *instance, during sandbox.Trace, failed bool) {
	if !during.Connections.IsZero() {
		m.all.options.Ledger.Connected(m.name, during.Connections)
	}
	if len(during.Denials) == 0 {
		return
	}
	v := one.service.Judge(during, failed, "")
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range v.Denials {
		m.add(one, d)
	}
}

// add adds d to what the server was refused outside of calls, and to what its run was. The caller holds
// m.mu.
func (m *member) add(one *instance, d sandbox.Denial) {
	if !d.Moot {
		m.refused.add(d)
		one.refused.add(d)
	}
}

// follow notices the end of an instance that nobody wanted. It ends with the instance.
func (m *member) follow(one *instance) {
	select {
	case <-one.service.Done():
	case <-one.client.Ended():
	}
	m.mu.Lock()
	if one.closing || m.live != one {
		m.mu.Unlock()
		return
	}
	one.closing, m.live, m.state = true, nil, Ended
	m.mu.Unlock()
	one.close()
	problem := m.whyEnded(one, fmt.Errorf("the MCP server %s: %w", m.name, mcp.ErrEnded), m.refusals(&one.refused)).Error()
	m.mu.Lock()
	m.problem = problem
	m.mu.Unlock()
	m.all.notice(word.LevelWarning, "%s; the next call of one of its tools starts it again", oneLine(problem))
}

// oneLine joins the lines of a problem for a notice.
func oneLine(problem string) string { return visible.Line(strings.ReplaceAll(problem, "\n", "; ")) }

// stop ends the present instance, if there is one.
func (m *member) stop() { m.drop(m.current()) }

// drop ends an instance, if it is the present one.
func (m *member) drop(one *instance) {
	m.mu.Lock()
	if one == nil || m.live != one {
		m.mu.Unlock()
		return
	}
	one.closing, m.live, m.state = true, nil, Ended
	m.mu.Unlock()
	one.close()
}

func (one *instance) close() {
	one.client.Close()
	if one.service != nil {
		one.service.Close()
	}
	one.discard()
}

// errOver: nothing is started at the end of a session.
var errOver = errors.New("the session is over")

// close ends the server, at the end of the session. A call or a start that runs learns that, and close
// returns when it has ended too.
func (m *member) close() {
	m.stop()
	m.turn <- struct{}{}
	defer m.leave()
	m.stop()
}

func (m *member) restart(ctx context.Context) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	m.stop()
	if len(m.box.argv) == 0 && !m.remote() { // it was never prepared
		if err := m.prepare(); err != nil {
			return err
		}
	}
	_, err := m.start(ctx, m.all.options.Ledger.ServerPolicy(m.name, m.box.policy))
	if err != nil {
		m.mu.Lock()
		m.state, m.problem = Failed, visible.Text(cli.InWords(err).Error())
		m.mu.Unlock()
	}
	return err
}

// enter waits until nothing else uses the connection.
func (m *member) enter(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.all.life.Done():
		return errOver
	}
	if m.all.life.Err() != nil {
		m.leave()
		return errOver
	}
	return nil
}

func (m *member) leave() { <-m.turn }

// current returns the present instance; nil: it does not run.
func (m *member) current() *instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live
}

// running returns an instance that may do what p allows: the present one, or a new one where there
// is absent or reading is to become another. changed is what loads was for the question. The caller holds
// m.turn.
func (m *member) running(ctx context.Context, p sandbox.Policy, changed string) (*instance, error) {
	one := m.current()
	if one != nil && one.service == nil {
		select {
		case <-one.client.Ended():
		default:
			return one, nil
		}
	}
	if one != nil && one.service != nil && sameReads(one.under, p) && !writesMore(one.under, p) {
		return one, nil
	}
	if len(m.box.argv) == 0 && !m.remote() { // it was never prepared, and it was said why
		return nil, fmt.Errorf("the MCP server %s did not start: %s", m.name, m.status().Problem)
	}
	m.stop()
	if now := m.loads(); now != changed {
		return nil, fmt.Errorf("the MCP server %s has to be started again, and this session changed what it loads or reads: %s. The next call of a tool asks about that; /mcp restarts it", m.name, now)
	}
	now := m.all.options.Ledger.ServerPolicy(m.name, m.box.policy)
	now.Read, now.DenyRead, now.DenyGlobs = p.Read, p.DenyRead, p.DenyGlobs // all else is granted while it runs
	one, err := m.start(ctx, now)
	if err != nil {
		m.failed(err)
	}
	return one, err
}

// loads says what the session changed of what a start of the server would load, and who changed it; ""
// while it runs, and where it loads nothing that commands can change.
//
// Threat: a command changes a file that the server imports, and makes it end. The next call would run
// that with the variables and hosts of the server, by a yes to the server of before.
func (m *member) loads() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live != nil || !m.box.loads {
		return ""
	}
	changes, all := m.all.options.Workspace.Trees.Since(m.mark)
	var list []content.Change
	for _, c := range changes {
		if c.By != "the server "+m.name && m.box.policy.JudgeRead(c.Path).Allowed {
			list = append(list, content.Change(c))
		}
	}
	if !all {
		list = append(list, content.Change{Path: "more files than are listed"})
	}
	return content.Who(list, decide.Show)
}

// writesMore reports whether a server that was started under p has write roots that q does not have: the
// session became read-only since.
func writesMore(p, q sandbox.Policy) bool {
	return slices.ContainsFunc(p.Write, func(r sandbox.Root) bool { return !slices.Contains(q.Write, r) })
}

// sameReads reports whether p and q allow the same to be read, beside what is written. What a
// running program may read stays as it was at its start.
func sameReads(p, q sandbox.Policy) bool {
	return slices.Equal(p.DenyRead, q.DenyRead) && slices.Equal(p.DenyGlobs, q.DenyGlobs) && slices.Equal(p.Read, q.Read)
}

func (m *member) remote() bool { return m.configured.URL != "" }

func (m *member) offers() []mcp.Tool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tools
}

func (m *member) status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := Status{
		Name: m.name, Origin: m.configured.Origin, Remote: m.remote(), Program: m.program(), State: m.state, Problem: m.problem, Took: m.took,
		Protocol: m.protocol, Instructions: m.words, Tools: slices.Clone(m.tools), Refused: slices.Clone(m.refused.list),
	}
	if !st.Remote && m.state != Starting {
		st.Policy = m.all.options.Ledger.ServerPolicy(m.name, m.box.policy)
	}
	return st
}

// changed follows a list of tools that has changed.
func (m *member) changed(c *mcp.Client) {
	now := c.Tools()
	m.mu.Lock()
	before := m.tools
	m.tools = now
	m.mu.Unlock()
	find := func(list []mcp.Tool, t mcp.Tool) int {
		return slices.IndexFunc(list, func(o mcp.Tool) bool { return o.Name == t.Name })
	}
	var what []string
	for _, t := range now {
		switch i := find(before, t); {
		case i < 0:
			what = append(what, t.Name+" (new)")
		case before[i].Sum != t.Sum:
			what = append(what, t.Name+" (described in another way)")
		}
	}
	for _, t := range before {
		if find(now, t) < 0 {
			what = append(what, t.Name+" (gone)")
		}
	}
	if len(what) > 0 {
		m.all.notice(word.LevelInfo, "the MCP server %s has changed its tools: %s", m.name, short.List(what, 8))
	}
}
