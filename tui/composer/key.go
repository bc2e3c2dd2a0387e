package composer

import (
	"codeagent/tui/keys"
	"codeagent/tui/part"
)

// What Key can ask of the screen. Any other action that is not the composer's is a part.Act.
type (
	// Edge is the key Up in the first row (By is -1) or Down in the last row (+1). The screen then
	// calls History, or takes back a message that waits to be sent. Own: the composer already shows
	// a message of the history.
	Edge struct {
		By  int
		Own bool
	}
	// Leave is the key keys.Leave in an empty message. In any other message it deletes a character.
	Leave struct{}
)

// Key applies a key to the message, which is w columns wide. If the screen has to act on the key, Key
// returns how; otherwise nil.
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
		do = keys.Left // Backspace only moves the cursor, as in vi
	case do == keys.Earlier && c.Normal():
		do = keys.Redo // in vi, the same key is redo
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
