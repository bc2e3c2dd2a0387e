package tui

import (
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/sandbox"
)

// facts is what the footer and /status tell about the session.
type facts struct {
	session event.SessionStarted
	started bool
	usage   event.UsageUpdated
	running int // commands beside the conversation
	home    string
}

// unnamed stands for a model whose name the provider has not told yet.
const unnamed = "the provider's model"

// footer is one line: model, sandbox, approvals and what is not enforced on the
// left, the tokens on the right. The widest form that fits is shown; what is
// not enforced stays to the last.
func (f *facts) footer(t *theme, w int) string {
	if !f.started {
		return ""
	}
	name := span{shortModel(firstOf(f.session.Model, unnamed)), text}
	if f.session.Tour {
		name.text = "tour"
	}
	policy, asks := policyName(f.session.Policy), span{approvalName(f.session.Approval), dim}
	var long, short []span
	if n := len(f.session.Enforcement.Weaknesses); n > 0 {
		long, short = []span{{fmt.Sprintf("▲ %d not enforced", n), warn}}, []span{{fmt.Sprintf("▲ %d", n), warn}}
	}
	var beside []span
	if f.running > 0 {
		beside = []span{{fmt.Sprintf("%d running", f.running), accent}}
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

// shortModel names a model for the footer: the makers and sellers in front of a
// long name go first.
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
			out = append(out, span{" · ", faint})
		}
		out = append(out, it...)
	}
	return out
}

// policyName names the preset; running without a sandbox looks like it.
func policyName(preset string) span {
	if strings.HasPrefix(preset, "danger") {
		return span{preset, style{inkBad, bold}}
	}
	return span{firstOf(preset, "sandbox ?"), dim}
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
	return "approvals " + firstOf(mode, "?")
}

// crowded is from which share of the window on the footer warns, in percent:
// somewhat before the conversation is compacted by itself.
const crowded = 70

// tokens says how full the conversation is and what the session used, in two
// lengths.
func (f *facts) tokens() [][]span {
	u := f.usage
	if u == (event.UsageUpdated{}) {
		return nil
	}
	used, window, assumed := f.context()
	long, short := span{count(used) + " in context", dim}, span{count(used), dim}
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
		long, short = span{fmt.Sprintf("%d%% of %s", share, of), s}, span{fmt.Sprintf("%d%%", share), s}
	}
	total := span{count(u.Total.Input+u.Total.Output) + " used", dim}
	return [][]span{{long, {" · ", faint}, total}, {short}}
}

// context is how many tokens a request has, and how many it can have: what the
// agent reckons with where it has said so. 0: not known; assumed: only taken to be.
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

// window says how much of what the model can take is in use.
func (f *facts) window() string {
	used, window, assumed := f.context()
	switch {
	case window == 0:
		return count(used) + " tokens; how much the model takes is not known"
	case assumed:
		return fmt.Sprintf("%s of an assumed %s tokens; models.NAME.context in the settings says how much the model takes", count(used), count(int(window)))
	}
	return fmt.Sprintf("%s of %s tokens", count(used), count(int(window)))
}

// page is /status.
func (f *facts) page(t *theme, w int) []string {
	s := f.session
	pairs := [][2]string{
		{"model", firstOf(s.Model, unnamed)},
		{"folder", tilde(s.Folder, f.home)},
		{"sandbox", firstOf(s.Policy, "?")},
		{"approvals", firstOf(s.Approval, "?")},
		{"enforced by", firstOf(strings.Join(s.Enforcement.Active(), ", "), s.Enforcement.Backend, "nothing")},
		{"session", firstOf(s.ID, "-")},
		{"context", f.window()},
		{"tokens", fmt.Sprintf("%d in, %d cached, %d out in the session", f.usage.Total.Input, f.usage.Total.Cached, f.usage.Total.Output)},
	}
	out := columns(t, w, pairs)
	for _, l := range s.Enforcement.Layers {
		if l.State != sandbox.LayerActive {
			out = append(out, t.wrap(w, span{l.Name + ": " + string(l.State) + " ", text}, span{l.Reason, dim})...)
		}
	}
	if len(s.Enforcement.Weaknesses) == 0 {
		return out
	}
	out = append(out, "", t.paint(style{inkWarn, bold}, "Not enforced on this machine"))
	for _, k := range s.Enforcement.Weaknesses {
		out = append(out, "")
		out = append(out, wrapper{theme: t, width: w, first: []span{{"▲ ", warn}}, rest: []span{{"  ", text}}}.lines(span{k.What, text})...)
		for _, l := range []string{k.Why, k.Remedy} {
			if l != "" {
				out = append(out, indent(t.wrap(w-gutter, span{l, dim}))...)
			}
		}
	}
	return out
}
