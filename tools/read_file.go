package tools

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/exec/worker"
	"codeagent/internal/picture"
	"codeagent/internal/short"
	"codeagent/patch"
	"codeagent/sandbox"
)

const readFileExample = `{"path": "src/main.go", "offset": 200, "limit": 100}`

// Bounds of what one read returns.
const (
	readLines = 2000
	readBytes = 64 << 10
	// readLine is how many bytes of one line are shown.
	readLine = 2000
	// readChunk is how many bytes one request to the worker reads.
	readChunk = 1 << 20
	// readScan is how many bytes of a file are scanned to count lines.
	readScan = 256 << 20
)

type readFileArguments struct {
	Path   string `json:"path" jsonschema:"The file, absolute or relative to the workspace."`
	Offset int    `json:"offset,omitempty" jsonschema:"The first line to return, counted from 1. Default 1."`
	Limit  int    `json:"limit,omitempty" jsonschema:"How many lines to return at most. Default and most: 2000."`
}

type readFileTool struct {
	paths
	unsaved func(ctx context.Context, path string) (string, bool) // may be nil
}

func (t *readFileTool) plan(a readFileArguments) (*call, error) {
	if a.Offset < 0 || a.Limit < 0 {
		return nil, fmt.Errorf("offset and limit count lines and must be positive. Example: %s", readFileExample)
	}
	path, err := t.canonical(a.Path)
	if err != nil {
		return nil, err
	}
	v := &view{first: max(a.Offset, 1), limit: readLines}
	if a.Limit > 0 {
		v.limit = min(a.Limit, readLines)
	}
	title := "read " + t.show(path)
	if a.Offset > 1 {
		title += fmt.Sprintf(" from line %d", a.Offset)
	}
	action := approvals.Action{Tool: "read_file", Kind: word.KindRead, Title: oneLine(title), Folder: t.workspace, Paths: []string{path}}
	return &call{action: action, repeats: t.unsaved == nil, run: func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error) {
		return t.run(ctx, p, s, path, *v)
	}}, nil
}

func (t *readFileTool) run(ctx context.Context, p sandbox.Policy, s Stage, path string, v view) (Result, error) {
	files, refused, err := t.open(ctx, p, s, path)
	if files == nil {
		return refused, err
	}
	defer files.Close()
	if err := v.read(files, path); err != nil {
		return t.unreadable(ctx, path, err)
	}
	if v.image != nil {
		return t.shown(ctx, s, path, v.image, v.size)
	}
	if v.binary != "" {
		return done(v.binary, "binary file"), nil
	}
	if r, ok := t.buffer(ctx, files, path, v); ok {
		return r, nil
	}
	return done(v.text(), short.Count(v.shown, "line")), nil
}

// unsavedMost is the largest file of which an editor is asked for unsaved changes.
const unsavedMost = 4 << 20

// unsavedNote tells the model what it reads: an edit by it would not find these lines.
const unsavedNote = "[The user's editor has unsaved changes in this file, and the lines are those of the editor. Commands and edits see the file on disk, which differs: before you edit it, ask the user to save it.]\n"

// buffer returns the lines of a file with unsaved changes, as an editor has them. The file was read
// before, under the policy: nothing is asked that the call may not see.
func (t *readFileTool) buffer(ctx context.Context, files *worker.Client, path string, disk view) (Result, bool) {
	if t.unsaved == nil || disk.size > unsavedMost {
		return Result{}, false
	}
	text, ok := t.unsaved(ctx, path)
	if !ok {
		return Result{}, false
	}
	saved, _, err := files.ReadFile(path, 0, unsavedMost+1)
	if err != nil || !utf8.Valid(saved) || sameLines(string(saved), text) {
		return Result{}, false
	}
	v := view{first: disk.first, limit: disk.limit, line: 1, size: int64(len(text)), complete: true}
	v.take([]byte(text))
	v.end()
	return done(unsavedNote+v.text(), short.Count(v.shown, "line")+", not saved"), true
}

// sameLines reports whether a file on disk has the lines that an editor has. Editors keep lines: some
// answer with another line ending than the file's, without the one at its end, or without its byte
// order mark, and none of that is a change that is not saved.
func sameLines(disk, editor string) bool {
	lines := func(s string) string {
		s = strings.TrimPrefix(s, "\ufeff")
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
		return strings.TrimSuffix(s, "\n")
	}
	return disk == editor || lines(disk) == lines(editor)
}

// view collects the lines first to first+limit-1 of a file.
type view struct {
	first, limit int

	out      strings.Builder
	line     int    // the number of the line being read, from 1
	part     []byte // what was read of it, at most a little more than is shown
	length   int    // its full length
	shown    int
	full     bool // the byte limit was reached
	crlf     int
	more     bool // there are lines beyond the view
	noEnd    bool // the file does not end in a newline
	damaged  bool // there were bytes that are not UTF-8
	size     int64
	complete bool // the whole file was scanned: line counts them all
	binary   string
	image    []byte // the file, or its beginning where it is too large
}

// read scans the file in chunks, so that a line deep inside a large file costs no memory.
func (v *view) read(files *worker.Client, path string) error {
	v.line = 1
	var at int64
	for at < readScan {
		data, info, err := files.ReadFile(path, at, readChunk)
		if err != nil {
			return err
		}
		v.size = info.Size
		if at == 0 && bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 {
			if picture.Type(data) != "" {
				v.image, v.size, err = wholeImage(files, path)
				return err
			}
			v.binary = fmt.Sprintf("This is a binary file of %d bytes; it begins with % x. It is not shown as text.", info.Size, data[:min(len(data), 16)])
			if patch.UTF16(data) {
				v.binary = fmt.Sprintf("This file of %d bytes is UTF-16, which is not shown. `iconv -f UTF-16 -t UTF-8` prints it; a patch cannot change it.", info.Size)
			}
			return nil
		}
		at += int64(len(data))
		v.take(data)
		if len(data) < readChunk {
			v.complete = true
			v.end()
			return nil
		}
		// Counting the rest of a large file is not worth the time.
		if v.more && at >= 16*readChunk {
			return nil
		}
	}
	v.more = true
	return nil
}

func (v *view) take(data []byte) {
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		piece := data
		if i >= 0 {
			piece = data[:i]
		}
		v.length += len(piece)
		if room := readLine + 4 - len(v.part); room > 0 {
			v.part = append(v.part, piece[:min(room, len(piece))]...)
		}
		if i < 0 {
			return
		}
		if len(piece) > 0 && piece[len(piece)-1] == '\r' {
			v.crlf++
			v.length--
			v.part = bytes.TrimSuffix(v.part, []byte("\r"))
		}
		v.put()
		v.line++
		data = data[i+1:]
	}
}

// end adds a last line that has no newline.
func (v *view) end() {
	if v.length > 0 {
		v.noEnd = v.line < v.first+v.limit && v.line >= v.first
		v.put()
		v.line++
	}
	v.line-- // from here on, the number of lines
}

// put adds the line if it is in view.
func (v *view) put() {
	switch {
	case v.line < v.first:
	case v.line >= v.first+v.limit || v.full:
		v.more = true
	default:
		v.write()
	}
	v.part, v.length = v.part[:0], 0
}

func (v *view) write() {
	text := string(v.part)
	if len(text) > readLine {
		text = short.Head(text, readLine)
	}
	left := v.length - len(text)
	if !utf8.ValidString(text) {
		v.damaged = true
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if left > 0 {
		text += fmt.Sprintf(" […%d more bytes]", left)
	}
	if v.out.Len()+len(text) > readBytes && v.shown > 0 {
		v.full, v.more = true, true
		return
	}
	fmt.Fprintf(&v.out, "%d\t%s\n", v.line, text)
	v.shown++
}

// text returns the lines, and notes about them.
func (v *view) text() string {
	var remarks []string
	total := "more"
	if v.complete {
		total = fmt.Sprint(v.line)
	}
	switch {
	case v.shown == 0 && v.complete && v.line == 0:
		return "(the file is empty)"
	case v.shown == 0:
		return fmt.Sprintf("(the file has %s lines; there is no line %d)", total, v.first)
	case v.more:
		last := v.first + v.shown - 1
		remarks = append(remarks, fmt.Sprintf("lines %d to %d of %s; continue with offset %d", v.first, last, total, last+1))
	}
	if v.crlf > 0 {
		remarks = append(remarks, "lines end in CR LF")
	}
	if v.noEnd {
		remarks = append(remarks, "no newline at the end of the file")
	}
	if v.damaged {
		remarks = append(remarks, "bytes that are not UTF-8 are shown as \uFFFD")
	}
	return strings.TrimSuffix(v.out.String()+notes(remarks...), "\n")
}
