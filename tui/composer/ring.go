package composer

import "slices"

const (
	// maxRing bounds the texts that were cut, ringBytes each of them.
	maxRing   = 20
	ringBytes = 1 << 20
)

// killRing holds what was cut, the latest last, to be inserted again.
type killRing struct {
	cut []string
	// joins: the last change was a cut; a further one adds to it.
	joins bool
	// from and to are where the last insertion stands, number counts which text it is from
	// the end; number is 0 after anything else.
	from, to, number int
	// text is the whole text after that insertion: it shows whether something else was done.
	text string
}

// cut removes a part of the text and keeps it. Cuts in a row are kept as one text.
func (c *Composer) cut(from, to int) {
	if from >= to {
		return
	}
	text, before, joins := c.Text[from:to], to == c.Cursor, c.ring.joins
	c.remove(from, to)
	c.keep(text, before, joins)
	c.ring.joins = true
}

// keep adds a text to the ring; joins adds it to the latest one, in front if before.
func (c *Composer) keep(text string, before, joins bool) {
	r := &c.ring
	if len(text) > ringBytes {
		return
	}
	n := len(r.cut)
	switch {
	case joins && n > 0 && len(r.cut[n-1])+len(text) <= ringBytes && before:
		r.cut[n-1] = text + r.cut[n-1]
	case joins && n > 0 && len(r.cut[n-1])+len(text) <= ringBytes:
		r.cut[n-1] += text
	default:
		r.cut = append(r.cut, text)
		r.cut = r.cut[max(len(r.cut)-maxRing, 0):]
	}
}

// cutEnd is the end of the line, or behind its line break if the cursor is there.
func (c *Composer) cutEnd() int {
	if end := c.lineEnd(); end > c.Cursor || end == len(c.Text) {
		return end
	}
	return c.Cursor + 1
}

// yank inserts the latest text of the ring.
func (c *Composer) yank() {
	if len(c.ring.cut) > 0 {
		c.save(false)
		c.put(1)
	}
}

func (c *Composer) put(number int) {
	r := &c.ring
	from := c.Cursor
	c.insert(r.cut[len(r.cut)-number])
	r.from, r.to, r.number, r.text = from, c.Cursor, number, c.Text
}

// yankOlder replaces what was just inserted by the text that was cut before it.
func (c *Composer) yankOlder() {
	r := &c.ring
	if r.number == 0 || r.text != c.Text || r.to != c.Cursor || len(r.cut) < 2 {
		c.yank()
		return
	}
	next := r.number%len(r.cut) + 1
	c.save(false)
	c.Text, c.Cursor = c.Text[:r.from]+c.Text[r.to:], r.from
	c.put(next)
}

// expand turns chips into their texts: the next message has chips of its own.
func (r *killRing) expand(c *Composer) {
	if !slices.ContainsFunc(r.cut, func(s string) bool { return noChips(s) != s }) {
		return
	}
	for i, s := range r.cut {
		whole := buffer{Text: s, chips: c.chips}
		r.cut[i] = whole.Value()
	}
}
