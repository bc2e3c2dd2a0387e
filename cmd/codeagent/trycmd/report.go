package trycmd

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"codeagent/approvals/plain"
	"codeagent/draft"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// Report is the JSON of `codeagent try --json`, version 1.
type Report struct {
	Version int `json:"version"`
	// ExitCode is the status of the command, and Signal what ended it: "SIGKILL"; "" when it exited.
	ExitCode int              `json:"exit_code"`
	Signal   string           `json:"signal"`
	TimedOut bool             `json:"timed_out"`
	Denials  []sandbox.Denial `json:"denials"`
	// Changes are all that the command changed, deletions first.
	Changes []Change `json:"changes"`
	// Kept are the paths of those that were kept.
	Kept []string `json:"kept"`
	// Left are those that were to be kept and could not be. They stay in the draft with the ID Draft.
	Left  []Left `json:"left"`
	Draft string `json:"draft,omitempty"`
}

// Change is one path that the command changed.
type Change struct {
	Path string             `json:"path"`
	Kind sandbox.ChangeKind `json:"kind"` // add, update, delete
	Type string             `json:"type"` // file, folder, link, special
	// Why says why it cannot be kept.
	Why string `json:"why,omitempty"`

	line string
}

// Left is a change that was not kept, and why.
type Left struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

func (r *Report) ran(o exec.Outcome) {
	r.ExitCode, r.Signal, r.TimedOut, r.Denials = o.ExitStatus(), o.SignalName(), o.TimedOut, o.Verdict.Denials
}

func shown(changes []draft.Change, folder string) []Change {
	out := []Change{}
	for _, c := range changes {
		out = append(out, Change{Path: c.Path, Kind: c.Kind, Type: c.Type, Why: c.Why, line: line(c, folder)})
	}
	return out
}

func (r *Report) settle(kept []draft.Change, left []draft.Left) {
	r.Version, r.Kept, r.Left = 1, []string{}, []Left{}
	if r.Denials == nil {
		r.Denials = []sandbox.Denial{}
	}
	for _, c := range kept {
		r.Kept = append(r.Kept, c.Path)
	}
	for _, l := range left {
		r.Left = append(r.Left, Left{l.Path, l.Why})
	}
}

// mostListed is how many changes are listed before the question, besides deletions, of which none is left out.
const mostListed = 40

// list prints what changed.
func (r *Report) list(w io.Writer) {
	r.denied(w)
	fmt.Fprintln(w, "codeagent: "+r.counts()+"; nothing of it is in your files yet")
	for i, c := range r.Changes {
		if i >= mostListed && c.Kind != sandbox.Deleted {
			fmt.Fprintf(w, "  and %s\n", short.Count(len(r.Changes)-i, "more change"))
			break
		}
		fmt.Fprintln(w, "  "+c.line)
	}
}

// denied prints what the sandbox denied the command.
func (r *Report) denied(w io.Writer) {
	for _, l := range plain.Denials(r.Denials) {
		fmt.Fprintf(w, "codeagent: ⊘ %s\n", visible.Log(visible.Line(l)))
	}
}

// counts counts the changes: "2 deleted, 1 changed, 3 new".
func (r *Report) counts() string {
	return sandbox.CountKinds(r.Changes, func(c Change) sandbox.ChangeKind { return c.Kind })
}

// words prints what became of the changes.
func (r *Report) words(w io.Writer) {
	switch {
	case len(r.Changes) == 0:
		r.denied(w)
		fmt.Fprintln(w, "codeagent: the command changed no file")
	case len(r.Kept) == 0 && len(r.Left) == 0:
		fmt.Fprintln(w, "codeagent: dropped: "+r.counts())
	default:
		fmt.Fprintf(w, "codeagent: kept %d of %s; codeagent undo takes them back\n", len(r.Kept), short.Count(len(r.Changes), "change"))
	}
	for _, l := range r.Left {
		fmt.Fprintf(w, "codeagent: not kept: %s: %s\n", visible.Line(l.Path), visible.Line(l.Why))
	}
	if r.Draft != "" {
		fmt.Fprintf(w, "codeagent: what was not kept stays in a draft for a week: codeagent try --draft %s\n", r.Draft)
	}
}

// relative is path as it is shown: below folder without it.
func relative(path, folder string) string {
	if rel, below := strings.CutPrefix(path, strings.TrimSuffix(folder, "/")+"/"); below {
		return rel
	}
	return path
}

// line is a change in one line for a person: "+ a/b.go", "- d/ (folder)", "~ run.sh (mode 0644 to 0755)".
func line(c draft.Change, folder string) string {
	sign := map[sandbox.ChangeKind]string{sandbox.Added: "+", sandbox.Deleted: "-", sandbox.Updated: "~"}[c.Kind]
	name, notes := visible.Line(relative(filepath.Clean(c.Path), folder)), []string{}
	switch {
	case c.Type == "folder":
		name += "/"
	case c.Type == "link" && c.Kind != sandbox.Deleted:
		name += " -> " + visible.Line(c.Target())
	}
	if before, after := c.Mode(); c.Kind == sandbox.Updated && before != after && c.Type != "link" {
		notes = append(notes, fmt.Sprintf("mode %04o to %04o", before, after))
	}
	if c.Why != "" {
		notes = append(notes, "cannot be kept: "+c.Why)
	}
	if len(notes) > 0 {
		name += " (" + strings.Join(notes, "; ") + ")"
	}
	return sign + " " + name
}
