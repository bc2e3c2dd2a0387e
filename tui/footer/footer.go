// Package footer is the line below the message, and the page of /status: what is known of the session
// from its events and its folder. It performs no IO. Start with Footer.
package footer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tui/paint"
)

// Footer is what is known of the session.
type Footer struct {
	Session event.SessionStarted
	Started bool
	Running int // background commands
	Plan    []event.PlanStep
	Replan  bool   // the model wrote it after the person was last asked
	Home    string // shown as ~
	usage   event.UsageUpdated
	spent   spent
	place   place
}

// spent is what the session cost so far, in the currency of the settings.
type spent struct {
	cost float64
	// priced and unpriced: a model with a price was used, and one without.
	priced, unpriced bool
}

func (s *spent) add(u model.Usage, p event.Price) {
	switch {
	case u == model.Usage{}:
	case p == event.Price{}:
		s.unpriced = true
	default:
		s.cost, s.priced = s.cost+p.Of(u), true
	}
}

// String is "" without a price; a + says that not everything is counted.
func (s *spent) String() string {
	out := fmt.Sprintf("%.2f", s.cost)
	if s.cost > 0 && s.cost < 0.01 {
		out = "<0.01"
	}
	if s.unpriced {
		out += "+"
	}
	if !s.priced {
		return ""
	}
	return out
}

// Apply takes what an event says about the session.
func (f *Footer) Apply(e event.Event) {
	switch e := e.(type) {
	case event.PlanUpdated:
		f.Plan, f.Replan = e.Steps, true
	case event.SessionStarted:
		if f.Started && f.Session.ID == e.ID && f.Session.Model != "" && f.Session.Model != e.Model {
			f.usage.Limit, f.usage.Assumed = 0, false // they were the other model's
		}
		f.Session, f.Started = e, true
	case event.UsageUpdated:
		f.spent.add(e.Total.Since(f.usage.Total), f.Session.Price)
		f.usage = e
	case event.BackgroundChanged:
		f.Running = e.Running
	case event.Compacted:
		if e.Err == "" && e.After > 0 {
			f.usage.Context = e.After
		}
	}
}

// unnamed stands for a model whose name the provider has not sent yet.
const unnamed = "the provider's model"

// View is one line: on the left the model, the folder and its branch, the sandbox, the
// approvals and what is not enforced, on the right the tokens and the cost. It is shown in the longest form that fits;
// what is not enforced is dropped last. preset and mode are the policies that apply now.
func (f *Footer) View(t *paint.Theme, w int, preset, mode string) string {
	if !f.Started {
		return ""
	}
	name := paint.Text.Span(shortModel(cmp.Or(f.Session.Model, unnamed)))
	if f.Session.Tour {
		name.Text = "tour"
	}
	policy, asks := policyName(preset), paint.Dim.Span(Approvals(mode))
	var long, short []paint.Span
	if n := len(f.Session.Enforcement.Weaknesses); n > 0 {
		long, short = []paint.Span{paint.Warn.Span(fmt.Sprintf("▲ %d not enforced", n))}, []paint.Span{paint.Warn.Span(fmt.Sprintf("▲ %d", n))}
	}
	var beside []paint.Span
	if f.Running > 0 {
		beside = []paint.Span{paint.Accent.Span(fmt.Sprintf("%d running", f.Running))}
	}
	if f.place.line != "" {
		return f.ownLine(t, w, paint.Joined([]paint.Span{policy}, []paint.Span{asks}, short, beside),
			paint.Joined([]paint.Span{policy}, []paint.Span{paint.Dim.Span(mode)}, short, beside), paint.Joined([]paint.Span{policy}, short, beside))
	}
	tokens, least := f.tokens(), 0
	if n := len(tokens); n > 0 {
		least = paint.WidthOf(tokens[n-1]) + 2
	}
	var left []paint.Span
	for _, at := range f.place.forms(f.Session.Folder) { // only beside the tokens
		left = paint.Joined([]paint.Span{name}, at, []paint.Span{policy}, []paint.Span{asks}, long, beside)
		if paint.WidthOf(left)+least+paint.Gutter+1 <= w {
			break
		}
	}
	for _, form := range [][]paint.Span{
		left,
		paint.Joined([]paint.Span{name}, []paint.Span{policy}, []paint.Span{asks}, long, beside),
		paint.Joined([]paint.Span{name}, []paint.Span{policy}, []paint.Span{asks}, short, beside),
		paint.Joined([]paint.Span{policy}, []paint.Span{asks}, short, beside),
		paint.Joined([]paint.Span{policy}, []paint.Span{paint.Dim.Span(mode)}, short, beside),
		paint.Joined([]paint.Span{policy}, short, beside),
	} {
		if left = form; paint.WidthOf(left)+paint.Gutter+1 <= w {
			break
		}
	}
	for _, right := range tokens {
		if paint.WidthOf(left)+paint.WidthOf(right)+paint.Gutter+3 <= w {
			return "  " + t.Justify(w-paint.Gutter-1, left, right)
		}
	}
	return "  " + t.Row(w-paint.Gutter-1, left...)
}

// Approvals names an approval policy.
func Approvals(mode string) string {
	return cmp.Or(approvals.Mode(mode).Short(), "approvals "+cmp.Or(mode, "?"))
}

// shortModel names a model for the footer: of a long name, the maker and the provider
// are cut first.
func shortModel(name string) string {
	const most = 32
	if paint.Width(name) > most {
		name = name[strings.LastIndexByte(strings.TrimRight(name, "/"), '/')+1:]
	}
	return paint.Cut(name, most)
}

// policyName names the preset; running without a sandbox is shown as a danger.
func policyName(preset string) paint.Span {
	if strings.HasPrefix(preset, "danger") {
		return paint.Bad.With(paint.Bold).Span(preset)
	}
	return paint.Dim.Span(cmp.Or(preset, "sandbox ?"))
}

// crowded is the share of the context window, in percent, from which the footer
// warns: a little before the conversation is compacted automatically.
const crowded = 70

// tokens says how full the context is and how much the session used, in two
// lengths.
func (f *Footer) tokens() [][]paint.Span {
	u := f.usage
	if u == (event.UsageUpdated{}) {
		return nil
	}
	used, window, assumed := f.Context()
	long, short := paint.Dim.Span(paint.Count(used)+" in context"), paint.Dim.Span(paint.Count(used))
	if window > 0 {
		share := int64(used) * 100 / window
		s := paint.Dim
		if share >= crowded {
			s = paint.Warn
		}
		of := "context"
		if assumed {
			of = "an assumed " + paint.Count(int(window))
		}
		long, short = s.Span(fmt.Sprintf("%d%% of %s", share, of)), s.Span(fmt.Sprintf("%d%%", share))
	}
	total := paint.Dim.Span(paint.Count(u.Total.Input+u.Total.Output) + " used")
	out := [][]paint.Span{{long, paint.Faint.Span(" · "), total}, {short}}
	if cost := f.spent.String(); cost != "" {
		for i := range out {
			out[i] = append(out[i], paint.Faint.Span(" · "), paint.Dim.Span("cost "+cost))
		}
		out = append(out, []paint.Span{short})
	}
	return out
}

// Context is how many tokens a request uses and how many it can use, by the agent's
// count where there is one. 0: unknown; assumed: a default, not known to be right.
func (f *Footer) Context() (used int, window int64, assumed bool) {
	u := f.usage
	used, window, assumed = u.Context, int64(u.Limit), u.Assumed
	if used == 0 {
		used = u.Last.Input + u.Last.Output
	}
	if window == 0 {
		window, assumed = f.Session.Window, f.Session.Assumed
	}
	return used, window, assumed
}

func (f *Footer) window() string {
	used, window, assumed := f.Context()
	switch {
	case window == 0:
		return paint.Count(used) + " tokens; the model's limit is unknown"
	case assumed:
		return fmt.Sprintf("%s of an assumed %s tokens; set models.NAME.context to the model's limit", paint.Count(used), paint.Count(int(window)))
	}
	return fmt.Sprintf("%s of %s tokens", paint.Count(used), paint.Count(int(window)))
}

// Page is /status; preset is the sandbox that applies now, mode the approval policy.
func (f *Footer) Page(t *paint.Theme, w int, preset, mode string) []string {
	s := f.Session
	pairs := [][2]string{
		{"model", cmp.Or(s.Model, unnamed)},
		{"folder", paint.Tilde(s.Folder, f.Home)},
		{"sandbox", cmp.Or(preset, "?")},
		{"approvals", cmp.Or(mode, "?")},
		{"enforced by", cmp.Or(strings.Join(s.Enforcement.Active(), ", "), s.Enforcement.Backend, "nothing")},
		{"session", cmp.Or(s.ID, "-")},
		{"context", f.window()},
		{"tokens", fmt.Sprintf("%d in, %d cached, %d out in the session", f.usage.Total.Input, f.usage.Total.Cached, f.usage.Total.Output)},
	}
	if f.place.branch != "" {
		pairs = slices.Insert(pairs, 2, [2]string{"branch", f.place.branch})
	}
	if cost := f.spent.String(); cost != "" {
		pairs = append(pairs, [2]string{"cost", cost + " by the prices of the settings"})
	}
	out := t.Columns(w, pairs)
	for _, l := range s.Enforcement.Layers {
		if l.State != sandbox.LayerActive {
			out = append(out, t.Wrap(w, paint.Text.Span(l.Name+": "+string(l.State)+" "), paint.Dim.Span(l.Reason))...)
		}
	}
	if len(s.Enforcement.Weaknesses) == 0 {
		return out
	}
	out = append(out, "", t.Paint(paint.Warn.With(paint.Bold), "Not enforced on this machine"))
	for _, k := range s.Enforcement.Weaknesses {
		out = append(out, "")
		out = append(out, t.Hang(w, paint.Warn.Span("▲ "), paint.Text.Span(k.What))...)
		for _, l := range []string{k.Why, k.Remedy} {
			if l != "" {
				out = append(out, paint.Indent(t.Wrap(w-paint.Gutter, paint.Dim.Span(l)))...)
			}
		}
	}
	return out
}

// PlanPage draws the plan that the model wrote last.
func (f *Footer) PlanPage() func(t *paint.Theme, w int) []string {
	steps := f.Plan
	return func(t *paint.Theme, w int) (out []string) {
		for _, s := range steps {
			mark, style := paint.Dim.Span("☐ "), paint.Text
			switch s.Status {
			case word.StepCompleted:
				mark, style = paint.Good.Span("☑ "), paint.Dim
			case word.StepInProgress:
				mark, style = paint.Accent.Span("▸ "), paint.Strong
			}
			out = append(out, t.Hang(w, mark, style.Span(s.Step))...)
		}
		return out
	}
}
