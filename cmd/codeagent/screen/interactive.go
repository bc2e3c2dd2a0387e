// Package screen is codeagent on a terminal: it runs a session on the screen of package tui
// and connects the screen's commands (/undo, /ps, ...). It touches files only through other
// rooms, except those that the tour made. Read Run first, then offers.go.
package screen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/trycmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/internal/visible"
	"codeagent/sandbox"
	sessions "codeagent/session"
	"codeagent/tui"
	"codeagent/tui/attention"
	"codeagent/tui/message"
	"codeagent/tui/paint"
)

// Options holds what differs between the commands that open the screen.
type Options struct {
	Ephemeral bool
	Images    []string
	// Learn is conversation.Options.Learn of the first session.
	Learn func(server string) func(sandbox.Denial) (sandbox.Grant, bool)
	// theme is what the person chose in an earlier session of this run; "": nothing.
	theme *string
	// tour: without a model the person wants the tour. said is about what was kept before the session.
	tour bool
	said string
	// from is the session to resume, or the one before a new one.
	from *sessionscmd.ResumeTarget
}

// Run is codeagent on a terminal: one session, then each session that the person switches
// to from it.
func Run(ctx context.Context, s cli.Stdio, f cli.Flags, o Options, args []string) error {
	if err := s.NoScreen(); err != nil {
		if _, wrong := workspace.Settings(ctx, s, f); wrong != nil {
			return cli.Usage(wrong) // it would be in the way with a terminal, too
		}
		return err
	}
	if cmp.Or(f.Log, s.Env("CODEAGENT_LOG")) == "-" && cli.IsTerminal(s.Err) {
		return cli.Usage(errors.New("--log - would write over the screen"), "name a file, or redirect stderr: codeagent --log - 2>codeagent.log")
	}
	prompt := strings.Join(args, " ")
	typed := &lineReader{in: s.In, process: f.Process}
	o.theme = new(string)
	for {
		next, err := playSession(ctx, s, f, o, prompt, typed)
		if again, ok := elsewhere(ctx, s, f, err); ok {
			f = again
			continue
		}
		if again, said, played, ok := withoutModel(ctx, s, f, err); ok {
			f, o.said, o.tour = again, said, played
			continue
		}
		if no := (*workspace.DraftError)(nil); o.from != nil && o.from.Draft != "" && errors.As(err, &no) {
			f.Draft, o.from.Draft, o.said = "", "", no.Error()
			continue
		}
		if err != nil || next == nil {
			return err
		}
		prompt, f.Draft = "", next.Draft
		if next.Model != "" {
			f = withChosen(ctx, s, f, next.Model)
		}
		if next.Fresh { // in the same folder
			f.Folder, o.Images, o.Learn, o.from, o.said = next.Folder, nil, nil, next, next.Said
			continue
		}
		o = Options{from: next, theme: o.theme, said: next.Said}
		f.Folder = "" // each session has its own folder
	}
}

// playSession plays one session and returns the one to resume next, nil to end.
func playSession(ctx context.Context, s cli.Stdio, f cli.Flags, o Options, prompt string, typed *lineReader) (*sessionscmd.ResumeTarget, error) {
	opening := conversation.Options{Audience: conversation.Audience{Attended: true, Mentions: true}, Beginning: conversation.Beginning{HasPrompt: prompt != "", Ephemeral: o.Ephemeral, Images: o.Images, From: o.from, Tour: o.tour}, Scope: conversation.Scope{Learn: o.Learn}}
	if o.from != nil {
		opening.Effort = o.from.Effort
		if o.from.Fresh {
			opening.From, opening.Like = nil, o.from.ID
		}
	}
	base, err := conversation.Open(ctx, s, f, opening)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	face := &drawn{}
	ses := conversation.Join(base, face)
	if ses.Tour != nil && prompt == "" && !s.Dumb() {
		prompt = ses.Tour.Prompt
	}
	table, err := keyTable(ses.Workspace.Config)
	if err != nil {
		return nil, cli.Usage(err)
	}
	colours, err := look(ses.Workspace.Config)
	if err != nil {
		return nil, cli.Usage(err)
	}
	colours.Theme = cmp.Or(*o.theme, colours.Theme)
	colours.Chosen = func(theme string) { *o.theme = theme }
	colours.Attention = callBack(ses.Workspace.Config.TUI)
	var screen *tui.Screen
	var tidy cleanup
	options := tui.Options{
		In: s.In, Out: s.Out, Environ: s.Environ, Home: s.Env("HOME"), InitialPrompt: prompt, Mouse: ses.Workspace.Config.TUI.Mouse, Look: colours,
		Job: tui.Job{Suspend: suspend, Foreground: func() bool { return exec.InForeground(s.In) }},
		Turn: func(ctx context.Context, said message.Message) error {
			err := ses.Turn(ctx, input(said))
			if err == nil && ses.Tour != nil {
				tidy.offer(ctx, face, ses.Tour.Made())
			}
			return explained(err)
		},
	}
	if ses.Workspace.Config.Answers.Enabled {
		options.Again = func(ctx context.Context) error { return explained(ses.AskAgain(ctx)) }
	}
	back := &rewinder{ses: ses, face: face, undo: commands.NewUndoing(ses)}
	if ses.Tour == nil { // it plays only once
		options.Rewind = back
	}
	if back.undo != nil {
		options.Undo = back
	}
	kept := offer(ses, f, &options, func(e event.Event) { screen.Emit(e) })
	options.Opening = firstEntry(ses, kept, o.from != nil && !o.from.Fresh)
	options.Writing.Keys = table
	offerWriting(ctx, ses, kept, &options)
	offerExtras(ses, f, kept, &options)
	screen = tui.New(options)
	face.Screen = screen
	ses.Begin()
	if o.said != "" {
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: o.said})
	}
	if ses.Tour != nil && prompt == "" {
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: "no model is configured: any message begins the tour, which writes a file here"})
	}
	if s.Dumb() || ses.Workspace.Config.TUI.ScreenReader {
		err = typed.run(ctx, screen)
	} else {
		err = screen.Run(ctx)
	}
	if ses.Workspace.Draft != nil && err == nil {
		err = trycmd.Settle(ctx, ses.Workspace, ses.Workspace.Draft, ses.KeepDraft)
	}
	if ses.Tour != nil {
		ses.ReportTourFiles() // files left when the tour was stopped, or kept
	}
	if ses.Record != nil && ses.Record.Log.Kept() {
		fmt.Fprintf(s.Out, "to resume “%s”:\n  codeagent resume %s\n", paint.Cut(visible.Line(ses.Record.Log.Name()), 40), ses.Record.Log.ID())
	}
	return kept.next, err
}

// callBack is how the settings say that the person is called.
func callBack(c config.TUI) attention.Settings {
	return attention.Settings{Notify: c.Notify, Progress: c.Progress, Title: c.Title}
}

// cleanup asks whether the tour's files should be removed.
type cleanup struct{ kept []string }

// offer asks about the files that the person has not decided to keep.
func (c *cleanup) offer(ctx context.Context, screen conversation.Face, made []string) {
	made = slices.DeleteFunc(made, func(name string) bool { return slices.Contains(c.kept, name) })
	if len(made) == 0 {
		return
	}
	answer, err := screen.Ask(ctx, approvals.Request{
		ID: sessions.NewID(), Title: "The tour is over. Remove the files it made?",
		Warnings: made,
		Options: []approvals.Option{
			{Key: "1", Decision: approvals.Once, Label: "remove them"},
			{Key: "n", Decision: approvals.Deny, Label: "keep them"},
		},
	})
	if err != nil {
		return // interrupted: not decided
	}
	if answer.Decision != approvals.Once {
		c.kept = append(c.kept, made...)
		return
	}
	for _, name := range made {
		if err := hostfile.Remove(name); err != nil {
			screen.Emit(event.Notice{Level: word.LevelError, Text: err.Error()})
			continue
		}
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: "removed " + name})
	}
}

// suspend stops codeagent, as Ctrl+Z does for other programs. It returns when codeagent goes on,
// or when ctx ends.
func suspend(ctx context.Context) {
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	defer signal.Stop(woken)
	_ = syscall.Kill(0, syscall.SIGTSTP) // the whole process group, with its children
	// An orphaned process group is not stopped (setpgid(2)).
	select {
	case <-woken:
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}

// explained adds to the error of a turn what the person can do next.
func explained(err error) error {
	if errors.Is(err, agent.ErrOutOfRequests) {
		return fmt.Errorf("%w: any message lets the model continue", err)
	}
	return err
}
