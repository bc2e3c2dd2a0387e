package main

import (
	"context"
	"errors"

	"codeagent/agent"
	"codeagent/event"
	sessions "codeagent/session"
	"codeagent/tui"
)

// offer hands the screen what it can do in this session beside talking. The tour
// plays its part: it can be undone, and nothing else. offer returns the sessions that can be gone on
// with from here.
func (ses *session) offer(o *tui.Options, tell func(event.Event)) *keptSessions {
	kept := &keptSessions{s: ses.Stdio, store: sessions.New(ses.Paths.Sessions), here: ses.Folder}
	o.Undo = ses.offerUndo()
	if ses.tour != nil {
		return kept
	}
	if ses.record != nil {
		kept.current = ses.record.log
	}
	o.Sessions, o.Models, o.Images = kept, &models{ses: ses, show: tell}, imageLoader{ses}
	o.Clipboard = newClipboard(ses)
	o.Background = backgroundCommands{ses}
	o.Compact = func(ctx context.Context, focus string) error {
		_, err := ses.agent.Compact(ctx, focus)
		if errors.Is(err, agent.ErrNothing) || errors.Is(err, agent.ErrBusy) {
			return err
		}
		return nil // else Compacted told it
	}
	return kept
}
