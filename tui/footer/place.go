package footer

import (
	"context"

	"codeagent/tui/part"
)

// place is what the footer shows about the folder: it is looked at when the session
// starts and after each turn, beside everything else.
type place struct {
	branch string
	// looking: a look is under way; again: another one was asked for meanwhile.
	looking, again bool
}

// Look looks at the folder, one look at a time. branch returns what is checked out there; "": no repository.
func (f *Footer) Look(branch func(context.Context) string) part.Intent {
	p := &f.place
	switch {
	case branch == nil || !f.Started:
		return nil
	case p.looking:
		p.again = true
		return nil
	}
	p.looking = true
	return part.Beside(func(ctx context.Context) func() part.Intent {
		name := branch(ctx)
		return func() part.Intent {
			again := p.again
			if *p = (place{branch: name}); again {
				return f.Look(branch)
			}
			return nil
		}
	})
}
