// Package footer is the line below the message, and the page of /status: what is known of the session
// from its events and its folder. It performs no IO. Start with Footer.
package footer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codeagent/event"
	"codeagent/sandbox"
	"codeagent/tui/paint"
)

// Footer is what is known of the session.
type Footer struct {
	Session event.SessionStarted
	Started bool
	Running int // background commands
	// OnDraft: the session works on a draft.
	OnDraft bool
	ports   []string
	Plan    []event.PlanStep
	Replan  bool   // the model wrote it after the person was last asked
	Home    string // shown as ~
	usage   event.UsageUpdated
	place   place
}

// cost is what the session cost so far: "$0.12" by the provider's list, "0.12" by the settings. "" without a
// price; a + says that not everything is counted.
func (f *Footer) cost() (amount, source string) {
	c := f.usage.Total.Cost
	number := func(sign string, n float64) string {
		if n < 0.01 {
			return "<" + sign + "0.01"
		}
		return sign + strconv.FormatFloat(min(n, 1e9), 'f', 2, 64)
	}
	if c.USD > 0 {
		amount, source = number("$", c.USD), "the provider's list"
	}
	if c.Settings > 0 {
		amount, source = strings.TrimPrefix(amount+" + "+number("", c.Settings), " + "), strings.TrimPrefix(source+" and the prices of the settings", " and ")
	}
	if amount != "" && c.Unpriced > 0 {
		amount += "+"
	}
	return amount, source
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
		f.usage = e
	case event.BackgroundChanged:
		f.Running, f.ports = e.Running, e.Ports
	case event.Compacted:
		if e.Err == "" && e.After > 0 {
			f.usage.Context = e.After
		}
	}
}

// unnamed stands for a model whose name the provider has not sent yet.
const unnamed = "the provider's model"

// Now is what can change without an event: the sandbox preset, the approval policy and the word for the
// mode, and how long the model may think, "" if that is not set.
type Now struct{ Preset, Mode, Word, Effort string }

// View is one line: on the left the model, the folder and its branch, the sandbox, the approvals and
// what is not enforced, on the right the context, the tokens and the cost.
func (f *Footer) View(t *paint.Theme, w int, now Now) string {
	if !f.Started {
		return ""
	}
	w -= paint.Gutter + 1
	rules := []item{policy(now.Preset), f.draft(), goes(modeGoes, paint.Dim.Span(now.Word)), f.weak(), f.jobs()}
	if f.place.line != "" {
		return "  " + f.ownLine(t, w, rules)
	}
	left, right := fit(w, append([]item{f.model(now.Effort), f.folder()}, rules...), []item{f.context(), f.billed(), f.costs()})
	return "  " + t.Justify(w, left, right)
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

// Page is /status.
func (f *Footer) Page(t *paint.Theme, w int, now Now) []string {
	s := f.Session
	since := "in the session"
	if s.Uncounted {
		since = "since the session was resumed"
	}
	cost, source := f.cost()
	if cost != "" {
		cost += " by " + source
	}
	pairs := [][2]string{
		{"model", cmp.Or(s.Model, unnamed)},
		{"effort", now.Effort},
		{"key", s.KeyFrom},
		{"folder", paint.Tilde(s.Folder, f.Home)},
		{"branch", f.place.branch},
		{"sandbox", cmp.Or(now.Preset, "?")},
		{"approvals", cmp.Or(now.Mode, "?")},
		{"enforced by", cmp.Or(strings.Join(s.Enforcement.Active(), ", "), s.Enforcement.Backend, "nothing")},
		{"session", cmp.Or(s.ID, "-")},
		{"context", f.window()},
		{"tokens", fmt.Sprintf("%d in, %d cached, %d out %s", f.usage.Total.Input, f.usage.Total.Cached, f.usage.Total.Output, since)},
		{"cost", cost},
	}
	out := t.Columns(w, slices.DeleteFunc(pairs, func(p [2]string) bool { return p[1] == "" }))
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
