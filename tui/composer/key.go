package composer

import (
	"codeagent/tui/keys"
	"codeagent/tui/part"
)

// What a key wants of the screen, beside part.Act for an action that is not the composer's.
type (
	// Edge is Up (-1) or Down at the first or last row. History recalls a message by it, unless the
	// screen has a message of its own to show; Own: the text is one of the history already.
	Edge struct {
		By  int
		Own bool
	}
	// Leave is the key that deletes a character, in an empty message.
	Leave struct{}
)

// Key takes a key for the message, in w columns. What it does not do itself it returns.
func (c *Composer) Key(k keys.Key, table *keys.Table, w int) part.Intent {
	if s := keys.Typed(k); s != "" {
		if c.Normal() {
			c.Command(s, w)
		} else {
			c.Typed(s)
		}
		return nil
	}
	do := table.Find(k, keys.InComposer, keys.Everywhere)
	by := map[keys.Action]int{keys.Up: -1, keys.Down: 1}[do]
	switch {
	case do == keys.Backspace && c.Normal():
		do = keys.Left // what deletes only moves, as in vi
	case do == keys.Earlier && c.Normal():
		do = keys.Redo // as in vi
	case do == keys.LineStart && c.Empty():
		do = keys.Top
	case do == keys.LineEnd && c.Empty():
		do = keys.End
	case do == keys.Leave && c.Empty():
		return Leave{}
	case do == keys.Leave:
		do = keys.Delete
	case by != 0 && c.atEdge(by, w):
		return Edge{by, c.history.at > 0}
	}
	if c.Edit(do, w) {
		return nil
	}
	return part.Act(do)
}

// History shows an older (-1) or newer (+1) message.
func (c *Composer) History(by int) { recall(c, -by) }
