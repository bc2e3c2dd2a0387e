package transcript

import (
	"codeagent/tui/keys"
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
