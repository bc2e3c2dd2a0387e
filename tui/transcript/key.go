package transcript

import (
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// Key takes a key for the chosen block; false: it has no use for it. What is typed goes elsewhere, and
// nothing is chosen any more.
func (t *Transcript) Key(k keys.Key, table *keys.Table, c Canvas) (part.Intent, bool) {
	if !t.Chosen() {
		return nil, false
	}
	switch table.Find(k, keys.InBlock) {
	case keys.Open:
		if inside := t.inside(); len(inside) > 0 {
			return inside, true
		}
		t.Toggle(c)
		return nil, true
	case keys.Copy:
		return part.Copy(t.Source()), true
	}
	if keys.Typed(k) != "" {
		t.Unchoose()
	}
	return nil, false
}

// Lines is how many lines an action scrolls, up when negative; 0: it does not scroll.
func (t *list) Lines(do keys.Action) int {
	page := max(t.Height-2, 1)
	return map[keys.Action]int{
		keys.PageUp: -page, keys.PageDown: page, keys.LineUp: -1, keys.LineDown: 1,
		keys.Top: -paint.Everything, keys.End: paint.Everything,
	}[do]
}

// Act does an action that holds everywhere, if it is about the transcript: it scrolls, chooses a block, or opens and folds one.
func (t *list) Act(do keys.Action, c Canvas) {
	switch by := t.Lines(do); {
	case by != 0:
		t.Scroll(c, by)
	case do == keys.Above:
		t.choose(c, -1)
	case do == keys.Below:
		t.choose(c, 1)
	case do == keys.Toggle:
		t.Toggle(c)
	}
}
