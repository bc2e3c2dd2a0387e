package composer

import "strings"

// mentionMost bounds what is taken for the name of a file.
const mentionMost = 200

// Mention is the part of a file's name that is being typed: it begins with @ at the start of
// a word and ends at the cursor.
func (c *buffer) Mention() (from int, query string, ok bool) {
	before := c.Text[:c.Cursor]
	from = strings.LastIndexByte(before, '@')
	if from < 0 || len(before)-from > mentionMost || strings.ContainsAny(before[from:], " \t\n") || strings.ContainsFunc(before[from:], isChip) {
		return 0, "", false
	}
	if from > 0 && !strings.ContainsRune(" \t\n([{\"'`,;:", rune(before[from-1])) {
		return 0, "", false // an address
	}
	return from, before[from+1:], true
}

// Name puts the name of a file in place of what Mention returned, and which lines of it are meant. A folder stays open for
// what is in it.
func (c *Composer) Name(from int, path, lines string) {
	text := "@" + path
	if strings.ContainsAny(path, " '\"`") {
		text = "@\"" + strings.ReplaceAll(path, "\"", "\\\"") + "\""
	}
	text += lines
	if !strings.HasSuffix(text, "/") && !strings.HasPrefix(c.Text[c.Cursor:], " ") {
		text += " "
	}
	c.save(false)
	c.Text, c.Cursor = c.Text[:from]+c.Text[c.Cursor:], from
	c.insert(noChips(text))
	c.named = 0
	if strings.HasSuffix(text, " ") {
		c.named = c.Cursor
	}
}
