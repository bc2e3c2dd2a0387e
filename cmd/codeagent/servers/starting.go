package servers

import (
	"fmt"
	"slices"
	"time"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// slowStart is after which time Ready says for which servers it waits.
const slowStart = 700 * time.Millisecond

// starting are the members that have neither started nor failed.
func (s *Servers) starting() []*member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.status().State != Starting })
}

// sayWhileWaiting says what is waited for, until stop.
func (s *Servers) sayWhileWaiting() (stop func()) {
	slow := time.AfterFunc(slowStart, s.sayWaiting)
	return func() { slow.Stop() }
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
