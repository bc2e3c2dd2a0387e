package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/patterns"
)

// ReadPatterns returns what earlier sessions learned about which call follows which step, and a notice for the user, or
// "".
func ReadPatterns(ctx context.Context, paths config.Paths) (patterns.Book, string) {
	file := filepath.Join(paths.Patterns(), patterns.SnapshotFile)
	data, err := hostfile.Read(ctx, file, patterns.MaxSnapshot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	var book patterns.Book
	notice := ""
	if err == nil {
		book, notice, err = patterns.Decode(data)
	}
	if err != nil {
		notice = "what earlier sessions learned is ignored: " + file + ": " + err.Error()
	}
	return book, notice
}

// NotePatterns adds what was learned to the journal, unless that is full. fold: the journal is long enough to be folded.
func NotePatterns(paths config.Paths, list []patterns.Observation) (fold bool, err error) {
	var lines bytes.Buffer
	for _, o := range list {
		if err := json.NewEncoder(&lines).Encode(o); err != nil {
			return false, err
		}
	}
	dir := paths.Patterns()
	if err := hostfile.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	unlock, err := hostfile.Lock(dir) // the side program takes the journal away
	if err != nil {
		return false, err
	}
	defer unlock()
	f, err := hostfile.OpenFile(filepath.Join(dir, patterns.Journal), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < patterns.MaxJournal {
		_, err = f.Write(lines.Bytes())
	}
	return err == nil && info.Size()+int64(lines.Len()) >= patterns.FoldFrom, errors.Join(err, f.Close())
}

// PatternsKept returns why nothing of this session is kept for later ones: the side program is missing, or commands may
// replace it.
func (ws *Workspace) PatternsKept() error {
	extra, err := Extra(ws.Process)
	if err == nil {
		_, err = ws.Ground().Program("", extra[0])
	}
	return err
}

// FoldPatterns starts the side program, which merges the journal into the database and may run longer than codeagent. If
// forget names a project, the side program also deletes what was learned there, and FoldPatterns waits for it.
func (ws *Workspace) FoldPatterns(ctx context.Context, forget string) error {
	extra, err := Extra(ws.Process)
	if err != nil {
		return err
	}
	args := append(extra[1:], "patterns", ws.Paths.Patterns())
	if forget != "" {
		args = append(args, patterns.Forget+forget) // no argument is a path where commands may write
	}
	cmd, err := ws.Ground().Command(ctx, ws.Stdio.Environ, extra[0], args...)
	if err != nil {
		return err
	}
	if cmd.Env = []string{}; forget != "" {
		_, err = hostfile.Output(cmd, ExtraName, 1<<10)
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with it, or with codeagent
	return nil
}

// ForgetPatterns removes all that is known of the folder.
func ForgetPatterns(ctx context.Context, s cli.Stdio, p cli.Process, folder string) error {
	paths, ground, err := Places(ctx, s)
	if err != nil {
		return err
	}
	if _, err := hostfile.Lstat(paths.Patterns()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return (&Workspace{Paths: paths, Process: p, Stdio: s, recorded: ground}).FoldPatterns(ctx, folder)
}
