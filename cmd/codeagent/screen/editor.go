package screen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	"codeagent/tui"
)

// offerWriting gives the screen what belongs to writing a message.
func offerWriting(ctx context.Context, ses *conversation.Session, kept *sessionList, o *tui.Options) {
	o.Writing.Vim, o.Writing.History = ses.Workspace.Config.TUI.Vim, offerHistory(ses)
	o.Writing.Files = func(ctx context.Context) ([]string, bool, error) { return listFiles(ctx, ses) }
	if ses.Tour == nil {
		o.Writing.Run, o.Writing.Drafts = ses.Command, &drafts{ses: ses, last: ses.Workspace.Draft, kept: kept}
	}
	o.Writing.Edit = func(text string) (string, error) { return edit(ctx, ses.Workspace, text) }
}

// editedMost bounds the text that an editor leaves.
const editedMost = 4 << 20

// edit lets the person edit a text in $VISUAL or $EDITOR, which has the terminal meanwhile.
// The text is in a folder of codeagent's own, which no command can read, and is removed
// afterwards. The editor runs outside the sandbox, as the person would start it; a program
// that commands could have placed is refused.
func edit(ctx context.Context, ws *workspace.Workspace, text string) (string, error) {
	s := ws.Stdio
	words := strings.Fields(cmp.Or(s.Env("VISUAL"), s.Env("EDITOR")))
	if len(words) == 0 {
		return "", errors.New("no editor is set: set VISUAL or EDITOR to its command")
	}
	dir, err := hostfile.MkdirTemp(ws.Paths.State, "edit-")
	if err != nil {
		return "", fmt.Errorf("the editor's file: %w", err)
	}
	defer func() { _ = hostfile.RemoveAll(dir) }() // only the user can read what is left
	file := filepath.Join(dir, "message.md")
	if err := hostfile.Write(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("the editor's file: %w", err)
	}
	cmd, err := ws.Ground().Command(ctx, s.Environ, words[0], append(words[1:], file)...)
	if err != nil {
		return "", fmt.Errorf("editor: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Out
	defer ws.Process.Lend()()
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("editor %s: %w; the message is as it was", words[0], err)
	}
	data, err := hostfile.Read(ctx, file, editedMost)
	if err != nil {
		return "", fmt.Errorf("the editor's file: %w", err)
	}
	return strings.ToValidUTF8(string(data), "�"), nil
}
