package patch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"codeagent/internal/short"
)

const (
	beginMark  = "*** Begin Patch"
	endMark    = "*** End Patch"
	addMark    = "*** Add File: "
	deleteMark = "*** Delete File: "
	updateMark = "*** Update File: "
	moveMark   = "*** Move to: "
	eofMark    = "*** End of File"
)

var (
	gitHunk = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,\d{1,9})? @@`)
	})
	heredoc = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:apply_patch\s+)?<<-?\s*['"]?(\w+)['"]?$`) })
)

// Parse reads a patch. Every error is an *Error that names the line.
func Parse(text string) (Patch, error) {
	if len(text) > MaxText {
		return Patch{}, &Error{Line: 1, Msg: fmt.Sprintf("the patch has %d bytes; at most %d are taken: split it", len(text), MaxText)}
	}
	p := &parser{lines: splitPatch(text)}
	if err := p.frame(); err != nil {
		return Patch{}, err
	}
	var out Patch
	for p.at < p.end {
		if p.blank() {
			p.at++
			continue
		}
		f, err := p.section()
		if err != nil {
			return Patch{}, err
		}
		if out.Files = append(out.Files, f); len(out.Files) > MaxFiles {
			return Patch{}, p.errorf(f.Line, "more than %d files; split the patch", MaxFiles)
		}
	}
	if len(out.Files) == 0 {
		return Patch{}, p.errorf(p.end+1, "the patch names no file; want *** Add File:, *** Update File: or *** Delete File:")
	}
	return out, nil
}

// splitPatch cuts the text into lines. Where every line ends in CR LF, the CRs are not
// content: a program on the way added them.
func splitPatch(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		if !strings.HasSuffix(l, "\r") && (i < len(lines)-1 || strings.HasSuffix(text, "\n")) {
			return lines
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// parser walks lines[at:end], which lie between the two marks.
type parser struct {
	lines   []string
	at, end int
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return &Error{Line: line, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) blank() bool { return strings.TrimSpace(p.lines[p.at]) == "" }

// mark returns the line without trailing white space if it is one of ours.
func (p *parser) mark() (string, bool) {
	l := strings.TrimRight(p.lines[p.at], " \t\r")
	return l, strings.HasPrefix(l, "***")
}

// frame finds the begin and end marks, also inside a here-document or a fence.
func (p *parser) frame() error {
	lo, hi := p.trim(0, len(p.lines))
	if lo == hi {
		return p.errorf(1, "the patch is empty; it starts with %q and ends with %q", beginMark, endMark)
	}
	first, last := strings.TrimSpace(p.lines[lo]), strings.TrimSpace(p.lines[hi-1])
	if m := heredoc().FindStringSubmatch(first); m != nil && hi-lo > 1 && last == m[1] ||
		strings.HasPrefix(first, "```") && hi-lo > 1 && last == "```" {
		if lo, hi = p.trim(lo+1, hi-1); lo == hi {
			return p.errorf(lo+1, "the patch is empty")
		}
		first, last = strings.TrimSpace(p.lines[lo]), strings.TrimSpace(p.lines[hi-1])
	}
	if first != beginMark {
		hint := ""
		if strings.HasPrefix(first, "diff --git") || strings.HasPrefix(first, "--- ") {
			hint = " (this looks like a unified diff; name each file with *** Update File: instead)"
		}
		return p.errorf(lo+1, "the first line must be %q, not %s%s", beginMark, quote(first), hint)
	}
	if last != endMark || hi-lo < 2 {
		return p.errorf(hi, "the last line must be %q, not %s; was the patch cut off?", endMark, quote(last))
	}
	p.at, p.end = lo+1, hi-1
	return nil
}

// trim narrows [lo, hi) by blank lines at both ends.
func (p *parser) trim(lo, hi int) (int, int) {
	for lo < hi && strings.TrimSpace(p.lines[lo]) == "" {
		lo++
	}
	for hi > lo && strings.TrimSpace(p.lines[hi-1]) == "" {
		hi--
	}
	return lo, hi
}

func (p *parser) section() (File, error) {
	line := p.at + 1
	l, ok := p.mark()
	f := File{Line: line}
	switch {
	case ok && strings.HasPrefix(l, addMark):
		f.Op, f.Path = Add, l[len(addMark):]
	case ok && strings.HasPrefix(l, deleteMark):
		f.Op, f.Path = Delete, l[len(deleteMark):]
	case ok && strings.HasPrefix(l, updateMark):
		f.Op, f.Path = Update, l[len(updateMark):]
	default:
		return f, p.errorf(line, "want *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH, found %s", quote(l))
	}
	p.at++
	var err error
	if f.Path, err = p.path(line, f.Path); err != nil {
		return f, err
	}
	switch f.Op {
	case Add:
		err = p.newFile(&f)
	case Update:
		err = p.update(&f)
	}
	return f, err
}

func (p *parser) path(line int, s string) (string, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return "", p.errorf(line, "the path is empty")
	case len(s) > MaxPath:
		return "", p.errorf(line, "the path has %d bytes; at most %d are possible", len(s), MaxPath)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", p.errorf(line, "the path %s holds control characters or is not UTF-8", quote(s))
	}
	return s, nil
}

// newFile reads the "+" lines of an Add.
func (p *parser) newFile(f *File) error {
	var b strings.Builder
	closed := false
	for ; p.at < p.end; p.at++ {
		l := p.lines[p.at]
		if _, ok := p.mark(); ok {
			break
		}
		switch {
		case closed && l != "":
			return p.errorf(p.at+1, "nothing may follow \"\\ No newline at end of file\"")
		case strings.HasPrefix(l, "+"):
			b.WriteString(l[1:])
			b.WriteByte('\n')
		case l == "":
			end, ok := p.emptyUntilMark()
			if !ok {
				return p.errorf(p.at+1, "every line of a new file starts with \"+\", an empty one too")
			}
			p.at = end - 1
		case strings.HasPrefix(l, `\ `) && b.Len() > 0:
			closed = true
		default:
			return p.errorf(p.at+1, "every line of a new file starts with \"+\"; found %s", quote(l))
		}
	}
	text := b.String()
	if closed {
		text = strings.TrimSuffix(text, "\n")
	}
	f.Content = []byte(text)
	return nil
}

// emptyUntilMark finds the end of the empty lines that begin here, and reports whether
// they only separate two sections. The caller continues from there, so that they are
// read once.
func (p *parser) emptyUntilMark() (end int, ok bool) {
	for i := p.at; i < p.end; i++ {
		if p.lines[i] != "" {
			return i, strings.HasPrefix(p.lines[i], "***")
		}
	}
	return p.end, true
}

func (p *parser) update(f *File) error {
	if p.at < p.end {
		if l, ok := p.mark(); ok && strings.HasPrefix(l, moveMark) {
			to, err := p.path(p.at+1, l[len(moveMark):])
			if err != nil {
				return err
			}
			f.MoveTo = to
			p.at++
		}
	}
	for p.at < p.end {
		if l, ok := p.mark(); ok && l != eofMark {
			if strings.HasPrefix(l, moveMark) {
				return p.errorf(p.at+1, "*** Move to: must stand directly below *** Update File:")
			}
			break
		}
		if p.lines[p.at] == "" {
			if end, ok := p.emptyUntilMark(); ok {
				p.at = end
				continue
			}
		}
		h, err := p.hunk()
		if err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	if len(f.Hunks) == 0 && f.MoveTo == "" {
		return &Error{Line: f.Line, Path: f.Path, Msg: "the section has neither a hunk nor a *** Move to:"}
	}
	return nil
}

// hunk reads the "@@" lines and the body below them.
func (p *parser) hunk() (Hunk, error) {
	h := Hunk{Line: p.at + 1}
	for ; p.at < p.end && strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		l := strings.TrimRight(p.lines[p.at], " \t\r")
		if m := gitHunk().FindStringSubmatch(l); m != nil {
			at, _ := strconv.Atoi(m[1])
			if m[2] == "0" {
				at++ // git names the line before an insertion
			}
			h.At = max(at, 1)
			continue
		}
		if a := strings.TrimPrefix(strings.TrimPrefix(l, "@@"), " "); strings.TrimSpace(a) != "" {
			h.Anchors = append(h.Anchors, a)
		}
	}
	for ; p.at < p.end && !strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		l := p.lines[p.at]
		if mark, ok := p.mark(); ok {
			if mark == eofMark {
				h.EOF = true
				p.at++
			}
			break
		}
		if err := p.body(&h, l); err != nil {
			return h, err
		}
	}
	if slices.ContainsFunc(h.Lines, func(l Line) bool { return !l.Bare }) {
		return h, nil
	}
	return h, p.errorf(h.Line, "the hunk has no lines; they start with a space, \"-\" or \"+\"")
}

// body adds one line to the hunk.
func (p *parser) body(h *Hunk, l string) error {
	switch {
	case l == "" || l == "\r":
		h.Lines = append(h.Lines, Line{Kind: ' ', Text: l, Bare: true})
	case l[0] == ' ' || l[0] == '-' || l[0] == '+':
		h.Lines = append(h.Lines, Line{Kind: l[0], Text: l[1:]})
	case strings.HasPrefix(l, `\ `) && len(h.Lines) > 0:
		// It is about the line before: the last wins, as a "+" comes after its "-".
		if h.Lines[len(h.Lines)-1].Kind == '-' {
			h.Final = FinalNewline
		} else {
			h.Final = FinalNone
		}
	default:
		return p.errorf(p.at+1, "the lines of a hunk start with a space (kept), \"-\" (removed) or \"+\" (added); found %s", quote(l))
	}
	return nil
}

// quote shows a piece of text in an error: one line, bounded, escaped.
func quote(s string) string {
	return short.Quote(s, 80)
}
