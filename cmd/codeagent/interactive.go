package main

import (
	"context"
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/event"
	"codeagent/hostfile"
	"codeagent/model/tour"
	sessions "codeagent/session"
	"codeagent/tui"
	"codeagent/tui/message"
)

// interactiveOptions are what the ways to the screen differ in.
type interactiveOptions struct {
	ephemeral bool
	images    []string
	// from is the session to go on with.
	from *sessionscmd.Resumed
}

// runInteractive is codeagent on a terminal: one session, and what the person
// goes on with from it.
func runInteractive(ctx context.Context, s cli.Stdio, f cli.Flags, o interactiveOptions, args []string) error {
	if err := s.NoScreen(); err != nil {
		return err
	}
	prompt := strings.Join(args, " ")
	for {
		next, err := playSession(ctx, s, f, o, prompt)
		if err != nil || next == nil {
			return err
		}
		o, prompt = interactiveOptions{from: next}, ""
		f.Folder = "" // each session works in its own
	}
}

// playSession plays one session and returns the one to go on with, nil for none.
func playSession(ctx context.Context, s cli.Stdio, f cli.Flags, o interactiveOptions, prompt string) (*sessionscmd.Resumed, error) {
	ses, err := openSession(ctx, s, f, sessionOptions{attended: true, hasPrompt: prompt != "", ephemeral: o.ephemeral, images: o.images, from: o.from})
	if err != nil {
		return nil, err
	}
	defer ses.close()
	if ses.tour != nil && prompt == "" {
		prompt = ses.tour.Prompt
	}
	var screen *tui.Screen
	options := tui.Options{
		In: s.In, Out: s.Out, Environ: s.Environ, InitialPrompt: prompt, Mouse: ses.Config.TUI.Mouse,
		Suspend: func(ctx context.Context) { suspend(ctx, s.In) },
		Turn: func(ctx context.Context, said message.Message) error {
			err := ses.turn(ctx, input(said))
			if err == nil && ses.tour != nil {
				offerCleanup(ctx, screen, ses.tour)
			}
			return err
		},
	}
	if ses.tour == nil { // it plays its part once
		options.Back = func() (message.Message, bool) {
			in, ok := ses.back(drawn{screen})
			return screenMessage(in), ok
		}
	}
	kept := ses.offer(&options, func(e event.Event) { screen.Emit(e) })
	screen = tui.New(options)
	ses.join(drawn{screen})
	err = screen.Run(ctx)
	if ses.tour != nil {
		tellTourFiles(s, ses.tour) // what is left when the tour was stopped, or the files were kept
	}
	if ses.record != nil && ses.record.log.Kept() {
		fmt.Fprintf(s.Out, "to go on: codeagent resume %s\n", ses.record.log.ID())
	}
	return kept.next, err
}

// offerCleanup asks once whether what the tour made shall go.
func offerCleanup(ctx context.Context, screen *tui.Screen, t *tour.Tour) {
	made := t.Made()
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
	if err != nil || answer.Decision != approvals.Once {
		return
	}
	for _, name := range t.Made() {
		if err := hostfile.Remove(name); err != nil {
			screen.Emit(event.Notice{Level: event.LevelError, Text: err.Error()})
			continue
		}
		screen.Emit(event.Notice{Level: event.LevelInfo, Text: "removed " + name})
	}
}

// tellTourFiles says what the tour left behind.
func tellTourFiles(s cli.Stdio, t *tour.Tour) {
	if made := t.Made(); len(made) > 0 {
		fmt.Fprintf(s.Err, "the tour made: %s\n  to remove: rm %s\n", strings.Join(made, ", "), shellWords(made))
	}
}

// shellWords writes names so that a shell reads them back as they are.
func shellWords(names []string) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = approvals.ShellWord(n)
	}
	return strings.Join(words, " ")
}
