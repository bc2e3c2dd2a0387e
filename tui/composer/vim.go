package composer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The keys of vi, by setting: insert mode is the editor as it is, normal mode has the usual
// motions (h j k l w b e W B E 0 ^ $ gg G f F t T ; ,), operators (d c y, doubled for lines,
// with iw and aw), and x X s S D C Y r ~ J p P u i a I A o O, with counts.

// vim is the state of vi's keys. Its text for p is the latest of the ring.
type vim struct {
	on, normal bool
	count      int  // that is being typed; 0: none
	op         byte // d, c or y, waiting for its motion
	opCount    int
	wait       byte // a key that waits for the next one: f F t T r g i a
	lines      bool // what was cut last are whole lines
	find       byte // of the last f, F, t or T
	found      rune
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
	case strings.ContainsRune("fFtTg", r), v.op == 0 && r == 'r', v.op != 0 && (r == 'i' || r == 'a'):
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
	switch wait {
	case 'g':
		switch {
		case r == 'g' && v.op != 0:
			c.operateLines(0, c.lineEnd())
		case r == 'g':
			c.reach(0, false)
		default:
			v.reset()
		}
	case 'r':
		to := c.Cursor
		for range c.times() {
			if to >= c.lineEnd() {
				v.reset()
				return
			}
			to = c.after(to)
		}
		n := c.times()
		v.reset()
		if c.Cursor < to && !isChip(r) {
			at := c.Cursor
			c.remove(at, to)
			c.insert(strings.Repeat(string(r), n))
			c.Cursor = at + (n-1)*utf8.RuneLen(r)
		}
	case 'i', 'a':
		if r != 'w' {
			v.reset()
			return
		}
		from, to := c.word(wait == 'a')
		c.operate(from, to)
	default:
		v.find, v.found = wait, r
		c.reachFound(wait, false)
	}
}

// reachFound goes to the character of the last f, F, t or T, in the direction of kind;
// again: t and T do not stay where they are.
func (c *Composer) reachFound(kind byte, again bool) {
	at := c.Cursor
	for range c.times() {
		next := c.seek(kind, at, again)
		if next < 0 {
			c.vim.reset()
			return
		}
		at = next
	}
	switch kind {
	case 't':
		at = c.before(at)
	case 'T':
		at = c.after(at)
	}
	c.reach(at, kind == 'f' || kind == 't')
}

func (c *Composer) seek(kind byte, at int, again bool) int {
	if kind == 'f' || kind == 't' {
		from := c.after(at)
		if kind == 't' && again && from < len(c.Text) && strings.HasPrefix(c.Text[from:], string(c.vim.found)) {
			from = c.after(from)
		}
		if from > c.lineEnd() {
			return -1
		}
		if i := strings.IndexRune(c.Text[from:c.lineEnd()], c.vim.found); i >= 0 {
			return from + i
		}
		return -1
	}
	start := c.lineStart()
	if kind == 'T' && again && strings.HasSuffix(c.Text[start:at], string(c.vim.found)) {
		at -= utf8.RuneLen(c.vim.found)
	}
	i := strings.LastIndex(c.Text[start:max(at, start)], string(c.vim.found))
	if i < 0 {
		return -1
	}
	return start + i
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
	case 'w', 'W':
		if v.op == 'c' && at < len(c.Text) && class(first(c.Text[at:]), r == 'W') != 0 { // cw changes to the end of the word
			return step(func(at int) int { return c.wordEnd(at, r == 'W', true) }), false, true
		}
		return step(func(at int) int { return c.wordNext(at, r == 'W') }), false, true
	case 'b', 'B':
		return step(func(at int) int { return c.wordBack(at, r == 'B') }), false, true
	case 'e', 'E':
		return c.before(step(func(at int) int { return c.wordEnd(at, r == 'E', false) })), true, true
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
	case ';', ',':
		if v.find == 0 {
			return 0, false, false
		}
		kind := v.find
		if r == ',' {
			kind ^= 'f' ^ 'F' // the other direction
		}
		c.reachFound(kind, true)
		return c.Cursor, false, v.op == 0
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
			c.keep(c.Text[from:to], false, false)
		}
		c.move(from)
		return
	}
	if from < to {
		c.ring.joins = false
		c.cut(from, to)
		c.ring.joins = false
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
	c.keep(text, false, false)
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
	case 'x', 'X', 's':
		from, to := c.Cursor, c.Cursor
		for range c.times() {
			if r == 'X' {
				from = max(c.before(from), c.lineStart())
			} else {
				to = min(c.after(to), c.lineEnd())
			}
		}
		v.op = 'd'
		if r == 's' {
			v.op = 'c'
		}
		c.operate(from, to)
	case 'S':
		v.op = 'c'
		c.operateLines(c.lineStart(), c.lineEnd())
	case 'D', 'C':
		v.op = byte(unicode.ToLower(r))
		c.operate(c.Cursor, c.lineEnd())
	case 'Y':
		v.op = 'y'
		c.operateLines(c.lineStart(), c.lineEnd())
	case '~':
		c.swapCase()
	case 'J':
		if end := c.lineEnd(); end < len(c.Text) {
			rest := strings.TrimLeft(c.Text[end+1:], " \t")
			c.save(false)
			c.Text, c.Cursor = c.Text[:end]+" "+rest, end
		}
	case 'p', 'P':
		c.vimPut(r == 'p')
	case 'u':
		for range c.times() {
			c.back(&c.undo, &c.redo)
		}
	}
}

func (c *Composer) swapCase() {
	for range c.times() {
		if c.Cursor == c.lineEnd() {
			return
		}
		to, text := c.next(), ""
		for _, r := range c.Text[c.Cursor:to] {
			if unicode.IsUpper(r) {
				r = unicode.ToLower(r)
			} else {
				r = unicode.ToUpper(r)
			}
			text += string(r)
		}
		c.remove(c.Cursor, to)
		c.insert(text)
	}
}

func (c *Composer) vimPut(behind bool) {
	r := &c.ring
	if len(r.cut) == 0 {
		return
	}
	text := strings.Repeat(r.cut[len(r.cut)-1], min(c.times(), 100))
	if len(text) > ringBytes {
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

// class is 0 for white space, 1 for letters, 2 for other signs; big knows no signs.
func class(r rune, big bool) int {
	switch {
	case unicode.IsSpace(r):
		return 0
	case big || isWord(r):
		return 1
	}
	return 2
}

func (c *Composer) classAt(at int, big bool) int {
	if at >= len(c.Text) {
		return 0
	}
	return class(first(c.Text[at:]), big)
}

func (c *Composer) wordNext(at int, big bool) int {
	if is := c.classAt(at, big); is != 0 {
		for at < len(c.Text) && c.classAt(at, big) == is {
			at = c.after(at)
		}
	}
	for at < len(c.Text) && c.classAt(at, big) == 0 {
		at = c.after(at)
	}
	return at
}

func (c *Composer) wordBack(at int, big bool) int {
	for at > 0 && c.classAt(c.before(at), big) == 0 {
		at = c.before(at)
	}
	if at == 0 {
		return 0
	}
	for is := c.classAt(c.before(at), big); at > 0 && c.classAt(c.before(at), big) == is; {
		at = c.before(at)
	}
	return at
}

// wordEnd is behind the end of the word at a place, or of the next one; here: of this one
// even where it ends here.
func (c *Composer) wordEnd(at int, big, here bool) int {
	if !here {
		at = c.after(at)
	}
	for at < len(c.Text) && c.classAt(at, big) == 0 {
		at = c.after(at)
	}
	for is := c.classAt(at, big); at < len(c.Text) && c.classAt(at, big) == is; {
		at = c.after(at)
	}
	return at
}

// word is the word under the cursor; around: with the space behind it.
func (c *Composer) word(around bool) (from, to int) {
	from, to = c.Cursor, c.Cursor
	is := c.classAt(from, false)
	for from > c.lineStart() && c.classAt(c.before(from), false) == is {
		from = c.before(from)
	}
	for to < c.lineEnd() && c.classAt(to, false) == is {
		to = c.after(to)
	}
	for around && to < c.lineEnd() && c.classAt(to, false) == 0 {
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
