package screen

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/hostfile"
	"codeagent/tui"
	"codeagent/tui/message"
)

const (
	// historyBytes bounds a project's history file; beyond it the older half goes.
	historyBytes = 1 << 20
	// historyText bounds one message in it: a longer one is not kept.
	historyText = 64 << 10
)

// history is the history of what was typed in a project: a line of JSON for each message in a
// file that only the user can read. Pastes are kept apart from what was typed; images are not
// kept.
type history struct{ file string }

type typedLine struct {
	Text   string   `json:"text"`
	Pastes []string `json:"pastes,omitempty"`
}

// offerHistory returns nil where nothing of the session is kept: an ephemeral run, the tour.
func offerHistory(ses *conversation.Session) tui.History {
	if ses.Record == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(ses.Workspace.Folder))
	return history{filepath.Join(ses.Workspace.Paths.History, hex.EncodeToString(sum[:16])+".jsonl")}
}

// Load leaves out lines that are damaged.
func (h history) Load(ctx context.Context) ([]message.Message, error) {
	data, err := hostfile.Read(ctx, h.file, 2*historyBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []message.Message
	for line := range bytes.Lines(data) {
		var l typedLine
		if json.Unmarshal(line, &l) == nil && l.Text != "" {
			out = append(out, message.Message{Text: l.Text, Pastes: l.Pastes})
		}
	}
	return out, err
}

func (h history) Add(ctx context.Context, said message.Message) error {
	line, err := json.Marshal(typedLine{said.Text, said.Pastes})
	if err != nil || len(line) > historyText {
		return err
	}
	unlock, err := hostfile.Lock(filepath.Dir(h.file))
	if err != nil {
		return err
	}
	defer unlock()
	line = append(line, '\n')
	if info, err := hostfile.Lstat(h.file); err == nil && info.Size()+int64(len(line)) > historyBytes {
		return h.shorten(ctx, line)
	}
	f, err := hostfile.OpenFile(h.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// shorten writes the newer half of the file, and line.
func (h history) shorten(ctx context.Context, line []byte) error {
	data, err := hostfile.Read(ctx, h.file, 2*historyBytes)
	var large *hostfile.TooLargeError
	if err != nil && !errors.As(err, &large) {
		return err
	}
	data = data[max(len(data)-historyBytes/2, 0):]
	data = data[bytes.IndexByte(data, '\n')+1:]
	r, err := hostfile.Replace(h.file, 0o600)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Write(func(w io.Writer) error {
		_, err := w.Write(slices.Concat(data, line))
		return err
	})
}
