package approvals

import (
	"cmp"
	"fmt"
	"slices"

	"codeagent/approvals/decide"
	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/sandbox"
)

// Adopt grants what an exported file lists, for this session. It rejects the whole file if one
// entry would open more than the file shows, or cannot be granted here.
func (l *Ledger) Adopt(f ledger.File, name string) error {
	var entries []ledger.Entry
	// A rule of another project has no effect here.
	here := l.here(f.Rules)
	for _, r := range here {
		if judges(r) {
			continue // rules about commands and tools do not become entries
		}
		e := ledger.Entry{Expires: r.Expires, Grant: ruleGrant(r).Clone()}
		if r.Access == rules.Fetch {
			e.Fetch = slices.Clone(r.Hosts)
		}
		entries = append(entries, e)
	}
	for _, t := range f.Sockets {
		entries = append(entries, ledger.Entry{Expires: t.Expires, Grant: sandbox.Grant{Sockets: slices.Clone(t.Paths)}})
	}
	for _, t := range f.Edits {
		entries = append(entries, ledger.Entry{Expires: t.Expires, Paths: slices.Clone(t.Paths)})
	}
	for _, r := range f.Runs {
		entries = append(entries, ledger.Entry{Expires: r.Expires, Command: r.Command, Folder: r.Folder, Adopted: true})
	}
	for i := range entries {
		e := entries[i]
		if err := adoptable(l.state(append(paths(e.Grant), append(e.Paths, e.Folder)...)...), e); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		entries[i].Origin, entries[i].Source = ledger.FromExport, name
	}
	commands := slices.DeleteFunc(slices.Clone(here), func(r *rules.Rule) bool { return !judges(r) })
	if len(commands) > 0 {
		l.SetRules(rules.Join(l.rules.Load().Rules(), commands))
	}
	for _, e := range entries {
		l.add(e)
	}
	return nil
}

// judges reports whether r is about commands or tools, and opens nothing by itself.
func judges(r *rules.Rule) bool { return len(r.Words) > 0 || r.Tool != "" }

// adoptable returns why an entry of a file cannot be granted. An entry gets the same checks as a
// request of the model. In addition, its paths must not lead through links.
func adoptable(s decide.State, e ledger.Entry) error {
	base := s.Policy
	for _, p := range slices.Concat(e.Grant.Write, e.Grant.Read, e.Grant.Sockets, e.Paths) {
		if refusal := cmp.Or(s.Places.Unclear(p, p), s.Places.RefusePath(base, p, p)); refusal != nil {
			return refusal
		}
		if !s.Places.Unmoved(p) {
			return fmt.Errorf("%s leads elsewhere: a link is on the way", decide.Show(p))
		}
	}
	if e.Folder != "" {
		if refusal := decide.PlainText(e.Folder); refusal != nil {
			return refusal
		}
	}
	if e.Folder != "" && !s.Places.Unmoved(e.Folder) {
		return fmt.Errorf("the folder %s leads elsewhere: a link is on the way", decide.Show(e.Folder))
	}
	if blocked := s.Blocked(base, e.Grant); blocked != "" {
		return fmt.Errorf("it cannot be granted here: %s", blocked)
	}
	return nil
}
