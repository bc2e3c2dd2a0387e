package chat

import (
	"strings"

	"codeagent/model/wire"
)

// A call that a server tells again, in another form or behind its end, must not
// run twice.

// repeated is the call that f tells again, whole; nil without one.
func (a *assembler) repeated(f *fragment) *call {
	for _, c := range a.calls {
		id := f.ID != "" && f.ID == c.theirs
		place := (f.ID == "" || c.theirs == "") && f.Index != nil && c.index == int(*f.Index)
		if (id || place) && c.says(f) {
			return c
		}
	}
	return nil
}

// says reports whether the call is whole and f is in its words.
func (c *call) says(f *fragment) bool {
	args := string(f.Function.Arguments)
	return c.arguments.Closed() && f.Function.Name == c.name && opens(f) &&
		c.arguments.Len() <= 2*len(args)+64 && wire.SameJSON(c.arguments.Text(), args)
}

// again takes a whole call of an answer whose calls were streamed already: what
// is missing of one that was cut off is added to it.
func (a *assembler) again(f *fragment) error {
	c := a.told(f)
	if c == nil {
		return a.add(&fragment{ID: f.ID, Function: f.Function, Extra: f.Extra})
	}
	if !c.cut(f) {
		return nil
	}
	rest := f.Function.Arguments[c.arguments.Len():]
	more := fragment{ID: f.ID, Function: function{Arguments: rest}, Extra: f.Extra}
	if c.name == "" {
		more.Function.Name = f.Function.Name
	}
	return a.more(c, &more)
}

// told is the call that f, which is whole, tells again: by its id, or by its words.
func (a *assembler) told(f *fragment) *call {
	for _, c := range a.calls {
		if f.ID != "" && f.ID == c.theirs {
			return c
		}
	}
	for _, c := range a.calls {
		if (c.name == "" || c.name == f.Function.Name) && c.cut(f) || c.says(f) {
			return c
		}
	}
	return nil
}

// cut reports whether the call is the beginning of f.
func (c *call) cut(f *fragment) bool {
	args := string(f.Function.Arguments)
	return !c.arguments.Closed() && c.arguments.Len() <= len(args) && strings.HasPrefix(args, c.arguments.Text())
}

func opens(f *fragment) bool {
	return strings.HasPrefix(strings.TrimSpace(string(f.Function.Arguments)), "{")
}
