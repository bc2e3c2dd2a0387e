package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// maxSettings bounds config.toml, in bytes.
const maxSettings = 1 << 20

// ChangeSettings applies edit to the user's config.toml. The file must be valid after the edit;
// otherwise it stays unchanged.
func ChangeSettings(ctx context.Context, paths config.Paths, edit func(text []byte) ([]byte, error)) error {
	return changeFile(ctx, paths, paths.File, maxSettings, 0o600, func(before []byte) ([]byte, error) {
		text, err := edit(slices.Clone(before))
		if known := new(cli.HintError); errors.As(err, &known) {
			return nil, err
		}
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("%s: %w", paths.File, err), "nothing was changed")
		}
		if err := (config.Sources{File: paths.File}).Check(ctx, text); err != nil {
			return nil, cli.Usage(err, "nothing was changed", "codeagent help config lists the settings")
		}
		return text, nil
	})
}

// AddLine adds a line to the end of a file of instructions, which may be absent. No link that a command may have
// made leads it elsewhere. before, if not nil, gets the file before it changes.
func (ws *Workspace) AddLine(ctx context.Context, file, line string, before sandbox.ChangeObserver) error {
	file, err := ws.Ground().Resolve("/", file)
	if err != nil {
		return err
	}
	return changeFile(ctx, ws.Paths, file, maxSettings, 0o644, func(text []byte) ([]byte, error) {
		if before != nil {
			dir, err := hostfile.OpenFolder(filepath.Dir(file))
			if err != nil {
				return nil, err
			}
			defer dir.Close()
			before.BeforeChange(int(dir.Fd()), filepath.Base(file), file)
		}
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n')
		}
		return append(text, "- "+strings.Join(strings.Fields(line), " ")+"\n"...), nil
	})
}

// changeFile writes what edit makes of one of the user's files; absent, it is empty, and gets the mode perm. One
// process at a time changes them.
func changeFile(ctx context.Context, paths config.Paths, file string, most int64, perm fs.FileMode, edit func(before []byte) ([]byte, error)) error {
	if err := paths.Create(); err != nil {
		return err
	}
	unlock, err := hostfile.Lock(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer unlock()
	before, err := hostfile.Read(ctx, file, most)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Usage(err)
	}
	text, err := edit(before)
	if err != nil {
		return err
	}
	if int64(len(text)) > most {
		return cli.Usage(fmt.Errorf("%s would be longer than 1 MiB", file), "nothing was changed")
	}
	// Editors ignore the lock, and some file systems have no locks.
	if now, err := hostfile.Read(ctx, file, most); err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, before) {
		return fmt.Errorf("%s: another program changed it meanwhile; nothing was changed, so try again", file)
	}
	return hostfile.Write(file, text, perm)
}
