package trycmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/learning"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/draft"
	"codeagent/internal/visible"
	"codeagent/sandbox"
	"codeagent/tools"
)

// compared is the size of the largest file that is shown line by line, in bytes.
const compared = 1 << 20

// plainly has a terminal show what follows, whatever the command told it to hide: a soft reset, no attributes, letters and
// no line drawing, the main screen (xterm's control sequences).
const plainly = "\x1b[!p\x1b[0m\x1b(B\x0f\x1b[?47l\r\n"

// decide has the person decide about changes, or the flags, and carries that out.
func (t *trial) decide(ctx context.Context, changes []draft.Change) (kept []draft.Change, left []draft.Left, err error) {
	switch {
	case len(changes) == 0, t.how.drop:
		return nil, nil, nil
	case t.how.keep:
		return t.keep(ctx, changes)
	case t.session != nil && !learning.CanAsk(t.Stdio):
		return nil, nil, errLater
	}
	if !t.Stdio.Dumb() {
		fmt.Fprint(t.Stdio.Err, plainly)
	}
	t.report.list(t.Stdio.Err)
	question := "Keep [a]ll, [s]ome, [n]othing, or show the [d]iff? "
	if t.session != nil {
		question = "Keep [a]ll, [s]ome, [n]othing, decide [l]ater, or show the [d]iff? "
	}
	for {
		answer, err := t.ask(ctx, question)
		if err != nil {
			return nil, nil, err
		}
		switch answer {
		case "l":
			if t.session != nil {
				return nil, nil, errLater
			}
		case "a":
			return t.keep(ctx, changes)
		case "n":
			return nil, nil, nil
		case "d":
			for _, c := range changes {
				t.show(c)
			}
		case "s":
			some, err := t.some(ctx, changes)
			if err != nil || len(some) == 0 {
				return nil, nil, err
			}
			return t.keep(ctx, some)
		}
	}
}

var errLater = errors.New("the person decides later")

// Settle has the person decide about the draft d of a session that ends. keep keeps changes, and without one drops all.
func Settle(ctx context.Context, ws *workspace.Workspace, d *draft.Draft, keep func(context.Context, *draft.Draft, []draft.Change) ([]draft.Change, []draft.Left, error)) error {
	t := &trial{Workspace: ws, draft: d, session: keep}
	switch err := t.settle(ctx); {
	case errors.Is(err, fs.ErrNotExist): // it was decided before
	case errors.Is(err, errLater):
		fmt.Fprintf(ws.Stdio.Err, "codeagent: the draft stays for a week: codeagent --draft=%s continues with it, codeagent try --draft %s decides\n", d.ID(), d.ID())
	case err != nil:
		return err
	case len(t.report.Changes) > 0:
		t.report.words(ws.Stdio.Err)
	}
	return nil
}

// settle has the person decide, and reports what became of the changes. After an error the draft stays.
func (t *trial) settle(ctx context.Context) error {
	changes, err := t.draft.Changes()
	if err != nil {
		return err
	}
	t.report.Changes = shown(changes, t.Folder)
	kept, left, err := t.decide(ctx, changes)
	t.report.settle(kept, left)
	switch {
	case err != nil:
		return err
	case len(left) > 0:
		t.report.Draft = t.draft.ID()
		return nil
	case t.session != nil && len(kept) == 0:
		_, _, err = t.session(ctx, t.draft, nil)
		return err
	}
	return t.draft.Drop()
}

// ask asks on the terminal, and returns the first letter of the answer.
func (t *trial) ask(ctx context.Context, question string) (string, error) {
	line, err := learning.Answer(ctx, t.Stdio, question)
	if err != nil {
		err = cli.Hinted(cli.ExitFailed, fmt.Errorf("nobody answered: %w", err), "the changes stay in a draft for a week: codeagent try --draft "+t.draft.ID())
	}
	return strings.ToLower(line[:min(1, len(line))]), err
}

// some asks about each change, and about the hunks of a text.
func (t *trial) some(ctx context.Context, changes []draft.Change) ([]draft.Change, error) {
	var failed error
	rest := "" // the answer to all that follow
	out := draft.Chosen(changes, func(c draft.Change) (draft.Change, bool) {
		if c.Why != "" || failed != nil {
			return c, false
		}
		old, now, text := c.Contents(compared)
		hunks := draft.Hunks(old, now)
		parts := text && len(hunks) > 1 && c.Kind == sandbox.Updated
		choices := "[y]es, [n]o, [d]iff, [a]ll the rest, [q]uit: none of the rest"
		if parts {
			choices = "[y]es, [n]o, by [h]unk, [d]iff, [a]ll the rest, [q]uit: none of the rest"
		}
		for answer := rest; ; answer = "" {
			if answer == "" {
				if answer, failed = t.ask(ctx, fmt.Sprintf("%s: %s? ", line(c, t.Folder), choices)); failed != nil {
					return c, false
				}
			}
			switch {
			case answer == "a", answer == "q":
				rest = answer
				return c, answer == "a"
			case answer == "y", answer == "n":
				return c, answer == "y"
			case answer == "d":
				t.show(c)
			case answer == "h" && parts:
				var any bool
				c, any, failed = t.hunks(ctx, c, old, hunks)
				return c, any && failed == nil
			}
		}
	})
	return out, failed
}

// hunks asks about each hunk, and returns c with those that were chosen.
func (t *trial) hunks(ctx context.Context, c draft.Change, old []byte, hunks []draft.Hunk) (part draft.Change, any bool, err error) {
	chosen := make([]bool, len(hunks))
	for i, h := range hunks {
		fmt.Fprintf(t.Stdio.Err, "@@ line %d @@\n", h.At)
		for _, side := range []struct {
			sign  string
			lines []string
		}{{"-", h.Old}, {"+", h.New}} {
			for _, l := range side.lines {
				fmt.Fprintln(t.Stdio.Err, side.sign+visible.Line(strings.TrimSuffix(l, "\n")))
			}
		}
		for answer := ""; answer != "y" && answer != "n"; {
			if answer, err = t.ask(ctx, fmt.Sprintf("Keep this hunk (%d of %d): [y]es, [n]o? ", i+1, len(hunks))); err != nil {
				return c, false, err
			}
			chosen[i] = answer == "y"
		}
		any = any || chosen[i]
	}
	return c.Part(old, hunks, chosen), any, nil
}

// show prints the diff of a change.
func (t *trial) show(c draft.Change) {
	old, now, ok := c.Contents(compared)
	if !ok || c.OnlyMode() {
		fmt.Fprintln(t.Stdio.Err, line(c, t.Folder))
		return
	}
	for l := range strings.Lines(tools.Compare(relative(c.Path, t.Folder), old, now).Diff) {
		fmt.Fprintln(t.Stdio.Err, visible.Line(strings.TrimSuffix(l, "\n")))
	}
}
