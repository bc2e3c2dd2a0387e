// Package composer is the editor of a message: its text, cursor, pastes, images,
// undo and history. It performs no IO. Start with Composer; key.go says what a key does,
// rows.go lays the text out.
package composer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/tui/keys"
	"codeagent/tui/message"
	"codeagent/tui/paint"
)

const (
	// A paste above either bound becomes a chip: one cell that stands for the whole
	// text, which is kept outside the editor.
	chipChars = 2000
	chipLines = 10
	// firstChip is the first of the private-use runes that stand for chips
	// (plane 15). Pasted and typed runes of that plane are replaced.
	firstChip = rune(0xf0000)
	lastChip  = rune(0xffffd)
	// maxLabel is the greatest width of a chip.
	maxLabel = 34
	// maxUndo bounds the undo history; typing in a row is one step.
	maxUndo = 100
)

// buffer is a text with a cursor in it, and what its chips stand for.
type buffer struct {
	Text   string
	Cursor int // byte offset
	chips  []chip
}

// Composer is the message editor. Its text is one string with a cursor that
// is between grapheme clusters; a big paste is a single rune in it.
type Composer struct {
	buffer
	// goal is the column that up and down try to keep; -1 when unset.
	goal int
	// Top is the first visible row.
	Top int
	// Hint stands where nothing is written yet.
	Hint string

	// named is where the cursor was after a file was named with a space behind it.
	named int

	undo, redo []snapshot
	typing     bool // the last change was typing; further typing is the same undo step
	history    history
	killed     kill
	vim        vim
}

type snapshot struct {
	text   string
	cursor int
}

// chip is what one rune of the text stands for: a big paste, or an image.
type chip struct {
	text  string
	image *message.Image
}

// New is an empty editor.
func New() Composer { return Composer{goal: -1} }

// Empty reports whether there is no text.
func (c *buffer) Empty() bool { return c.Text == "" }

// Value is the whole text, every chip replaced by what was pasted.
func (c *buffer) Value() string { return c.Message().Text }

// Message is the whole text with its images and its pastes.
func (c *buffer) Message() message.Message {
	if !strings.ContainsFunc(c.Text, isChip) {
		return message.Message{Text: c.Text}
	}
	var b strings.Builder
	var images []message.Image
	var pastes []string
	for _, r := range c.Text {
		switch i := int(r - firstChip); {
		case !isChip(r) || i >= len(c.chips):
			b.WriteRune(r)
		case c.chips[i].image != nil:
			b.WriteString(c.chips[i].image.Label())
			images = append(images, *c.chips[i].image)
		default:
			b.WriteString(c.chips[i].text)
			pastes = append(pastes, c.chips[i].text)
		}
	}
	return message.Message{Text: b.String(), Images: images, Pastes: pastes}
}

func isChip(r rune) bool { return r >= firstChip && r <= lastChip }

// Set replaces the text and puts the cursor at its end. Big text becomes a chip.
func (c *Composer) Set(s string) {
	c.save(false)
	c.Text, c.Cursor = "", 0
	c.Put(s)
}

// Restore puts a message back: each image is a chip again in place of its label, or
// at the end without a label, and each paste is one in place of its text.
func (c *Composer) Restore(s message.Message) {
	c.save(false)
	c.Text, c.Cursor = "", 0
	s.Text = s.Shown()
	if s.Pastes == nil {
		s.Pastes = c.history.pastes(s.Text)
	}
	rest, images := s.Text, slices.Clone(s.Images)
	for {
		first, at := -1, len(rest)
		for i := range images {
			if found := strings.Index(rest, images[i].Label()); found >= 0 && found < at {
				first, at = i, found
			}
		}
		if s.Pastes = c.restore(rest[:at], s.Pastes); first < 0 {
			break
		}
		c.attach(images[first])
		rest = rest[at+len(images[first].Label()):]
		images = slices.Delete(images, first, first+1)
	}
	for i := range images {
		if i == 0 && s.Text != "" {
			c.insert(" ")
		}
		c.attach(images[i])
	}
}

// restore puts text back with the pastes in it, and returns those that are left. Of a
// big text without known pastes the first and the last line are kept as text: there
// the words are that were typed.
func (c *Composer) restore(text string, pastes []string) (left []string) {
	known := false
	for len(pastes) > 0 {
		before, after, found := strings.Cut(text, pastes[0])
		if !found {
			break
		}
		c.Put(before)
		c.Put(pastes[0])
		text, pastes, known = after, pastes[1:], true
	}
	first, last := strings.IndexByte(text, '\n')+1, strings.LastIndexByte(text, '\n')
	switch {
	case !known && isBig(text) && 0 < first && first < last && first <= chipChars && len(text)-last <= chipChars:
		c.insert(noChips(text[:first]))
		c.Put(text[first:last])
		c.insert(noChips(text[last:]))
	default:
		c.Put(text)
	}
	return pastes
}

// Clear empties the editor; undo and the history bring the text back.
func (c *Composer) Clear() {
	if v := c.Message(); !v.Empty() {
		c.history.add(v)
	}
	c.Set("")
}

// Take returns the message and empties the editor.
func (c *Composer) Take() message.Message {
	v := c.Message()
	c.history.add(v)
	killed := buffer{Text: c.killed.text, chips: c.chips}
	c.killed.text = killed.Value() // the next message has chips of its own
	*c = Composer{goal: -1, Hint: c.Hint, history: c.history, killed: c.killed, vim: vim{on: c.vim.on}}
	return v
}

// TakeBack puts a message that was taken but not sent before the text, to be edited;
// the history has it again once it is sent.
func (c *Composer) TakeBack(s message.Message) {
	c.history.forget(s.Shown())
	if !c.Empty() {
		s = message.Join([]message.Message{s, c.Message()})
	}
	c.Restore(s)
}

// atEdge reports whether the cursor is in the first row of w columns, with +1 in the
// last one.
func (c *Composer) atEdge(by, w int) bool {
	rows := c.Rows(w)
	row, _ := c.where(rows)
	return row == 0 && by < 0 || row == len(rows)-1 && by > 0
}

// Typed inserts what was typed.
func (c *Composer) Typed(s string) {
	c.save(true)
	if c.named > 0 && c.named == c.Cursor && strings.ContainsAny(s[:min(len(s), 1)], "#:") && strings.HasSuffix(c.Text[:c.Cursor], " ") {
		c.Text, c.Cursor = c.Text[:c.Cursor-1]+c.Text[c.Cursor:], c.Cursor-1 // lines of the file follow its name
	}
	c.insert(noChips(s))
}

// Paste inserts what was pasted, whole.
func (c *Composer) Paste(s string) {
	c.save(false)
	c.Put(s)
}

// Put inserts text at the cursor, as a chip where it is big; undo does not see it.
func (c *Composer) Put(s string) {
	s = noChips(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
	if isBig(s) && c.insertChip(chip{text: s}) {
		return
	}
	c.insert(s)
}

func isBig(s string) bool {
	return utf8.RuneCountInString(s) > chipChars || strings.Count(s, "\n") >= chipLines
}

// Attach inserts an image.
func (c *Composer) Attach(i message.Image) {
	c.save(false)
	c.attach(i)
}

func (c *Composer) attach(i message.Image) { c.insertChip(chip{image: &i}) }

// insertChip reports whether a private-use rune was left for the chip.
func (c *Composer) insertChip(k chip) bool {
	if len(c.chips) > int(lastChip-firstChip) {
		return false
	}
	c.chips = append(c.chips, k)
	c.insert(string(firstChip + rune(len(c.chips)-1)))
	return true
}

func noChips(s string) string {
	if !strings.ContainsFunc(s, isChip) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isChip(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

func (c *Composer) insert(s string) {
	c.Text = c.Text[:c.Cursor] + s + c.Text[c.Cursor:]
	c.Cursor += len(s)
	c.goal = -1
}

// save stores the state before a change, for undo.
func (c *Composer) save(typing bool) {
	if typing && c.typing {
		return
	}
	c.typing, c.redo, c.killed.joins = typing, nil, false
	c.undo = append(c.undo, snapshot{c.Text, c.Cursor})
	if len(c.undo) > maxUndo {
		c.undo = c.undo[1:]
	}
}

// back returns to the last state of from, and keeps the present one in to.
func (c *Composer) back(from, to *[]snapshot) {
	n := len(*from) - 1
	if n < 0 {
		return
	}
	*to = append(*to, snapshot{c.Text, c.Cursor})
	c.Text, c.Cursor = (*from)[n].text, (*from)[n].cursor
	*from = (*from)[:n]
	c.typing, c.goal = false, -1
}

func (c *Composer) remove(from, to int) {
	if from < to {
		c.save(false)
		c.Text, c.Cursor = c.Text[:from]+c.Text[to:], from
	}
	c.goal = -1
}

// next and previous are the places one cluster to the right and to the left.
func (c *buffer) next() int {
	if c.Cursor >= len(c.Text) {
		return len(c.Text)
	}
	n, _, _ := c.cell(c.Text[c.Cursor:], 0)
	return c.Cursor + n
}

func (c *buffer) previous() int {
	at := c.lineStart()
	if at == c.Cursor {
		return max(c.Cursor-1, 0)
	}
	for {
		n, _, _ := c.cell(c.Text[at:], 0)
		if at+n >= c.Cursor {
			return at
		}
		at += n
	}
}

func (c *buffer) lineStart() int { return strings.LastIndexByte(c.Text[:c.Cursor], '\n') + 1 }

func (c *buffer) lineEnd() int {
	if i := strings.IndexByte(c.Text[c.Cursor:], '\n'); i >= 0 {
		return c.Cursor + i
	}
	return len(c.Text)
}

// wordLeft and wordRight are the places a word away.
func (c *buffer) wordLeft() int {
	before := strings.TrimRightFunc(c.Text[:c.Cursor], notWord)
	return len(strings.TrimRightFunc(before, isWord))
}

func (c *buffer) wordRight() int {
	rest := strings.TrimLeftFunc(c.Text[c.Cursor:], notWord)
	return len(c.Text) - len(strings.TrimLeftFunc(rest, isWord))
}

func isWord(r rune) bool  { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || isChip(r) }
func notWord(r rune) bool { return !isWord(r) }

func (c *Composer) move(to int) { c.Cursor, c.goal, c.typing, c.killed.joins = to, -1, false, false }

// cell shows the first cluster of s: text, or a chip.
func (c *buffer) cell(s string, col int) (size int, shown string, w int) {
	if r, n := utf8.DecodeRuneInString(s); isChip(r) {
		label := c.label(r)
		return n, label, paint.Width(label)
	}
	return paint.Cell(s, col)
}

func (c *buffer) label(r rune) string {
	if i := int(r - firstChip); i < len(c.chips) {
		k := c.chips[i]
		if k.image != nil {
			return paint.Cut(k.image.Label(), maxLabel)
		}
		if lines := strings.Count(strings.TrimSuffix(k.text, "\n"), "\n") + 1; lines > 1 {
			return fmt.Sprintf("[pasted %d lines]", lines)
		}
		return fmt.Sprintf("[pasted %d characters]", utf8.RuneCountInString(k.text))
	}
	return "[pasted]"
}

// Edit does what do says, in a text of w columns; false when it is not an edit.
func (c *Composer) Edit(do keys.Action, w int) bool {
	switch do {
	case keys.Newline:
		c.Typed("\n")
	case keys.Up:
		c.upDown(w, -1)
	case keys.Down:
		c.upDown(w, 1)
	case keys.Left:
		c.move(c.previous())
	case keys.Right:
		c.move(c.next())
	case keys.WordLeft:
		c.move(c.wordLeft())
	case keys.WordRight:
		c.move(c.wordRight())
	case keys.LineStart:
		c.move(c.lineStart())
	case keys.LineEnd:
		c.move(c.lineEnd())
	case keys.Backspace:
		c.remove(c.previous(), c.Cursor)
	case keys.Delete:
		c.remove(c.Cursor, c.next())
	case keys.CutWord:
		c.cut(c.wordLeft(), c.Cursor)
	case keys.CutNext:
		c.cut(c.Cursor, c.wordRight())
	case keys.CutLeft:
		c.cut(c.lineStart(), c.Cursor)
	case keys.CutRight:
		c.cut(c.Cursor, c.cutEnd())
	case keys.Yank:
		if c.killed.text != "" {
			c.save(false)
			c.insert(c.killed.text)
		}
	case keys.Undo:
		c.back(&c.undo, &c.redo)
	case keys.Redo:
		c.back(&c.redo, &c.undo)
	default:
		return false
	}
	return true
}

// kill is what was cut last. joins: nothing was done since, so that a further cut adds to it.
type kill struct {
	text  string
	joins bool
}

// cut removes a part of the text and keeps it. Cuts in a row are kept as one text.
func (c *Composer) cut(from, to int) {
	if from >= to {
		return
	}
	text, was := c.Text[from:to], c.killed
	switch {
	case was.joins && to == c.Cursor:
		text += was.text
	case was.joins:
		text = was.text + text
	}
	c.remove(from, to)
	c.killed = kill{text, true}
}

// cutEnd is the end of the line, or behind its line break if the cursor is there.
func (c *Composer) cutEnd() int {
	if end := c.lineEnd(); end > c.Cursor || end == len(c.Text) {
		return end
	}
	return c.Cursor + 1
}

// upDown moves by a row; at the edge it recalls messages.
func (c *Composer) upDown(w, by int) {
	if !c.vertical(w, by) {
		recall(c, -by)
	}
}
