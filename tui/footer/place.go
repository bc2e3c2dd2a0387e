package footer

import (
	"context"
	"strings"

	"codeagent/model"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// place is what the footer shows about the folder: it is looked at when the session
// starts and after each turn, beside everything else.
type place struct {
	branch string
	// line is what the person's own status command printed; "": the footer is ours.
	line string
	// looking: a look is under way; again: another one was asked for meanwhile.
	looking, again bool
}

// Standing is what a status command of the person's receives.
type Standing struct {
	Model, Folder, Branch, Sandbox, Approvals string
	// Context is how full the model's context is, in percent; -1: not known.
	Context int
	Used    model.Usage
	// Cost is empty without a price.
	Cost string
}

// Surroundings are what the footer shows that no event reports.
type Surroundings interface {
	// Branch returns what is checked out in the session's folder; "": no repository.
	Branch(ctx context.Context) string
	// Line returns what the person's status command prints; "": it has no command, or it
	// failed, and the footer is the usual one.
	Line(ctx context.Context, s Standing) string
}

// Look looks at the folder, one look at a time; preset and mode are the policies that apply now.
func (f *Footer) Look(around Surroundings, preset, mode func() string) part.Intent {
	p := &f.place
	switch {
	case around == nil || !f.Started:
		return nil
	case p.looking:
		p.again = true
		return nil
	}
	p.looking = true
	now := f.standing(preset(), mode())
	return part.Beside(func(ctx context.Context) func() part.Intent {
		now.Branch = around.Branch(ctx)
		line := ""
		if lines := paint.OutputLines(around.Line(ctx, now)); len(lines) > 0 {
			line = lines[0]
		}
		return func() part.Intent {
			again := p.again
			*p = place{branch: now.Branch, line: line}
			if again {
				return f.Look(around, preset, mode)
			}
			return nil
		}
	})
}

func (f *Footer) standing(preset, mode string) Standing {
	s := Standing{Model: f.Session.Model, Folder: f.Session.Folder, Sandbox: preset, Approvals: mode, Context: -1, Used: f.usage.Total}
	s.Cost, _ = f.cost()
	if used, window, _ := f.Context(); window > 0 {
		s.Context = int(int64(used) * 100 / window)
	}
	return s
}

// ownLine is the footer with what the person's command printed. What codeagent computed of
// the sandbox stays, and is never cut by it.
func (f *Footer) ownLine(t *paint.Theme, w int, rules []item) string {
	policy, _ := fit(w-2-min(paint.Width(f.place.line), w/2), rules, nil)
	left := paint.Dim.Span(cutWords(f.place.line, max(w-paint.WidthOf(policy)-2, 0)))
	return t.Justify(w, []paint.Span{left}, policy)
}

// cutWords is paint.Cut, between words where one of them fits.
func cutWords(s string, w int) string {
	cut := paint.Cut(s, w)
	kept, ok := strings.CutSuffix(cut, "…")
	if at := strings.LastIndexByte(kept, ' '); ok && at > 0 && !strings.HasPrefix(s, kept+" ") {
		return strings.TrimRight(kept[:at], " ,;") + "…"
	}
	return cut
}
