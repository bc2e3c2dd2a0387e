package hostfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// recordMost bounds the record, in bytes. At half of that only the newest quarter of it is kept.
const recordMost = 1 << 20

// ReadRoots returns the Ground of the roots in the record path. The ground of earlier
// sessions counts for ever: a link or a program that a command left there may still exist.
func ReadRoots(ctx context.Context, path string) (Ground, error) {
	data, err := Read(ctx, path, recordMost)
	if errors.Is(err, fs.ErrNotExist) {
		return Ground{}, nil
	}
	if err != nil {
		return Ground{}, err
	}
	var roots []string
	for line := range strings.Lines(string(data)) {
		if root, err := strconv.Unquote(strings.TrimSpace(line)); err == nil { // otherwise half a line, from a full disk
			roots = append(roots, root)
		}
	}
	return Ground{}.With(roots...), nil
}

// RecordRoots adds the roots that are not on known ground to the record path, and returns the
// whole ground. The lines are written in one call, so that two sessions can add at the same
// time.
func RecordRoots(path string, known Ground, roots []string) (Ground, error) {
	all, lines := known, "\n" // in case the file ends in half a line, from a full disk
	for _, r := range roots {
		if more := all.With(r); len(more.roots) > len(all.roots) {
			all, lines = more, lines+strconv.Quote(r)+"\n"
		}
	}
	if path == "" || len(all.roots) == len(known.roots) {
		return all, nil
	}
	f, err := OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return known, err
	}
	_, err = f.WriteString(lines)
	info, serr := f.Stat()
	if err = errors.Join(err, serr, f.Close()); err != nil {
		return known, err
	}
	if info.Size() < recordMost/2 {
		return all, nil
	}
	return all, Write(path, newest(all.roots, recordMost/4), 0o600)
}

// newest returns the lines of the last roots, at most most bytes.
func newest(roots []string, most int) []byte {
	var out []byte
	for _, r := range slices.Backward(roots) {
		line := strconv.Quote(r) + "\n"
		if len(out)+len(line) > most {
			break
		}
		out = append([]byte(line), out...)
	}
	return out
}
