package transcript

// What is written in lines is written once: an entry when nothing changes it any more.

// Settled returns the lines of the entries from index from on, up to the first that still changes, and
// the index of that one.
func (t *Transcript) Settled(c Canvas, from int) (lines []string, next int) {
	for next = from; next < len(t.entries); next++ {
		if e := t.entries[next]; e.moving || e == t.grows || e == t.echo {
			break
		}
		lines = append(lines, t.lines(next, c)...)
	}
	return lines, next
}

// Running returns the first lines of the entries from index from on that still run.
func (t *Transcript) Running(c Canvas, from int) (lines []string) {
	for i := from; i < len(t.entries); i++ {
		if on, ok := t.entries[i].body.(*tool); !t.entries[i].moving || ok && on.waiting() {
			continue // a question says it
		}
		if drawn := t.entries[i].body.Draw(c); len(drawn) > 0 {
			lines = append(lines, drawn[0])
		}
	}
	return lines
}

// Opened returns all lines of the last entry that has more to show than its summary.
func (t *Transcript) Opened(c Canvas) []string {
	for i := len(t.entries) - 1; i >= 0; i-- {
		if t.foldable(i, c) {
			c.open = true
			return t.entries[i].body.Draw(c)
		}
	}
	return nil
}
