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
	"slices"
	"time"
	"unicode/utf8"

	"codeagent/internal/linereader"
)

// A turn's log has one line of JSON per fact, in the order in which the facts became known.
// It is only appended to. The last line for a path counts, except that the first "before"
// counts. A program that dies leaves at most one torn line, and a content that no line
// names.

// Kinds of records.
const (
	kindTurn   = "turn"   // the first line: Version, At, Title
	kindBefore = "before" // Path, State: the state before the turn; Why: why its content is not recorded
	kindAfter  = "after"  // Path, State: the state that the agent left
	kindSame   = "same"   // Path: the agent left the state from before the turn
	kindAgain  = "again"  // Path: another call works on it, or undo since At; its state is not known until that is over
	kindMixed  = "mixed"  // Path: somebody else changed it between the agent's changes
	kindTheirs = "theirs" // Path: the call changed nothing of somebody else's change; the agent's state is the one it left before
	kindLost   = "lost"   // Path, Why: what is below it is not recorded
	kindMore   = "more"   // nothing is recorded from here on; Why
	kindEnd    = "end"    // the turn is over
	kindBack   = "back"   // Path: it was restored; At: when the log was last written before that
	kindUndone = "undone" // the turn was undone; At: when the log was last written before that
	kindRedone = "redone" // that was taken back; At: the same
	kindBegun  = "begun"  // nothing was changed so far
)

// version is the version of the log's format.
const version = 1

// record is one line.
type record struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Title   string    `json:"title,omitempty"`
	// Of are the turns that this one undid: it holds what undoing replaced. From is the number of the first
	// one, where it undid all from there on.
	Of   []int  `json:"of,omitempty"`
	From int    `json:"from,omitempty"`
	Path string `json:"path,omitempty"`
	// Bytes is a path that is not UTF-8, which JSON text cannot hold.
	Bytes []byte `json:"bytes,omitempty"`
	State *state `json:"state,omitempty"`
	Why   string `json:"why,omitempty"`
}

// about returns a record about a path.
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
	// maxPath is the longest path that the system accepts in one call.
	maxPath = 4096
	// maxLine is more than the longest path and link need with every byte escaped.
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

// endLine ends a line that a crash left torn, so that the next record is not appended to it.
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
	// A full disk may take part of a line, to which the next record must not be appended.
	return errors.Join(err, f.Truncate(info.Size()))
}

// kept is the content of the log of one turn.
type kept struct {
	number int
	// dir is its folder.
	dir   string
	began time.Time
	// last is when the turn itself last wrote a record.
	last   time.Time
	title  string
	ended  bool
	undone bool
	// of and from are those of its first record.
	of   []int
	from int
	// begun: the log was begun before the first change.
	begun bool
	// more says why nothing was recorded from some moment on; empty: all was.
	more  string
	paths map[string]*history
}

// history is what is known about one path.
type history struct {
	before state
	// why says why the content is not recorded.
	why string
	// after is what the agent left; nil: codeagent ended before it was recorded.
	after *state
	// earlier is what the agent left before the last call that worked on it.
	earlier *state
	// mixed: somebody else changed it between the agent's changes.
	mixed bool
	// lost says why what is below it is not recorded.
	lost string
	// back: it was restored, and later changes are not the turn's.
	back bool
}

// errLog: the file is not the log of a turn.
var errLog = errors.New("not a log of what was kept")

// readLog reads a log. It skips invalid lines, such as a torn one: what they recorded is then
// unknown, and unknown paths are left alone. The part of a log beyond most bytes is not read
// and does not count.
func readLog(r io.Reader, most int64) (*kept, error) {
	k := &kept{paths: map[string]*history{}}
	bounded := &io.LimitedReader{R: r, N: most + 1}
	in := bufio.NewReader(bounded)
	for first := true; ; first = false {
		line, long, err := linereader.Read(in, maxLine, nil)
		if long {
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

// take adds one record.
func (k *kept) take(r record) {
	switch r.Kind {
	case kindTurn:
		k.began, k.title, k.of, k.from = r.At, r.Title, r.Of, r.From
	case kindEnd:
		k.ended = true
	case kindBegun:
		k.begun = true
	case kindUndone, kindRedone:
		if k.last.IsZero() { // undo has written to the log since
			k.last = r.At
		}
		if k.undone = r.Kind == kindUndone; !k.undone {
			for _, h := range k.paths {
				h.back = false
			}
		}
	case kindMore:
		k.more = r.Why
	default:
		k.takePath(r)
	}
}

func (k *kept) takePath(r record) {
	p := r.path()
	if !path.IsAbs(p) || path.Clean(p) != p || p == "/" {
		return
	}
	if r.Kind == kindBack && k.last.IsZero() { // undo has written to the log since
		k.last = r.At
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
		h.after = nil
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

// sane reports whether s can be the result of a look.
func (s *state) sane() bool {
	return slices.Contains([]kind{absent, file, link, folder, special}, s.Kind) &&
		s.Mode&^0o777 == 0 && s.Size >= 0 && (s.Kept == nil || s.Kind == file && s.Kept.Turn >= 0 && s.Kept.At >= 0)
}
