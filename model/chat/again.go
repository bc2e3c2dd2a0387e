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

func opens(f *fragment) bool {
	return strings.HasPrefix(strings.TrimSpace(string(f.Function.Arguments)), "{")
}
