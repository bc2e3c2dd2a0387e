package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"codeagent/approvals/ledger"
	"codeagent/config"
	"codeagent/hostfile"
)

// GrantLog lists all that a session's grants allow at one time. ledger.jsonl has a line for each
// change; the last line of a session is its present state.
type GrantLog struct {
	Session string         `json:"session"`
	Folder  string         `json:"folder"`
	At      time.Time      `json:"at"`
	Entries []ledger.Entry `json:"entries"`
}

// mostLedger limits ledger.jsonl, in bytes. When the file is longer, its older half is removed.
const mostLedger = 4 << 20

// NoteGranted appends a line to ledger.jsonl.
func NoteGranted(ctx context.Context, paths config.Paths, g GrantLog) error {
	line, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if info, err := hostfile.Lstat(paths.Ledger); err == nil && info.Size() > mostLedger {
		old, err := hostfile.Read(ctx, paths.Ledger, 2*mostLedger)
		if err != nil {
			return err
		}
		_, newer, _ := bytes.Cut(old[len(old)/2:], []byte("\n"))
		if err := hostfile.Write(paths.Ledger, newer, 0o600); err != nil {
			return err
		}
	}
	f, err := hostfile.OpenFile(paths.Ledger, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n')) // a single write keeps the lines of several processes apart
	return errors.Join(err, f.Close())
}

// ReadGranted returns the last line that choose accepts: the state of one session. ok is false if
// choose accepts no line.
func ReadGranted(ctx context.Context, paths config.Paths, choose func(GrantLog) bool) (out GrantLog, ok bool, err error) {
	data, err := hostfile.Read(ctx, paths.Ledger, 2*mostLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return out, false, nil
	}
	for line := range bytes.Lines(data) {
		var g GrantLog
		// An incomplete line is skipped.
		if json.Unmarshal(line, &g) == nil && choose(g) {
			out, ok = g, true
		}
	}
	return out, ok, err
}
