package tui

import (
	"cmp"
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/sandbox"
)

// facts is what the footer and /status show about the session.
type facts struct {
	session event.SessionStarted
	started bool
	usage   event.UsageUpdated
	running int // background commands
	home    string
}

// apply takes what an event says about the session.
func (f *facts) apply(e event.Event) {
	switch e := e.(type) {
	case event.SessionStarted:
		if f.started && f.session.ID == e.ID && f.session.Model != "" && f.session.Model != e.Model {
			f.usage.Limit, f.usage.Assumed = 0, false // they were the other model's
		}
		f.session, f.started = e, true
	case event.UsageUpdated:
		f.usage = e
	case event.BackgroundChanged:
		f.running = e.Running
	case event.Compacted:
		if e.Err == "" && e.After > 0 {
			f.usage.Context = e.After
		}
	}
}

// unnamed stands for a model whose name the provider has not sent yet.
const unnamed = "the provider's model"

// footer is one line: on the left the model, the sandbox, the approvals and what is
// not enforced, on the right the tokens. It is shown in the longest form that fits;
// what is not enforced is dropped last.
func (f *facts) footer(t *theme, w int) string {
	if !f.started {
		return ""
	}
	name := text.span(shortModel(cmp.Or(f.session.Model, unnamed)))
	if f.session.Tour {
		name.text = "tour"
	}
	policy, asks := policyName(f.session.Policy), dim.span(approvalName(f.session.Approval))
	var long, short []span
	if n := len(f.session.Enforcement.Weaknesses); n > 0 {
		long, short = []span{warn.span(fmt.Sprintf("▲ %d not enforced", n))}, []span{warn.span(fmt.Sprintf("▲ %d", n))}
	}
	var beside []span
	if f.running > 0 {
		beside = []span{accent.span(fmt.Sprintf("%d running", f.running))}
	}
	left := joined([]span{name}, []span{policy}, []span{asks}, long, beside)
	for _, form := range [][]span{
		left,
		joined([]span{name}, []span{policy}, []span{asks}, short, beside),
		joined([]span{name}, []span{policy}, short, beside),
		joined([]span{policy}, short, beside),
	} {
		if left = form; spansWidth(left)+gutter+1 <= w {
			break
		}
	}
	for _, right := range f.tokens() {
		if spansWidth(left)+spansWidth(right)+gutter+3 <= w {
			return "  " + t.justify(w-gutter-1, left, right)
		}
	}
	return "  " + t.row(w-gutter-1, left...)
}

// shortModel names a model for the footer: of a long name, the maker and the provider
// are cut first.
func shortModel(name string) string {
	const most = 32
	if width(name) > most {
		name = name[strings.LastIndexByte(strings.TrimRight(name, "/"), '/')+1:]
	}
	return cut(name, most)
}

func joined(items ...[]span) []span {
	var out []span
	for _, it := range items {
		if len(it) > 0 && len(out) > 0 {
			out = append(out, faint.span(" · "))
		}
		out = append(out, it...)
	}
	return out
}

// policyName names the preset; running without a sandbox is shown as a danger.
func policyName(preset string) span {
	if strings.HasPrefix(preset, "danger") {
		return bad.with(bold).span(preset)
	}
	return dim.span(cmp.Or(preset, "sandbox ?"))
}

// approvalName says when questions are asked under an approval policy.
func approvalName(mode string) string {
	switch approvals.Mode(mode) {
	case approvals.Untrusted:
		return "asks first"
	case approvals.OnRequest:
		return "asks on request"
	case approvals.OnFailure:
		return "asks on failure"
	case approvals.Never:
		return "never asks"
	}
	return "approvals " + cmp.Or(mode, "?")
}

// crowded is the share of the context window, in percent, from which the footer
// warns: a little before the conversation is compacted automatically.
const crowded = 70

// tokens says how full the context is and how much the session used, in two
// lengths.
func (f *facts) tokens() [][]span {
	u := f.usage
	if u == (event.UsageUpdated{}) {
		return nil
	}
	used, window, assumed := f.context()
	long, short := dim.span(count(used)+" in context"), dim.span(count(used))
	if window > 0 {
		share := int64(used) * 100 / window
		s := dim
		if share >= crowded {
			s = warn
		}
		of := "context"
		if assumed {
			of = "an assumed " + count(int(window))
		}
		long, short = s.span(fmt.Sprintf("%d%% of %s", share, of)), s.span(fmt.Sprintf("%d%%", share))
	}
	total := dim.span(count(u.Total.Input+u.Total.Output) + " used")
	return [][]span{{long, faint.span(" · "), total}, {short}}
}

// context is how many tokens a request uses and how many it can use, by the agent's
// count where there is one. 0: unknown; assumed: a default, not known to be right.
func (f *facts) context() (used int, window int64, assumed bool) {
	u := f.usage
	used, window, assumed = u.Context, int64(u.Limit), u.Assumed
	if used == 0 {
		used = u.Last.Input + u.Last.Output
	}
	if window == 0 {
		window, assumed = f.session.Window, f.session.Assumed
	}
	return used, window, assumed
}

// window says how much of the model's context window is in use.
func (f *facts) window() string {
	used, window, assumed := f.context()
	switch {
	case window == 0:
		return count(used) + " tokens; the model's limit is unknown"
	case assumed:
		return fmt.Sprintf("%s of an assumed %s tokens; set models.NAME.context to the model's limit", count(used), count(int(window)))
	}
	return fmt.Sprintf("%s of %s tokens", count(used), count(int(window)))
}

// page is /status.
func (f *facts) page(t *theme, w int) []string {
	s := f.session
	pairs := [][2]string{
		{"model", cmp.Or(s.Model, unnamed)},
		{"folder", tilde(s.Folder, f.home)},
		{"sandbox", cmp.Or(s.Policy, "?")},
		{"approvals", cmp.Or(s.Approval, "?")},
		{"enforced by", cmp.Or(strings.Join(s.Enforcement.Active(), ", "), s.Enforcement.Backend, "nothing")},
		{"session", cmp.Or(s.ID, "-")},
		{"context", f.window()},
		{"tokens", fmt.Sprintf("%d in, %d cached, %d out in the session", f.usage.Total.Input, f.usage.Total.Cached, f.usage.Total.Output)},
	}
	out := columns(t, w, pairs)
	for _, l := range s.Enforcement.Layers {
		if l.State != sandbox.LayerActive {
			out = append(out, t.wrap(w, text.span(l.Name+": "+string(l.State)+" "), dim.span(l.Reason))...)
		}
	}
	if len(s.Enforcement.Weaknesses) == 0 {
		return out
	}
	out = append(out, "", t.paint(warn.with(bold), "Not enforced on this machine"))
	for _, k := range s.Enforcement.Weaknesses {
		out = append(out, "")
		out = append(out, wrapper{theme: t, width: w, first: []span{warn.span("▲ ")}, rest: []span{text.span("  ")}}.lines(text.span(k.What))...)
		for _, l := range []string{k.Why, k.Remedy} {
			if l != "" {
				out = append(out, indent(t.wrap(w-gutter, dim.span(l)))...)
			}
		}
	}
	return out
}
