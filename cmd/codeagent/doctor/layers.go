package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
)

// doctorColumns is the width of doctor's output.
const doctorColumns = 80

// describeLayers prints for each layer what proved it and what it enforces. For a missing
// layer it prints what is lost and which other layer still enforces it.
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

// describeMissing prints which layers exist and which are missing if no command can run,
// and why it cannot.
func describeMissing(w io.Writer, layers []sandbox.Layer, cannot error) {
	fmt.Fprintln(w, "sandbox   none")
	for _, l := range (sandbox.Enforcement{Layers: layers}).Explain() {
		paragraph(w, fmt.Sprintf("  %-8s  %-8s  ", l.Name, l.State), l.Reason)
		if l.State == sandbox.LayerAbsent {
			paragraph(w, "            is for    ", l.Holds)
		}
	}
	paragraph(w, "  why         ", whyCannot(cannot))
	for _, hint := range missingHints(layers, cannot) {
		paragraph(w, "  what to do  ", hint)
	}
	fmt.Fprintln(w, "\ntried just now\n  nothing: no command can run")
}

func missingHints(layers []sandbox.Layer, cannot error) []string {
	var out []string
	for _, l := range layers {
		if l.State != sandbox.LayerAbsent {
			continue
		}
		switch l.Name {
		case "landlock":
			out = append(out, "Landlock needs Linux 5.13 or later, built with CONFIG_SECURITY_LANDLOCK and with landlock in the list of the boot parameter lsm=; "+
				"in a container its runtime must let the calls landlock_create_ruleset, landlock_add_rule and landlock_restrict_self through. gVisor has none: use another runtime there, such as runc. Where namespaces work, commands run without Landlock too.")
		case "seccomp":
			out = append(out, "seccomp needs a kernel built with CONFIG_SECCOMP_FILTER; in a container its runtime must let the call seccomp through.")
		}
	}
	if strings.Contains(cannot.Error(), "helper") {
		out = append(out, "Install codeagent and its helper "+linuxsandbox.HelperName+" from one build into one folder: make build, or make install.")
	}
	return out
}

// describeWeaknesses prints what a command can do here against the policy.
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

// paragraph prints words after a lead, wrapped at spaces, with the later lines indented
// below the first. A word longer than a line is not split.
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

// describeEvidence prints how much is known here about denials, and whether a refused call
// can be held.
func describeEvidence(b *workspace.Workspace, w io.Writer) {
	level, why := b.Evidence()
	known := map[sandbox.EvidenceLevel]string{
		sandbox.EvidenceFull:        "full: the kernel reports each denial and its program",
		sandbox.EvidenceNetworkOnly: "network: the rest is judged by what a command prints: ",
		sandbox.EvidenceOutputOnly:  "output: judged by what a command prints, so never certain: ",
		sandbox.EvidenceNothing:     "none: ",
	}[level] + why
	paragraph(w, "evidence  ", known)
	held := "yes: on a screen, what a running command may not do waits for your answer"
	if why := b.NotHeld(); why != "" {
		held = "no: it fails at once: " + why
	} else if why := b.NetworkNotHeld(); why != "" {
		held += "; connections fail at once: " + why
	}
	paragraph(w, "held      ", held)
}

// describeDrafts prints whether a command can run on a draft, which it tries.
func describeDrafts(ctx context.Context, b *workspace.Workspace, w io.Writer) {
	works := "yes: codeagent try runs a command, and asks afterwards what to keep"
	if err := b.TryDraft(ctx); err != nil {
		works = "no: " + whyCannot(err)
	}
	paragraph(w, "drafts    ", works)
}
