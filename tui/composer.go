package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

// composer is the message editor. Its text is one string with a cursor that
// stands between grapheme clusters; a big paste is a single rune in it.
type composer struct {
	text   string
	cursor int // byte offset
	chips  []chip
	// goal is the column that up and down try to keep; -1 when unset.
	goal int
	// top is the first visible row.
	top int

	undo    []snapshot
	typing  bool // the last change was typing; further typing is the same undo step
	history history
}

type snapshot struct {
	text   string
	cursor int
}

// chip is what one rune of the text stands for: a big paste, or an image.
type chip struct {
	text  string
	image *Image
}

func newComposer() composer { return composer{goal: -1} }

func (c *composer) empty() bool { return c.text == "" }

// value is the whole text, every chip replaced by what was pasted.
func (c *composer) value() string { return c.message().Text }

// message is the whole text with its images.
func (c *composer) message() Message {
	if !strings.ContainsFunc(c.text, isChip) {
		return Message{Text: c.text}
	}
	var b strings.Builder
	var images []Image
	for _, r := range c.text {
		switch i := int(r - firstChip); {
		case !isChip(r) || i >= len(c.chips):
			b.WriteRune(r)
		case c.chips[i].image != nil:
			b.WriteString(c.chips[i].image.label())
			images = append(images, *c.chips[i].image)
		default:
			b.WriteString(c.chips[i].text)
		}
	}
	return Message{b.String(), images}
}

func isChip(r rune) bool { return r >= firstChip && r <= lastChip }

// set replaces the text and puts the cursor at its end. Big text becomes a chip.
func (c *composer) set(s string) {
	c.save(false)
	c.text, c.cursor = "", 0
	c.put(s)
}

// restore puts a message back: each image is a chip again in place of its label, or
// at the end without a label.
func (c *composer) restore(s Message) {
	c.save(false)
	c.text, c.cursor = "", 0
	rest, images := s.Text, slices.Clone(s.Images)
	for {
		first, at := -1, len(rest)
		for i := range images {
			if found := strings.Index(rest, images[i].label()); found >= 0 && found < at {
				first, at = i, found
			}
		}
		if first < 0 {
			break
		}
		c.put(rest[:at])
		c.attach(images[first])
		rest = rest[at+len(images[first].label()):]
		images = slices.Delete(images, first, first+1)
	}
	c.put(rest)
	for i := range images {
		if i == 0 && s.Text != "" {
			c.insert(" ")
		}
		c.attach(images[i])
	}
}

// clear empties the editor; undo and the history bring the text back.
func (c *composer) clear() {
	if v := c.message(); !v.empty() {
		c.history.add(v)
	}
	c.set("")
}

// take returns the message and empties the editor.
func (c *composer) take() Message {
	v := c.message()
	c.history.add(v)
	*c = composer{goal: -1, history: c.history}
	return v
}

// typed inserts what was typed.
func (c *composer) typed(s string) {
	c.save(true)
	c.insert(noChips(s))
}

// paste inserts what was pasted, whole.
func (c *composer) paste(s string) {
	c.save(false)
	c.put(s)
}

func (c *composer) put(s string) {
	s = noChips(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
	if (utf8.RuneCountInString(s) > chipChars || strings.Count(s, "\n") >= chipLines) && c.insertChip(chip{text: s}) {
		return
	}
	c.insert(s)
}

// attach inserts an image.
func (c *composer) attach(i Image) { c.insertChip(chip{image: &i}) }

// insertChip reports whether a private-use rune was left for the chip.
func (c *composer) insertChip(k chip) bool {
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

func (c *composer) insert(s string) {
	c.text = c.text[:c.cursor] + s + c.text[c.cursor:]
	c.cursor += len(s)
	c.goal = -1
}

// save stores the state before a change, for undo.
func (c *composer) save(typing bool) {
	if typing && c.typing {
		return
	}
	c.typing = typing
	c.undo = append(c.undo, snapshot{c.text, c.cursor})
	if len(c.undo) > maxUndo {
		c.undo = c.undo[1:]
	}
}

func (c *composer) undoLast() {
	if n := len(c.undo); n > 0 {
		c.text, c.cursor = c.undo[n-1].text, c.undo[n-1].cursor
		c.undo, c.typing, c.goal = c.undo[:n-1], false, -1
	}
}

// remove deletes text[from:to] and leaves the cursor there.
func (c *composer) remove(from, to int) {
	if from < to {
		c.save(false)
		c.text, c.cursor = c.text[:from]+c.text[to:], from
	}
	c.goal = -1
}

// next and previous are the places one cluster to the right and to the left.
func (c *composer) next() int {
	if c.cursor >= len(c.text) {
		return len(c.text)
	}
	n, _, _ := c.cell(c.text[c.cursor:], 0)
	return c.cursor + n
}

func (c *composer) previous() int {
	at := c.lineStart()
	if at == c.cursor {
		return max(c.cursor-1, 0)
	}
	for {
		n, _, _ := c.cell(c.text[at:], 0)
		if at+n >= c.cursor {
			return at
		}
		at += n
	}
}

func (c *composer) lineStart() int { return strings.LastIndexByte(c.text[:c.cursor], '\n') + 1 }

func (c *composer) lineEnd() int {
	if i := strings.IndexByte(c.text[c.cursor:], '\n'); i >= 0 {
		return c.cursor + i
	}
	return len(c.text)
}

// wordLeft and wordRight are the places a word away.
func (c *composer) wordLeft() int {
	before := strings.TrimRightFunc(c.text[:c.cursor], notWord)
	return len(strings.TrimRightFunc(before, isWord))
}

func (c *composer) wordRight() int {
	rest := strings.TrimLeftFunc(c.text[c.cursor:], notWord)
	return len(c.text) - len(strings.TrimLeftFunc(rest, isWord))
}

func isWord(r rune) bool  { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || isChip(r) }
func notWord(r rune) bool { return !isWord(r) }

func (c *composer) move(to int) { c.cursor, c.goal, c.typing = to, -1, false }

// cell shows the first cluster of s: text, or a chip.
func (c *composer) cell(s string, col int) (size int, shown string, w int) {
	if r, n := utf8.DecodeRuneInString(s); isChip(r) {
		label := c.label(r)
		return n, label, width(label)
	}
	return cell(s, col)
}

// label is the text of a chip.
func (c *composer) label(r rune) string {
	if i := int(r - firstChip); i < len(c.chips) {
		k := c.chips[i]
		if k.image != nil {
			return cut(k.image.label(), maxLabel)
		}
		if lines := strings.Count(strings.TrimSuffix(k.text, "\n"), "\n") + 1; lines > 1 {
			return fmt.Sprintf("[pasted %d lines]", lines)
		}
		return fmt.Sprintf("[pasted %d characters]", utf8.RuneCountInString(k.text))
	}
	return "[pasted]"
}

// edit does what do says, in a text of w columns; false when it is not an edit.
func (c *composer) edit(do action, w int) bool {
	switch do {
	case actNewline:
		c.typed("\n")
	case actUp:
		c.upDown(w, -1)
	case actDown:
		c.upDown(w, 1)
	case actLeft:
		c.move(c.previous())
	case actRight:
		c.move(c.next())
	case actWordLeft:
		c.move(c.wordLeft())
	case actWordRight:
		c.move(c.wordRight())
	case actHome:
		c.move(c.lineStart())
	case actLineEnd:
		c.move(c.lineEnd())
	case actBackspace:
		c.remove(c.previous(), c.cursor)
	case actDelete:
		c.remove(c.cursor, c.next())
	case actCutWord:
		c.remove(c.wordLeft(), c.cursor)
	case actCutNext:
		c.remove(c.cursor, c.wordRight())
	case actCutLeft:
		c.remove(c.lineStart(), c.cursor)
	case actCutRight:
		c.remove(c.cursor, c.lineEnd())
	case actUndo:
		c.undoLast()
	default:
		return false
	}
	return true
}

// upDown moves by a row; at the edge it recalls messages.
func (c *composer) upDown(w, by int) {
	if c.vertical(w, by) {
		return
	}
	if s, ok := c.history.recall(-by, c.message()); ok {
		h := c.history
		c.restore(s)
		c.history = h
	}
}
