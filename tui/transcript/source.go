package transcript

import (
	"slices"
	"strings"

	"codeagent/tui/paint"
)

// source is a body that can be copied: as it was written, not as it is drawn.
type source interface{ Source() string }

// Source is the message.
func (s *said) Source() string { return strings.TrimSpace(s.text) }

// Source is the markdown.
func (a *answer) Source() string { return a.doc.Text() }

// Source is the markdown.
func (t *thought) Source() string { return t.doc.Text() }

// Source is the text.
func (n *notice) Source() string { return n.text }

// Source is the text of the steps, with a box for each.
func (p *plan) Source() string {
	var b strings.Builder
	for _, s := range p.steps {
		box := "- [ ] "
		if s.Status == "completed" {
			box = "- [x] "
		}
		b.WriteString(box + s.Step + "\n")
	}
	return b.String()
}

// Source is the summary.
func (b *compaction) Source() string {
	if b.done == nil {
		return ""
	}
	return b.done.Summary
}

// Source is the call and what came of it: its output, or its changes as a diff.
func (t *tool) Source() string {
	var b strings.Builder
	if t.command != "" {
		b.WriteString("$ " + strings.TrimSpace(t.command) + "\n")
	} else {
		b.WriteString(t.title + "\n")
	}
	if t.done == nil {
		b.WriteString(strings.Join(paint.OutputLines(string(t.live)), "\n"))
		return b.String()
	}
	for _, ch := range t.done.Changes {
		b.WriteString("--- " + ch.Path + "\n" + ch.Diff)
	}
	if t.command == "" && t.done.Message != "" {
		b.WriteString(t.done.Message + "\n")
	}
	b.WriteString(strings.Join(paint.OutputLines(t.done.Output), "\n"))
	return b.String()
}

// Source is one call below the other.
func (r *reads) Source() string {
	var out []string
	for _, t := range r.calls {
		out = append(out, strings.TrimRight(t.Source(), "\n"))
	}
	return strings.Join(out, "\n")
}

func (e *entry) source() string {
	if s, ok := e.body.(source); ok {
		return strings.TrimRight(s.Source(), "\n")
	}
	return ""
}

// Source is what the chosen entry holds, as it was written.
func (f *folds) Source() string {
	if f.chosen == nil {
		return ""
	}
	return f.chosen.source()
}

// Answer is the last answer of the model as it was written, and the blocks of code in
// it; "" without one.
func (t *Transcript) Answer() (text string, code []string) {
	for _, e := range slices.Backward(t.entries) {
		if a, ok := e.body.(*answer); ok && !a.doc.Empty() {
			return strings.TrimSpace(a.doc.Text()), a.doc.Code()
		}
	}
	return "", nil
}
