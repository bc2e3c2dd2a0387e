package footer

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"codeagent/tui/paint"
)

// piece is one item of the line in its forms, the longest first; a form without spans leaves the item out.
type piece struct {
	right bool
	forms []form
}

// form is one way to show an item. The lower its rank, the sooner it is given up for the next form.
type form struct {
	rank  int
	spans []paint.Span
}

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
func fit(w int, pieces []piece) (left, right []paint.Span) {
	for {
		left, right = nil, nil
		var next *piece
		for i := range pieces {
			p := &pieces[i]
			if len(p.forms) == 0 {
				continue
			}
			if p.right {
				right = paint.Joined(right, p.forms[0].spans)
			} else {
				left = paint.Joined(left, p.forms[0].spans)
			}
			if len(p.forms) > 1 && (next == nil || p.forms[0].rank < next.forms[0].rank) {
				next = p
			}
		}
		gap := 0
		if len(right) > 0 {
			gap = 2
		}
		if next == nil || paint.WidthOf(left)+gap+paint.WidthOf(right) <= w {
			return left, right
		}
		next.forms = next.forms[1:]
	}
}

func (f *Footer) modelPiece(effort string) piece {
	name := paint.Text.Span(shortModel(cmp.Or(f.Session.Model, unnamed)))
	if f.Session.Tour {
		name.Text = "tour"
	}
	const least = 20
	p := piece{forms: []form{{modelShortens, []paint.Span{name}}, {modelGoes, []paint.Span{paint.Text.Span(paint.Cut(name.Text, least))}}, {}}}
	if effort == "none" {
		effort = "no reasoning"
	}
	if effort != "" {
		p.forms = append([]form{{effortGoes, []paint.Span{name, paint.Dim.Span(" " + effort)}}}, p.forms...)
	}
	return p
}

// folder is the folder and its branch.
func (f *Footer) folder() (p piece) {
	const most = 24
	if f.Session.Folder == "" {
		return p
	}
	name := paint.Dim.Span(paint.Cut(path.Base(f.Session.Folder), most))
	if f.place.branch != "" {
		p.forms = []form{{branchGoes, []paint.Span{name, paint.Faint.Span(" ("), paint.Dim.Span(paint.Cut(f.place.branch, most)), paint.Faint.Span(")")}}}
	}
	p.forms = append(p.forms, form{folderGoes, []paint.Span{name}}, form{})
	return p
}

// policyPiece names the preset; running without a sandbox is shown as a danger.
func policyPiece(preset string) piece {
	s := paint.Dim
	if strings.HasPrefix(preset, "danger") {
		s = paint.Bad.With(paint.Bold)
	}
	return piece{forms: []form{{stays, []paint.Span{s.Span(cmp.Or(preset, "sandbox ?"))}}}}
}

func modePiece(word string) piece {
	return piece{forms: []form{{modeGoes, []paint.Span{paint.Dim.Span(word)}}, {}}}
}

// weak counts what this machine does not enforce.
func (f *Footer) weak() (p piece) {
	if n := len(f.Session.Enforcement.Weaknesses); n > 0 {
		p.forms = []form{{weakShortens, []paint.Span{paint.Warn.Span(fmt.Sprintf("▲ %d not enforced", n))}}, {stays, []paint.Span{paint.Warn.Span(fmt.Sprintf("▲ %d", n))}}}
	}
	return p
}

// jobs is where the person reaches a port of a command in the background, else how many of them run.
func (f *Footer) jobs() (p piece) {
	if n := len(f.ports); n > 0 {
		url, more := f.ports[n-1], ""
		if n > 1 {
			more = fmt.Sprintf(" +%d", n-1)
		}
		at := strings.TrimPrefix(url, "http://")
		_, port, _ := strings.Cut(at, ":")
		for _, text := range []string{url + more, at + more, ":" + port + more} {
			p.forms = append(p.forms, form{jobsGo, []paint.Span{paint.Accent.Span(text)}})
		}
		p.forms[2].rank = stays
	} else if f.Running > 0 {
		p.forms = []form{{jobsGo, []paint.Span{paint.Accent.Span(fmt.Sprintf("%d running", f.Running))}}, {}}
	}
	return p
}

// crowded is the share of the context window, in percent, from which the footer
// warns: a little before the conversation is compacted automatically.
const crowded = 70

// context is how full the model's context is; ? marks a window whose size is assumed.
func (f *Footer) context() piece {
	p := piece{right: true}
	used, window, assumed := f.Context()
	switch {
	case used == 0:
	case window == 0:
		p.forms = []form{{contextGoes, []paint.Span{paint.Dim.Span("ctx " + paint.Count(used))}}, {}}
	default:
		s, of := paint.Dim, paint.Count(int(window))
		share := int64(used) * 100 / window
		if share >= crowded {
			s = paint.Warn
		}
		if assumed {
			of += "?"
		}
		p.forms = []form{{contextShortens, []paint.Span{s.Span("ctx " + paint.Count(used) + "/" + of)}}, {contextGoes, []paint.Span{s.Span(fmt.Sprintf("ctx %d%%", share))}}, {}}
	}
	return p
}

// billed is how many tokens the session used.
func (f *Footer) billed() piece {
	p := piece{right: true}
	if n := f.usage.Total.Input + f.usage.Total.Output; n > 0 {
		p.forms = []form{{billedGoes, []paint.Span{paint.Dim.Span("billed " + paint.Count(n))}}, {}}
	}
	return p
}

func (f *Footer) costs() piece {
	p := piece{right: true}
	if cost, _ := f.cost(); cost != "" {
		if f.usage.Total.Cost.USD == 0 {
			cost = "cost " + cost
		}
		p.forms = []form{{costGoes, []paint.Span{paint.Dim.Span(cost)}}, {}}
	}
	return p
}
