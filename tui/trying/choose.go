package trying

import (
	"fmt"
	"slices"
	"strings"

	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// some is the list in which files and hunks are chosen. Nothing is chosen at first.
func (s Screen) some(x *Tried, under part.Overlay) *picker.Picker {
	p := picker.New(s.Keys, "Keep some")
	p.Under, p.Enter = under, "chooses it, or not"
	chosen := make([]Choice, len(x.Changes))
	for i, c := range x.Changes {
		chosen[i].Hunks = make([]bool, len(c.Hunks))
	}
	fill := func() { p.Fill(s.rows(x, chosen)) }
	p.Choose = func(r picker.Row) part.Intent {
		var i, n int
		switch got, _ := fmt.Sscanf(r.Id, "%d.%d", &i, &n); {
		case r.Id == "keep" && count(chosen) == 0:
			return part.Say("nothing is chosen yet; Esc goes back")
		case r.Id == "keep":
			return s.keep(x, chosen)
		case r.Id == "all":
			yes := !whole(x, chosen)
			for i := range chosen {
				chosen[i].set(yes && x.Changes[i].Why == "")
			}
		case x.Changes[i].Why != "":
			return part.Say("it cannot be kept: " + x.Changes[i].Why)
		case got == 1:
			chosen[i].set(!chosen[i].All)
		default:
			h := chosen[i].Hunks
			h[n] = !h[n]
			chosen[i].All = !slices.Contains(h, false)
		}
		fill()
		return part.Show{Overlay: p} // a face without a screen has closed it
	}
	fill()
	return p
}

func (c *Choice) set(yes bool) {
	c.All = yes
	for i := range c.Hunks {
		c.Hunks[i] = yes
	}
}

// Any reports whether something of the change is chosen.
func (c Choice) Any() bool { return c.All || slices.Contains(c.Hunks, true) }

func count(chosen []Choice) (n int) {
	for _, c := range chosen {
		if c.Any() {
			n++
		}
	}
	return n
}

// whole reports whether all is chosen that can be kept.
func whole(x *Tried, chosen []Choice) bool {
	for i, c := range chosen {
		if !c.All && x.Changes[i].Why == "" {
			return false
		}
	}
	return true
}

// box marks what is chosen, also without colours.
func box(all, any bool) string {
	switch {
	case all:
		return "[x] "
	case any:
		return "[-] "
	}
	return "[ ] "
}

// mostLines is how many lines of a hunk are shown while it is selected. The page below shows all.
const mostLines = 8

func (s Screen) rows(x *Tried, chosen []Choice) []picker.Row {
	out := []picker.Row{
		{Id: "keep", Text: fmt.Sprintf("Keep the chosen: %d of %d", count(chosen), len(chosen)), Enter: "keeps them and drops the rest"},
		{Id: "all", Text: box(whole(x, chosen), count(chosen) > 0) + "all"},
	}
	for i, c := range x.Changes {
		r := picker.Row{Id: fmt.Sprint(i), Text: box(chosen[i].All, chosen[i].Any()) + sign(c.Kind) + " " + s.named(c.Path), About: c.Note}
		if c.Why != "" {
			r.About, r.More = "cannot be kept", c.Why
		}
		out = append(out, r)
		for n, h := range c.Hunks {
			lines := h.Lines
			if len(lines) > mostLines {
				lines = append(slices.Clone(lines[:mostLines-1]), "…")
			}
			yes := chosen[i].Hunks[n]
			out = append(out, picker.Row{Id: fmt.Sprintf("%d.%d", i, n), Text: "    " + box(yes, yes) + fmt.Sprintf("line %d", h.At), More: strings.Join(lines, "\n")})
		}
	}
	return out
}
