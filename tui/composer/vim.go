package composer

import (
	"strings"
	"unicode"
)

// The keys of vi, by setting: insert mode is the editor as it is, normal mode has the usual
// motions (h j k l w b e 0 ^ $ gg G), operators (d c y, doubled for lines, with iw and aw), and
// x D C p P u i a I A o O, with counts.

// mostPut bounds what p inserts, in bytes.
const mostPut = 1 << 20

// vim is the state of vi's keys. Its text for p is the one that was cut last.
type vim struct {
	on, normal bool
	count      int  // that is being typed; 0: none
	op         byte // d, c or y, waiting for its motion
	opCount    int
	wait       byte // a key that waits for the next one: g i a
	lines      bool // what was cut last are whole lines
}

// UseVim turns the keys of vi on.
func (c *Composer) UseVim() { c.vim.on = true }

// Normal reports whether typing means commands.
func (c *Composer) Normal() bool { return c.vim.normal }

// Escape leaves insert mode, or forgets a command that is typed in part; false: there is
// nothing to leave.
func (c *Composer) Escape() bool {
	v := &c.vim
	switch {
	case !v.on:
		return false
	case v.normal:
		pending := v.op != 0 || v.wait != 0 || v.count > 0
		v.reset()
		return pending
	}
	v.normal = true
	if c.Cursor > c.lineStart() {
		c.move(c.previous())
	}
	return true
}

func (v *vim) reset() { v.op, v.opCount, v.wait, v.count = 0, 0, 0, 0 }

// Command takes what was typed in normal mode, in a text of w columns.
func (c *Composer) Command(s string, w int) {
	for _, r := range s {
		c.command(r, w)
	}
	if !c.vim.normal {
		return
	}
	if c.Cursor == c.lineEnd() && c.Cursor > c.lineStart() {
		c.Cursor = c.previous() // normal mode stands on a character
	}
}

func (c *Composer) command(r rune, w int) {
	v := &c.vim
	if !v.normal {
		c.Typed(string(r))
		return
	}
	if v.wait != 0 {
		c.waited(r)
		return
	}
	if r >= '1' && r <= '9' || r == '0' && v.count > 0 {
		v.count = min(v.count*10+int(r-'0'), 9999)
		return
	}
	switch {
	case r == 'g', v.op != 0 && (r == 'i' || r == 'a'):
		v.wait = byte(r)
	case v.op != 0 && r == rune(v.op):
		c.operateLines(c.lineStart(), c.linesDown(c.times()-1))
	case v.op != 0 && (r == 'j' || r == 'k'):
		c.operateNear(r)
	case v.op == 0 && (r == 'j' || r == 'k'):
		by := map[rune]int{'j': 1, 'k': -1}[r]
		for range c.times() {
			c.upDown(w, by)
		}
		v.reset()
	case v.op == 0 && strings.ContainsRune("dcy", r):
		v.op, v.opCount, v.count = byte(r), v.count, 0
	default:
		if to, inclusive, ok := c.motion(r); ok {
			c.reach(to, inclusive)
			return
		}
		if v.op == 0 {
			c.deed(r)
		}
		v.reset()
	}
}

// times is the count, of the operator and of its motion.
func (c *Composer) times() int { return max(c.vim.count, 1) * max(c.vim.opCount, 1) }

// waited takes the second key of a command of two.
func (c *Composer) waited(r rune) {
	v := &c.vim
	wait := v.wait
	v.wait = 0
	switch {
	case wait == 'g' && r == 'g' && v.op != 0:
		c.operateLines(0, c.lineEnd())
	case wait == 'g' && r == 'g':
		c.reach(0, false)
	case wait != 'g' && r == 'w':
		c.operate(c.word(wait == 'a'))
	default:
		v.reset()
	}
}

// motion is where a motion leads. inclusive: an operator takes the character there too.
func (c *Composer) motion(r rune) (to int, inclusive, ok bool) {
	v, at := &c.vim, c.Cursor
	step := func(next func(int) int) int {
		for range c.times() {
			at = next(at)
		}
		return at
	}
	switch r {
	case 'h':
		return step(func(at int) int { return max(c.before(at), c.lineStart()) }), false, true
	case 'l', ' ':
		return step(func(at int) int { return min(c.after(at), c.lineEnd()) }), false, true
	case 'w':
		if v.op == 'c' && c.classAt(at) != 0 { // cw changes to the end of the word
			return step(func(at int) int { return c.wordEnd(at, true) }), false, true
		}
		return step(c.wordNext), false, true
	case 'b':
		return step(c.wordBack), false, true
	case 'e':
		return c.before(step(func(at int) int { return c.wordEnd(at, false) })), true, true
	case '0':
		return c.lineStart(), false, true
	case '^', '_':
		line := c.Text[c.lineStart():c.lineEnd()]
		return c.lineStart() + len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace)), false, true
	case '$':
		return c.linesDown(c.times() - 1), false, true
	case 'G':
		if v.op != 0 {
			return 0, false, false
		}
		return len(c.Text), false, true
	}
	return 0, false, false
}

// reach goes to a place, or does the operator on all that lies between.
func (c *Composer) reach(to int, inclusive bool) {
	v := &c.vim
	if v.op == 0 {
		c.move(to)
		v.reset()
		return
	}
	from := c.Cursor
	if inclusive && to >= from {
		to = c.after(to)
	}
	c.operate(min(from, to), max(from, to))
}

// operate does the operator on a part of the text.
func (c *Composer) operate(from, to int) {
	v := &c.vim
	op := v.op
	v.reset()
	v.lines = false
	if op == 'y' {
		if from < to {
			c.killed.text = c.Text[from:to]
		}
		c.move(from)
		return
	}
	if from < to {
		c.killed.joins = false
		c.cut(from, to)
		c.killed.joins = false
		c.typing = op == 'c' // what is typed next belongs to the change
	}
	v.normal = op != 'c'
}

// operateLines does the operator on whole lines.
func (c *Composer) operateLines(from, to int) {
	v := &c.vim
	op := v.op
	if op == 'c' {
		c.operate(from, to)
		v.lines = true
		return
	}
	if to < len(c.Text) {
		to++ // with its line break
	} else if from > 0 && op == 'd' {
		from-- // the last line goes with the break before it
	}
	text := strings.Trim(c.Text[from:to], "\n") + "\n"
	at := c.Cursor
	if op == 'd' {
		c.remove(from, to)
		c.Cursor = min(from, len(c.Text))
		c.Cursor = c.lineStart()
	} else {
		c.Cursor = at
	}
	c.killed.text = text
	v.reset()
	v.lines = true
}

// operateNear is an operator with j or k: this line and those below or above.
func (c *Composer) operateNear(r rune) {
	n := c.times()
	if r == 'j' {
		c.operateLines(c.lineStart(), c.linesDown(n))
		return
	}
	from, end := c.lineStart(), c.lineEnd()
	for range n {
		from = strings.LastIndexByte(c.Text[:max(from-1, 0)], '\n') + 1
	}
	c.operateLines(from, end)
}

// linesDown is the end of the line n lines below.
func (c *Composer) linesDown(n int) int {
	end := c.lineEnd()
	for range n {
		if end == len(c.Text) {
			break
		}
		i := strings.IndexByte(c.Text[end+1:], '\n')
		if i < 0 {
			return len(c.Text)
		}
		end += 1 + i
	}
	return end
}

// deed is a command of one key.
func (c *Composer) deed(r rune) {
	v := &c.vim
	insert := func(at int) {
		c.move(at)
		v.normal = false
	}
	switch r {
	case 'i':
		insert(c.Cursor)
	case 'a':
		insert(min(c.next(), c.lineEnd()))
	case 'I':
		at, _, _ := c.motion('^')
		insert(at)
	case 'A':
		insert(c.lineEnd())
	case 'o':
		insert(c.lineEnd())
		c.save(false)
		c.insert("\n")
	case 'O':
		insert(c.lineStart())
		c.save(false)
		c.insert("\n")
		c.Cursor--
	case 'x':
		to := c.Cursor
		for range c.times() {
			to = min(c.after(to), c.lineEnd())
		}
		v.op = 'd'
		c.operate(c.Cursor, to)
	case 'D', 'C':
		v.op = byte(unicode.ToLower(r))
		c.operate(c.Cursor, c.lineEnd())
	case 'p', 'P':
		c.vimPut(r == 'p')
	case 'u':
		for range c.times() {
			c.back(&c.undo, &c.redo)
		}
	}
}

func (c *Composer) vimPut(behind bool) {
	text := strings.Repeat(c.killed.text, min(c.times(), 100))
	if text == "" || len(text) > mostPut {
		return
	}
	c.save(false)
	if !c.vim.lines || !strings.HasSuffix(text, "\n") {
		if behind {
			c.Cursor = min(c.next(), c.lineEnd())
		}
		c.insert(text)
		c.Cursor = c.previous()
		return
	}
	at := c.lineStart()
	if behind {
		if at = c.lineEnd() + 1; at > len(c.Text) {
			text, at = "\n"+strings.TrimSuffix(text, "\n"), len(c.Text)
		}
	}
	c.Cursor = at
	c.insert(text)
	c.Cursor = at + len(text) - len(strings.TrimLeft(text, "\n"))
}

// classAt is 0 for white space, 1 for letters, 2 for other signs.
func (c *Composer) classAt(at int) int {
	switch r := first(c.Text[at:]); {
	case at == len(c.Text) || unicode.IsSpace(r):
		return 0
	case isWord(r):
		return 1
	}
	return 2
}

func (c *Composer) wordNext(at int) int {
	if is := c.classAt(at); is != 0 {
		for at < len(c.Text) && c.classAt(at) == is {
			at = c.after(at)
		}
	}
	for at < len(c.Text) && c.classAt(at) == 0 {
		at = c.after(at)
	}
	return at
}

func (c *Composer) wordBack(at int) int {
	for at > 0 && c.classAt(c.before(at)) == 0 {
		at = c.before(at)
	}
	if at == 0 {
		return 0
	}
	for is := c.classAt(c.before(at)); at > 0 && c.classAt(c.before(at)) == is; {
		at = c.before(at)
	}
	return at
}

// wordEnd is behind the end of the word at a place, or of the next one; here: of this one
// even where it ends here.
func (c *Composer) wordEnd(at int, here bool) int {
	if !here {
		at = c.after(at)
	}
	for at < len(c.Text) && c.classAt(at) == 0 {
		at = c.after(at)
	}
	for is := c.classAt(at); at < len(c.Text) && c.classAt(at) == is; {
		at = c.after(at)
	}
	return at
}

// word is the word under the cursor; around: with the space behind it.
func (c *Composer) word(around bool) (from, to int) {
	from, to = c.Cursor, c.Cursor
	is := c.classAt(from)
	for from > c.lineStart() && c.classAt(c.before(from)) == is {
		from = c.before(from)
	}
	for to < c.lineEnd() && c.classAt(to) == is {
		to = c.after(to)
	}
	for around && to < c.lineEnd() && c.classAt(to) == 0 {
		to = c.after(to)
	}
	return from, to
}

// after and before are the places one character away from at.
func (c *Composer) after(at int) int {
	was := c.Cursor
	c.Cursor = at
	at = c.next()
	c.Cursor = was
	return at
}

func (c *Composer) before(at int) int {
	was := c.Cursor
	c.Cursor = at
	at = c.previous()
	c.Cursor = was
	return at
}
