package footer

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"codeagent/tui/paint"
)

// item is one item of the line in its forms, the longest first; a form without spans leaves the item out.
type item []form

// form is one way to show an item. The lower its rank, the sooner it is given up for the next form.
type form struct {
	rank  int
	spans []paint.Span
}

// goes is an item with one form, which is left out at that rank.
func goes(rank int, s paint.Span) item { return item{{rank, []paint.Span{s}}, {}} }

// What is given up first as the line becomes narrow. The preset, and that something is not enforced, stay.
const (
	branchGoes = iota
	folderGoes
	billedGoes
	weakShortens
	effortGoes
	contextShortens
	costGoes
	modelShortens
	modelGoes
	contextGoes
	modeGoes
	jobsGo
	stays
)

// fit chooses the forms that w columns hold.
func fit(w int, left, right []item) (l, r []paint.Span) {
	for {
		var next *item
		show := func(items []item) (out []paint.Span) {
			for i := range items {
				all := items[i]
				if len(all) == 0 {
					continue
				}
				out = paint.Joined(out, all[0].spans)
				if len(all) > 1 && (next == nil || all[0].rank < (*next)[0].rank) {
					next = &items[i]
				}
			}
			return out
		}
		l, r = show(left), show(right)
		gap := 0
		if len(r) > 0 {
			gap = 2
		}
		if next == nil || paint.WidthOf(l)+gap+paint.WidthOf(r) <= w {
			return l, r
		}
		*next = (*next)[1:]
	}
}

func (f *Footer) model(effort string) item {
	name := paint.Text.Span(shortModel(cmp.Or(f.Session.Model, unnamed)))
	if f.Session.Tour {
		name.Text = "tour"
	}
	const least = 20
	all := item{{modelShortens, []paint.Span{name}}, {modelGoes, []paint.Span{paint.Text.Span(paint.Cut(name.Text, least))}}, {}}
	if effort == "none" {
		effort = "no reasoning"
	}
	if effort != "" {
		all = append(item{{effortGoes, []paint.Span{name, paint.Dim.Span(" " + effort)}}}, all...)
	}
	return all
}

// folder is the folder and its branch.
func (f *Footer) folder() (all item) {
	const most = 24
	if f.Session.Folder == "" {
		return nil
	}
	name := paint.Dim.Span(paint.Cut(path.Base(f.Session.Folder), most))
	if f.place.branch != "" {
		all = item{{branchGoes, []paint.Span{name, paint.Faint.Span(" ("), paint.Dim.Span(paint.Cut(f.place.branch, most)), paint.Faint.Span(")")}}}
	}
	return append(all, goes(folderGoes, name)...)
}

// policy names the preset; running without a sandbox is shown as a danger.
func policy(preset string) item {
	s := paint.Dim
	if strings.HasPrefix(preset, "danger") {
		s = paint.Bad.With(paint.Bold)
	}
	return item{{stays, []paint.Span{s.Span(cmp.Or(preset, "sandbox ?"))}}}
}

// draft says that nothing is in the files yet.
func (f *Footer) draft() item {
	if !f.OnDraft {
		return nil
	}
	return item{{stays, []paint.Span{paint.Warn.Span("draft")}}}
}

// weak counts what this machine does not enforce.
func (f *Footer) weak() item {
	n := len(f.Session.Enforcement.Weaknesses)
	if n == 0 {
		return nil
	}
	return item{{weakShortens, []paint.Span{paint.Warn.Span(fmt.Sprintf("▲ %d not enforced", n))}}, {stays, []paint.Span{paint.Warn.Span(fmt.Sprintf("▲ %d", n))}}}
}

// jobs is where the person reaches a port of a command in the background, else how many of them run.
func (f *Footer) jobs() (all item) {
	n := len(f.ports)
	if n == 0 && f.Running > 0 {
		return goes(jobsGo, paint.Accent.Span(fmt.Sprintf("%d running", f.Running)))
	}
	if n == 0 {
		return nil
	}
	url, more := f.ports[n-1], ""
	if n > 1 {
		more = fmt.Sprintf(" +%d", n-1)
	}
	at := strings.TrimPrefix(url, "http://")
	_, port, _ := strings.Cut(at, ":")
	for _, text := range []string{url, at, ":" + port} {
		all = append(all, form{jobsGo, []paint.Span{paint.Accent.Span(text + more)}})
	}
	all[2].rank = stays
	return all
}

// crowded is the share of the context window, in percent, from which the footer
// warns: a little before the conversation is compacted automatically.
const crowded = 70

// context is how full the model's context is; ? marks a window whose size is assumed.
func (f *Footer) context() item {
	used, window, assumed := f.Context()
	switch {
	case used == 0:
		return nil
	case window == 0:
		return goes(contextGoes, paint.Dim.Span("ctx "+paint.Count(used)))
	}
	s, of := paint.Dim, paint.Count(int(window))
	share := int64(used) * 100 / window
	if share >= crowded {
		s = paint.Warn
	}
	if assumed {
		of += "?"
	}
	return append(item{{contextShortens, []paint.Span{s.Span("ctx " + paint.Count(used) + "/" + of)}}}, goes(contextGoes, s.Span(fmt.Sprintf("ctx %d%%", share)))...)
}

// billed is how many tokens the session used.
func (f *Footer) billed() item {
	n := f.usage.Total.Input + f.usage.Total.Output
	if n == 0 {
		return nil
	}
	return goes(billedGoes, paint.Dim.Span("billed "+paint.Count(n)))
}

func (f *Footer) costs() item {
	cost, _ := f.cost()
	switch {
	case cost == "":
		return nil
	case f.usage.Total.Cost.USD == 0:
		cost = "cost " + cost
	}
	return goes(costGoes, paint.Dim.Span(cost))
}
