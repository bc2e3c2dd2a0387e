package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// After slowStart Ready says for which servers it waits, and after stuckStart what they were refused so
// far: programs such as npx try for a long time what the sandbox refused them.
const (
	slowStart  = 700 * time.Millisecond
	stuckStart = 4 * time.Second
)

// starting are the members that have neither started nor failed.
func (s *Servers) starting() []*member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.status().State != Starting })
}

// sayWhileWaiting says what is waited for, until stop.
func (s *Servers) sayWhileWaiting() (stop func()) {
	slow, stuck := time.AfterFunc(slowStart, s.sayWaiting), time.AfterFunc(stuckStart, s.sayRefused)
	return func() { slow.Stop(); stuck.Stop() }
}

// meanwhile says what is waited for. Before there is a face, while the session waits for the required
// servers, it stands on stderr at once.
func (s *Servers) meanwhile(format string, args ...any) {
	s.mu.Lock()
	faceless := s.face == nil
	s.mu.Unlock()
	if faceless {
		fmt.Fprintln(s.options.Workspace.Stdio.Err, "codeagent: "+visible.Log(fmt.Sprintf(format, args...)))
		return
	}
	s.notice(word.LevelInfo, format, args...)
}

// sayWaiting names the servers that are waited for.
func (s *Servers) sayWaiting() {
	var names []string
	for _, m := range s.starting() {
		names = append(names, m.name)
	}
	if len(names) > 0 {
		s.meanwhile("waiting for %s to start: %s", short.Count(len(names), "MCP server"), short.List(names, 8))
	}
}

// sayRefused says what the servers that are waited for were refused.
func (s *Servers) sayRefused() {
	for _, m := range s.starting() {
		if words := m.refusals(&m.refused); len(words) > 0 {
			s.meanwhile("the MCP server %s has not started yet: %s", m.name, strings.Join(words, "; "))
		}
	}
}

// refusals are the lines that say what was refused, and what the person can do about it; none if nothing
// was.
func (m *member) refusals(r *refusalLog) (out []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range r.list[:min(len(r.list), mostRefused)] {
		out = append(out, "the sandbox refused it: "+refusal(d))
	}
	if slices.ContainsFunc(r.list, func(d sandbox.Denial) bool { return d.Kind == sandbox.KindRead }) {
		out = append(out, "it reads its own home, what its settings name, and the workspace; read in [mcp.servers."+m.name+".sandbox] opens more")
	}
	if len(r.list) > 0 {
		out = append(out, "codeagent mcp learn "+m.name+" finds out what it needs")
	}
	return out
}

// early sees what a server is refused while it starts. It grants nothing, and no call waits for it.
type early struct {
	m   *member
	one *instance
}

// Asks is part of sandbox.Holder.
func (e early) Asks(d sandbox.Denial) bool {
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	e.m.add(e.one, d)
	return false
}

// Hold is part of sandbox.Holder.
func (early) Hold(context.Context, sandbox.Denial) (sandbox.Grant, bool) {
	return sandbox.Grant{}, false
}
