package headless

import (
	"fmt"
	"strings"

	"codeagent/event"
	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// finding is what an item of a review has beside its message.
type finding struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Severity string `json:"severity,omitempty"`
}

// Findings prints what a review found, before the end of its turn is emitted: one item each, or a
// line each as compilers print them.
func (p *Printer) Findings(list []event.Finding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range list {
		if p.json == nil {
			p.write([]byte(FindingText(f)))
			continue
		}
		for _, ln := range p.json.completed(&item{Type: "finding", Message: f.Message, finding: finding{f.File, f.Line, f.Severity}}) {
			p.write(p.json.marshal(ln))
		}
	}
	if p.progress.detail != Quiet {
		p.progress.line("", "%s", short.Count(len(list), "finding"))
	}
}

// FindingText is a finding as "file:line: severity: message". All of it is the model's: further lines
// of the message are indented, so that none can be taken for another finding, and no CI system obeys one.
func FindingText(f event.Finding) string {
	where := visible.Line(f.File)
	if f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
	}
	return visible.Log(where+": "+f.Severity+": "+strings.ReplaceAll(visible.Text(f.Message), "\n", "\n  | ")) + "\n"
}
