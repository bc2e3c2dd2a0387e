package chat

import (
	"strings"

	"codeagent/model/wire"
)

// A call that a server repeats, in another form or after its end, must not run twice.

// repeated returns the call that f repeats in full, or nil.
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

// says reports whether the call is complete and has the same name and arguments as f.
func (c *call) says(f *fragment) bool {
	args := string(f.Function.Arguments)
	return c.arguments.Closed() && f.Function.Name == c.name && opens(f) &&
		c.arguments.Len() <= 2*len(args)+64 && wire.SameJSON(c.arguments.Text(), args)
}

// again takes a complete call of an answer whose calls were streamed already. If the
// streamed call was cut off, it adds the missing rest.
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

// told returns the call that f, which is complete, repeats: by its id, or by its content.
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

// cut reports whether the call is a proper beginning of f.
func (c *call) cut(f *fragment) bool {
	args := string(f.Function.Arguments)
	return !c.arguments.Closed() && c.arguments.Len() <= len(args) && strings.HasPrefix(args, c.arguments.Text())
}

func opens(f *fragment) bool {
	return strings.HasPrefix(strings.TrimSpace(string(f.Function.Arguments)), "{")
}
