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

// mostFiles bounds the files of one call for a server, and mostText the text of each, in bytes.
const (
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
	*diagnostics.Client
	of config.LanguageServer
}

// New returns the servers that the settings allow. It starts none and looks for none.
func New(o Options) *Languages {
	if !o.Workspace.Confines() {
		return nil
	}
	l := &Languages{o: o}
	for _, of := range o.Workspace.Config.LanguageServers() {
		l.list = append(l.list, &language{of: of, Client: diagnostics.New(diagnostics.Options{
			Root: o.Workspace.Folder, Languages: of.Languages,
			Start: func(ctx context.Context) (diagnostics.Process, error) { return l.start(ctx, of) },
			Failed: func(err error, worked bool) {
				if worked || of.Set { // else something of its name happens to be installed: doctor says what it lacks
					o.Warn(fmt.Sprintf("the language server %s failed and is not used any more in this session: %v", of.Name, err))
				}
			},
		})})
	}
	return l
}

// Found is a language server that is installed. Err is what it lacks.
type Found struct {
	Name, Program string
	Err           error
}

// Try starts each server that is installed, and ends it.
func (l *Languages) Try(ctx context.Context) (out []Found) {
	if l == nil {
		return nil
	}
	for _, s := range l.list {
		if program := l.program(s.of); program != "" {
			out = append(out, Found{s.of.Name, program, s.Client.Try(ctx)})
		}
	}
	return out
}

// program is where a server lies; "": it is not installed. The house rule: no program runs that a command
// can have put into PATH.
func (l *Languages) program(of config.LanguageServer) string {
	if strings.Contains(of.Command, "/") {
		return of.Command
	}
	return l.o.Workspace.Program(of.Command)
}

// Close ends all servers with everything that they started.
func (l *Languages) Close() {
	if l == nil {
		return
	}
	var all sync.WaitGroup
	for _, s := range l.list {
		all.Go(s.Close)
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
	soon, cancel := context.WithTimeout(ctx, diagnostics.Patience)
	defer cancel()
	for s, answered := range l.check(ctx, edits, changed) {
		s.Wait(soon, answered)
	}
	return append(out, l.found("")...)
}

// found returns what the servers found since the last call.
func (l *Languages) found(when string) (out []event.Diagnostics) {
	for _, s := range l.list {
		if title, lines := s.Found(); title != "" {
			out = append(out, event.Diagnostics{Title: when + title + " (" + s.of.Name + ")", Lines: lines})
		}
	}
	return out
}

// check hands the changed files to their servers.
func (l *Languages) check(ctx context.Context, edits []event.FileChange, changed sandbox.Changes) map[*language]<-chan struct{} {
	files := map[*language][]diagnostics.File{}
	add := func(f diagnostics.File, read bool) {
		s := l.of(&f.Path)
		if s == nil || len(files[s]) == mostFiles {
			return
		}
		if read {
			data, err := hostfile.Read(ctx, f.Path, mostText) // a command may have put anything there
			if err != nil {
				return
			}
			text := string(data)
			f.After = &text
		}
		if f.After == nil || len(*f.After) <= mostText && utf8.ValidString(*f.After) {
			files[s] = append(files[s], f)
		}
	}
	for _, e := range edits {
		if e.From != "" {
			add(diagnostics.File{Path: e.From}, false)
		}
		if e.After != nil || e.Kind == sandbox.Deleted {
			add(diagnostics.File{Path: e.Path, Before: e.Before, New: e.Kind == sandbox.Added, After: e.After}, false)
		}
	}
	for _, c := range changed.List {
		add(diagnostics.File{Path: c.Path, New: c.Kind == sandbox.Added}, c.Kind != sandbox.Deleted)
	}
	out := map[*language]<-chan struct{}{}
	for s, list := range files {
		out[s] = s.Check(list)
	}
	return out
}

// of returns the server for a file, whose name it makes absolute. nil: none is installed, or the file lies
// outside the workspace or may not be read by commands.
func (l *Languages) of(name *string) *language {
	ws := l.o.Workspace
	if !filepath.IsAbs(*name) {
		*name = filepath.Join(ws.Folder, *name)
	}
	for _, s := range l.list {
		if s.of.Languages[path.Ext(*name)] == "" {
			continue
		}
		if l.program(s.of) != "" && sandbox.Covers(ws.Folder, *name) && ws.Policy.JudgeRead(*name).Allowed {
			return s
		}
		return nil
	}
	return nil
}

// start starts the program of a server.
func (l *Languages) start(ctx context.Context, of config.LanguageServer) (p diagnostics.Process, err error) {
	ws := l.o.Workspace
	own := servers.Private(ws, of.Name)
	set := server.Settings{Command: of.Command, Args: of.Args, Needs: of.Read, Env: map[string]string{}, Origin: server.OfUser, Sandbox: server.Sandbox{Env: of.Inherited}}
	for name, value := range of.Env {
		set.Env[name] = strings.ReplaceAll(value, "$CODEAGENT_SERVER_DIR", own)
	}
	plan, err := servers.PrepareProgram(ctx, servers.Options{Workspace: ws, Trusted: l.o.Trusted}, set, own)
	if err != nil {
		return p, err
	}
	runner, over, err := ws.ApartAsSystem()
	if err != nil {
		return p, err
	}
	temp, discard, err := ws.Paths.NewTemp()
	if err != nil {
		over()
		return p, err
	}
	plan.Policy.Temp = temp
	service, err := runner.Serve(ctx, plan.Policy, exec.Command{By: "the language server " + of.Name, Argv: plan.Argv, Dir: own})
	p.Close = func() {
		if err == nil {
			service.Close()
		}
		over()
		_ = discard() // what is left is swept later
	}
	if err != nil {
		p.Close()
		return p, err
	}
	service.End() // nobody is asked
	p.Out, p.In, p.Printed = service.Out, service.In, service.Errors
	return p, nil
}
