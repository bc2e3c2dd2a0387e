package undo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"
	"unicode/utf8"
)

// A turn's log is a line of JSON for each thing that is known, in the order in
// which it became known. It is only appended to; the last line for a path counts,
// but the first "before". A program that dies leaves at most one torn line, and a
// content that no line names.

// What a record is about.
const (
	kindTurn   = "turn"   // the first line: Version, At, Title
	kindBefore = "before" // Path, State: what stood there; Why: why its content is not kept
	kindAfter  = "after"  // Path, State: what the agent left there
	kindSame   = "same"   // Path: what the agent left there is what stood there
	kindAgain  = "again"  // Path: a further call works on it, or undoing since At; what was left there is not known until it is over
	kindMixed  = "mixed"  // Path: somebody else changed it between the agent's changes
	kindTheirs = "theirs" // Path: the call changed nothing of what somebody else had changed; the agent's is what it left before
	kindLost   = "lost"   // Path, Why: what lies below it is not kept
	kindMore   = "more"   // nothing is kept from here on; Why
	kindEnd    = "end"    // the turn is over
	// kindUndoing is "undoing begins"; At: when the log was last written before that.
	kindUndoing = "undoing"
	kindBack    = "back"   // Path: it was put back; At: when the log was last written before that
	kindUndone  = "undone" // the turn was undone
)

// version is that of the log's format.
const version = 1

// record is one line.
type record struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Title   string    `json:"title,omitempty"`
	Path    string    `json:"path,omitempty"`
	// Bytes is a path that is not UTF-8, which JSON text cannot hold.
	Bytes []byte `json:"bytes,omitempty"`
	State *state `json:"state,omitempty"`
	Why   string `json:"why,omitempty"`
}

// about is a record of a path.
func about(kind, path string, s *state) record {
	r := record{Kind: kind, State: s}
	if utf8.ValidString(path) {
		r.Path = path
	} else {
		r.Bytes = []byte(path)
	}
	return r
}

func (r record) path() string {
	if r.Bytes != nil {
		return string(r.Bytes)
	}
	return r.Path
}

const (
	// maxPath is the longest path that the system takes in one piece.
	maxPath = 4096
	// maxLine is more than the longest path and link take, every byte escaped.
	maxLine = 64 << 10
)

// appendRecords writes whole lines or nothing.
func appendRecords(f *os.File, records ...record) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return appendLines(f, text.Bytes())
}

// endLine ends a line that a program that died left torn: the next one must not be
// glued to it.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	return appendLines(f, []byte{'\n'})
}

func appendLines(f *os.File, text []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		return nil
	}
	// A full disk takes a part of a line: the next one must not be glued to it.
	return errors.Join(err, f.Truncate(info.Size()))
}

// kept is what a log says about one turn.
type kept struct {
	number int
	// dir is its folder.
	dir   string
	began time.Time
	// last is when something was last written down of what the turn did.
	last   time.Time
	title  string
	ended  bool
	undone bool
	// more says why nothing was kept from some moment on; empty: all was.
	more  string
	paths map[string]*history
}

// history is what is known of one path.
type history struct {
	before state
	// why says why the content is not kept.
	why string
	// after is what the agent left; nil: codeagent ended before it looked.
	after *state
	// earlier is what it left before the last call that worked on it.
	earlier *state
	// again: a further call worked on it when codeagent ended, or has since.
	again bool
	// undoing is when undoing began to work on it; zero: it did not.
	undoing time.Time
	// mixed: somebody else changed it between the agent's changes.
	mixed bool
	// lost says why what lies below it is not kept.
	lost string
	// back: it was put back, and what happens to it since is not the turn's.
	back bool
}

// errLog: the file is not the log of a turn.
var errLog = errors.New("not a log of what was kept")

// readLog reads a log. Invalid lines, such as a torn one, are skipped: what they recorded is
// then unknown, and what is unknown is left alone. The part of a log beyond most bytes is
// not read and does not count as kept.
func readLog(r io.Reader, most int64) (*kept, error) {
	k := &kept{paths: map[string]*history{}}
	bounded := &io.LimitedReader{R: r, N: most + 1}
	in := bufio.NewReaderSize(bounded, maxLine)
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = skipLine(in)
			line = nil
			k.more = "the log has a line that is too long"
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		var rec record
		ok := err == nil && json.Unmarshal(line, &rec) == nil
		if first && (!ok || rec.Kind != kindTurn) {
			return nil, errLog
		}
		if first && rec.Version != version {
			return nil, fmt.Errorf("the log has version %d, this program knows %d", rec.Version, version)
		}
		if ok {
			k.take(rec)
		}
		if err == io.EOF {
			if bounded.N == 0 && k.more == "" {
				k.more = longLog(most)
			}
			return k, nil
		}
	}
}

func skipLine(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// take adds what one record says.
func (k *kept) take(r record) {
	switch r.Kind {
	case kindTurn:
		k.began, k.title = r.At, r.Title
	case kindEnd:
		k.ended = true
	case kindUndone:
		k.undone = true
	case kindMore:
		k.more = r.Why
	case kindUndoing:
		k.noteLast(r.At)
	default:
		k.takePath(r)
	}
}

// noteLast takes when the log was last written before undoing first wrote to it.
func (k *kept) noteLast(at time.Time) {
	if k.last.IsZero() {
		k.last = at
	}
}

func (k *kept) takePath(r record) {
	p := r.path()
	if !path.IsAbs(p) || path.Clean(p) != p || p == "/" {
		return
	}
	if r.Kind == kindBack {
		k.noteLast(r.At)
	}
	h := k.paths[p]
	switch {
	case r.Kind == kindBefore && h == nil && r.State != nil && r.State.sane():
		k.paths[p] = &history{before: *r.State, why: r.Why}
	case h == nil:
	case r.Kind == kindAfter && r.State != nil && r.State.sane():
		h.after = r.State
	case r.Kind == kindSame:
		h.after = &h.before
	case r.Kind == kindAgain:
		if h.after != nil {
			h.earlier = h.after
		}
		h.after, h.undoing = nil, r.At
		h.again = h.again || r.At.IsZero()
	case r.Kind == kindMixed:
		h.mixed = true
	case r.Kind == kindTheirs && h.earlier != nil:
		h.mixed, h.after = false, h.earlier
	case r.Kind == kindLost:
		h.lost = r.Why
	case r.Kind == kindBack:
		h.back = true
	}
}

// sane reports whether s can be what was once seen.
func (s *state) sane() bool {
	switch s.Kind {
	case absent, file, link, folder, special:
	default:
		return false
	}
	return s.Mode&^0o777 == 0 && s.Size >= 0 && (s.Kept == nil || s.Kind == file && s.Kept.Turn >= 0 && s.Kept.File >= 0 && s.Kept.At >= 0)
}
