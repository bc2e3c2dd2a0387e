package screen

import (
	"context"
	"errors"
	"fmt"

	"codeagent/agent"
	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/event"
	"codeagent/hostfile"
	"codeagent/internal/picture"
	sessions "codeagent/session"
	"codeagent/tui"
	"codeagent/tui/message"
)

// offer gives the screen the commands of this session beside the conversation. The tour
// supports only undo. It returns the list of sessions that can be resumed from here.
func offer(ses *conversation.Session, o *tui.Options, tell func(event.Event)) *saved {
	kept := &saved{s: ses.Stdio, store: sessions.New(ses.Paths.Sessions), here: ses.Folder}
	o.Undo = offerUndo(ses)
	if ses.Tour != nil {
		return kept
	}
	if ses.Record != nil {
		kept.current = ses.Record.Log
	}
	o.Sessions, o.Models, o.Images = kept, &models{ses: ses, show: tell}, imageLoader{ses}
	o.Clipboard = pasting{attach.NewClipboard(ses.Workspace, ses.Sees)}
	o.Background = backgroundCommands{ses}
	o.Compact = func(ctx context.Context, focus string) error {
		_, err := ses.Agent.Compact(ctx, focus)
		if errors.Is(err, agent.ErrNothing) || errors.Is(err, agent.ErrBusy) {
			return err
		}
		return nil // Compacted reports any other error
	}
	return kept
}

// pasting adapts the clipboard to the screen.
type pasting struct{ from attach.Clipboard }

// Read implements tui.Clipboard.
func (p pasting) Read(ctx context.Context) (tui.Clip, error) {
	c, err := p.from.Read(ctx)
	if err != nil || c.Image == nil {
		return tui.Clip{Text: c.Text}, err
	}
	img := shown(*c.Image)
	return tui.Clip{Image: &img}, nil
}

// imageLoader loads images whose paths the person pastes.
type imageLoader struct{ ses *conversation.Session }

func (l imageLoader) Load(ctx context.Context, path string) (message.Image, error) {
	if info, err := hostfile.Seen(path); err != nil || !info.Mode().IsRegular() {
		return message.Image{}, tui.ErrNoImage
	}
	img, err := attach.Image(ctx, l.ses.Ground(), path)
	if errors.Is(err, picture.ErrFormat) {
		err = fmt.Errorf("%w: %w", tui.ErrNoImage, err)
	}
	if err != nil {
		return message.Image{}, err
	}
	if err := l.ses.Sees(); err != nil {
		return message.Image{}, err
	}
	return shown(img), nil
}
