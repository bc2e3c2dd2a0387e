// Package languages joins the language servers of a session: it finds those that are installed,
// starts each in a sandbox of its own at the first change of a file of its, hands changed files over
// and returns the errors that are new. It permits nothing, and no call waits for a server longer than a
// second. Start reading at After.
//
// Threat: a server is hostile, and so are the files that it reads. It reads the workspace and what the
// system has installed, as an MCP server without settings does; it writes a private folder and reaches no
// network. What it says is bounded by room diagnostics.
package languages

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"codeagent/cmd/codeagent/servers"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/config/server"
	"codeagent/diagnostics"
	"codeagent/event"
	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

const (
	// patience is how long a call waits for reports on what it changed, and impatience how long if the last
	// ones were late.
	patience   = time.Second
	impatience = patience / 4
	// mostFailures is how often a server may end by itself or be ended.
	mostFailures = 3
	// idleTime is how long a server runs without a change: its memory is that of a compiler.
	idleTime = 10 * time.Minute
	// mostFiles bounds the files of one call, and mostText the text of each, in bytes.
	mostFiles = 20
	mostText  = 1 << 20
)

// Options is what the language servers of a session need.
type Options struct {
	Workspace *workspace.Workspace
	// Trusted protects in a policy what git takes programs from. It may block; nil: nothing.
	Trusted func(sandbox.Policy) sandbox.Policy
	// Warn shows the person a line.
	Warn func(text string)
}

// Languages are the language servers of a session. Its methods are safe for concurrent use, and a nil one
// has no server.
type Languages struct {
	o    Options
	list []*language // by name
}

// language is a server that may be started.
type language struct {
	all *Languages
	of  config.LanguageServer

	mu       sync.Mutex
	client   *diagnostics.Client // nil: it does not run; guarded by mu
	failures int                 // guarded by mu
	late     bool                // its last reports were late; guarded by mu
	idle     *time.Timer         // ends it; guarded by mu
	over     bool                // it is not started any more; guarded by mu
}

// New returns the servers that the settings allow. It starts none and looks for none.
func New(o Options) *Languages {
	if !o.Workspace.Confines() {
		return nil
	}
	l := &Languages{o: o}
	for _, of := range o.Workspace.Config.LanguageServers() {
		l.list = append(l.list, &language{all: l, of: of})
	}
	return l
}

// Close ends all servers with everything that they started.
func (l *Languages) Close() {
	if l == nil {
		return
	}
	var all sync.WaitGroup
	for _, s := range l.list {
		all.Go(func() {
			s.mu.Lock()
			s.over = true
			s.mu.Unlock()
			s.stop()
		})
	}
	all.Wait()
}

// After hands over what a call changed: edits, with paths relative to the workspace or absolute, and what
// a command changed. It returns the errors that are new, also those that earlier calls did not wait for.
func (l *Languages) After(ctx context.Context, edits []event.FileChange, changed sandbox.Changes) (out []event.Diagnostics) {
	if l == nil {
		return nil
	}
	out = l.found("since the last edit: ")
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sooner, cancel := context.WithTimeout(soon, impatience)
	defer cancel()
	for s, answered := range l.check(ctx, edits, changed) {
		s.wait(soon, sooner, answered)
	}
	return append(out, l.found("")...)
}

// wait waits for reports until soon ends, or sooner if the last ones were late.
func (s *language) wait(soon, sooner context.Context, answered <-chan struct{}) {
	s.mu.Lock()
	limit := soon
	if s.late {
		limit = sooner
	}
	s.mu.Unlock()
	late := false
	select {
	case <-answered:
	case <-limit.Done():
		late = true
	}
	s.mu.Lock()
	s.late = late
	s.mu.Unlock()
}

// found returns what the running servers found since the last call.
func (l *Languages) found(when string) (out []event.Diagnostics) {
	for _, s := range l.list {
		s.mu.Lock()
		client := s.client
		s.mu.Unlock()
		if client == nil {
			continue
		}
		if found := client.Found(); len(found) > 0 {
			title, lines := diagnostics.Words(s.of.Name, found)
			out = append(out, event.Diagnostics{Title: when + title, Lines: lines})
		}
	}
	return out
}

// check hands the changed files to their servers.
func (l *Languages) check(ctx context.Context, edits []event.FileChange, changed sandbox.Changes) map[*language]<-chan struct{} {
	files := map[*language][]diagnostics.File{}
	add := func(f diagnostics.File) {
		s := l.of(f.Path)
		if s == nil || len(files[s]) == mostFiles || !l.inside(f.Path) {
			return
		}
		if f.After != nil && (len(*f.After) > mostText || !utf8.ValidString(*f.After)) {
			return
		}
		files[s] = append(files[s], f)
	}
	for _, e := range edits {
		if e.From != "" {
			add(diagnostics.File{Path: l.absolute(e.From)})
		}
		if name := l.absolute(e.Path); e.After != nil || e.Kind == sandbox.Deleted {
			add(diagnostics.File{Path: name, Before: e.Before, New: e.Kind == sandbox.Added, After: e.After})
		}
	}
	for _, c := range changed.List {
		if l.of(c.Path) == nil || !l.inside(c.Path) || len(files[l.of(c.Path)]) == mostFiles {
			continue
		}
		f := diagnostics.File{Path: c.Path, New: c.Kind == sandbox.Added}
		if c.Kind != sandbox.Deleted {
			data, err := hostfile.Read(ctx, c.Path, mostText) // a command may have put anything there
			if err != nil {
				continue
			}
			text := string(data)
			f.After = &text
		}
		add(f)
	}
	out := map[*language]<-chan struct{}{}
	for s, list := range files {
		if client := s.running(); client != nil {
			out[s] = client.Check(list)
		}
	}
	return out
}

func (l *Languages) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(l.o.Workspace.Folder, name)
}

// inside reports whether a file lies in the workspace and may be read by commands.
func (l *Languages) inside(name string) bool {
	return sandbox.Covers(l.o.Workspace.Folder, name) && l.o.Workspace.Policy.JudgeRead(name).Allowed
}

// of returns the server for a file; nil: none.
func (l *Languages) of(name string) *language {
	for _, s := range l.list {
		if s.of.Languages[path.Ext(name)] != "" {
			return s
		}
	}
	return nil
}

// running returns the client of the server, and makes a new one if none runs; nil: it cannot be started.
func (s *language) running() *diagnostics.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		select {
		case <-s.client.Done():
			s.failed(s.client.Err())
		default:
		}
	}
	if s.client != nil || s.over {
		return s.live()
	}
	// The house rule: no program runs that a command can have put into PATH.
	if !strings.Contains(s.of.Command, "/") && s.all.o.Workspace.Program(s.of.Command) == "" {
		return nil
	}
	s.client = diagnostics.New(diagnostics.Options{Root: s.all.o.Workspace.Folder, Languages: s.of.Languages, Start: s.start})
	s.idle = time.AfterFunc(idleTime, s.stop)
	return s.client
}

// live returns the client, which has idleTime from now on. The caller holds s.mu.
func (s *language) live() *diagnostics.Client {
	if s.client != nil {
		s.idle.Reset(idleTime)
	}
	return s.client
}

// failed notes that the server ended; the last time the person is warned. The caller holds s.mu.
func (s *language) failed(err error) {
	s.client = nil
	s.idle.Stop()
	if s.failures++; s.failures == mostFailures && !s.over {
		s.over = true
		s.all.o.Warn(fmt.Sprintf("the language server %s failed %d times and is not used any more in this session: %v", s.of.Name, s.failures, err))
	}
}

// stop ends the server. The next change of a file of its starts it again.
func (s *language) stop() {
	s.mu.Lock()
	client := s.client
	s.client = nil
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	if client != nil {
		client.Close()
	}
}

// start starts the program of the server.
func (s *language) start(ctx context.Context) (p diagnostics.Process, err error) {
	ws := s.all.o.Workspace
	own := servers.Private(ws, s.of.Name)
	set := server.Settings{Command: s.of.Command, Args: s.of.Args, Needs: s.of.Read, Env: map[string]string{}, Origin: server.OfUser, Sandbox: server.Sandbox{Env: s.of.Inherited}}
	for name, value := range s.of.Env {
		set.Env[name] = strings.ReplaceAll(value, "$CODEAGENT_SERVER_DIR", own)
	}
	plan, err := servers.PrepareProgram(ctx, servers.Options{Workspace: ws, Trusted: s.all.o.Trusted}, set, own)
	if err != nil {
		return p, err
	}
	temp, discard, err := ws.Paths.NewTemp()
	if err != nil {
		return p, err
	}
	plan.Policy.Temp = temp
	runner, over, err := ws.Apart()
	if err != nil {
		_ = discard()
		return p, err
	}
	end := func() {
		over()
		_ = discard() // what is left is swept later
	}
	service, err := runner.Serve(ctx, plan.Policy, exec.Command{By: "the language server " + s.of.Name, Argv: plan.Argv, Dir: own})
	if err != nil {
		end()
		return p, err
	}
	service.End() // nobody is asked
	return diagnostics.Process{Out: service.Out, In: service.In, Close: func() {
		service.Close()
		end()
	}}, nil
}
