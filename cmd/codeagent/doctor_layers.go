package main

import (
	"fmt"
	"io"
	"strings"

	"codeagent/sandbox"
)

// doctorColumns is how wide doctor's page is.
const doctorColumns = 80

// describeLayers says of each layer what proved it and what it holds, and where
// it is missing what is lost with it and what holds that still.
func describeLayers(w io.Writer, e sandbox.Enforcement) {
	fmt.Fprintf(w, "sandbox   backend %s\n", e.Backend)
	for _, l := range e.Explain() {
		paragraph(w, fmt.Sprintf("  %-8s  %-8s  ", l.Name, l.State), l.Reason)
		if l.State != sandbox.LayerAbsent {
			paragraph(w, "            holds     ", l.Holds)
		}
		for _, loss := range l.Losses {
			paragraph(w, "            lost      ", loss.What)
			if loss.How != "" {
				paragraph(w, "            but       ", strings.TrimPrefix(loss.Layer+": "+loss.How, ": "))
			}
			if loss.Weakness != "" {
				paragraph(w, "            open      ", "see "+loss.Weakness+" below")
			}
		}
	}
}

// describeWeaknesses says what a command can do here against the policy.
func describeWeaknesses(w io.Writer, e sandbox.Enforcement) {
	if len(e.Weaknesses) == 0 {
		return
	}
	fmt.Fprintln(w, "\nnot enforced on this machine")
	for _, k := range e.Weaknesses {
		paragraph(w, "  ", k.ID+": "+k.What)
		paragraph(w, "    why: ", k.Why)
		if k.Remedy != "" {
			paragraph(w, "    what to do: ", k.Remedy)
		}
	}
}

// paragraph writes words after a lead, broken at spaces, the later lines below
// the first. A word longer than the page stands alone, whole.
func paragraph(w io.Writer, lead, words string) {
	width := len([]rune(lead))
	line, used := lead, width
	for i, word := range strings.Fields(words) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case used+1+n > doctorColumns:
			fmt.Fprintln(w, line)
			line, used = strings.Repeat(" ", width), width
		default:
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}
