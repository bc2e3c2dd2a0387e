package prompts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/internal/short"
	"codeagent/sandbox"
)

const (
	// maxDenials is how many refusals are named to the model; the rest is counted.
	maxDenials = 8
	// maxWord bounds a path or a program's name, in bytes: a command chooses both.
	maxWord = 512
	// maxSuggest is what approvals accepts in one request.
	maxSuggest = 32
)

// Denial is the text in a tool result after the sandbox denied something: what was
// denied, to which program, how sure the verdict is, and the exact arguments that ask
// for it, or that nobody can be asked. It is empty when nothing relevant was denied.
func Denial(v sandbox.Verdict, attended bool, mode string) string {
	told := Denied(v)
	lost := v.Lost()
	if told == "" || !v.Denied && len(lost) == 0 {
		return told
	}
	if !v.Denied { // only what was lost is worth a question
		v.Denials, v.Confidence = lost, sandbox.Certain
	}
	if v.Suggest.Empty() && len(v.Unwritten()) > 0 {
		return told
	}
	if v.Suggest.Empty() && slices.ContainsFunc(v.Denials, func(d sandbox.Denial) bool { return d.Kind == sandbox.KindLoss }) {
		return told + "Only the user may allow what undo cannot reverse, and you cannot ask for it: do without it, or finish and say what is to be deleted or replaced.\n"
	}
	if onlyLeft(v) {
		return told + "No permission is suggested for this. Do without it, or finish and say what it would have needed:\n" + listed(v.Left)
	}
	if !canAsk(attended, mode) {
		return told + "You cannot ask for this here: it stays refused. Do without it, or finish and say what it would have needed.\n"
	}
	return told + howToAsk(v)
}

// ServerDenial is Denial for a call of a tool of an MCP server. No argument of the call asks for more:
// the user is asked by codeagent itself, or changes the settings of the server.
func ServerDenial(v sandbox.Verdict, server string) string {
	told := denied(v, "call")
	if told == "" || !v.Denied && len(v.Lost()) == 0 || onlyLeft(v) {
		return told
	}
	home := ""
	if slices.ContainsFunc(worthTelling(v), func(d sandbox.Denial) bool { return d.Kind == sandbox.KindRead }) {
		home = "It reads its own home, what its settings name, and the workspace; read in [mcp.servers." + bounded(server) + ".sandbox] opens more. "
	}
	return told + "This is the sandbox of the MCP server " + bounded(server) + ", not that of your commands. " + home + "You cannot ask for more by an argument: do without it, or finish and say what the server would need. The user can open it in the settings (codeagent mcp learn " + bounded(server) + ").\n"
}

// OnlyOutside reports whether v leaves no path, host or socket to ask for.
func OnlyOutside(v sandbox.Verdict) bool {
	a, _ := suggested(v.Suggest)
	return a == nil
}

// ownLines are the beginnings of lines by which results tell the model what codeagent did.
var ownLines = []string{"[sandbox]", "[approval]", "[ended early", "[diagnostics]"}

// Foreign returns the words of somebody else in a result: lines that look like codeagent's own get a
// bar in front.
func Foreign(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		start := strings.ToLower(strings.TrimLeftFunc(line, unicode.IsSpace))
		if slices.ContainsFunc(ownLines, func(own string) bool { return strings.HasPrefix(start, own) }) {
			b.WriteString("| ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// Denied says what was refused and how sure that is, and nothing of asking.
func Denied(v sandbox.Verdict) string {
	said := denied(v, "command")
	if v.Experiment != "" && said != "" {
		said += v.Experiment + ".\n"
	}
	return said
}

// denied is Denied for a command or a call, without what trying it again showed.
func denied(v sandbox.Verdict, who string) string {
	if lost := v.Lost(); v.Denied && len(lost) > 0 && len(v.Unwritten()) == 0 {
		v.Denials = slices.DeleteFunc(slices.Clone(v.Denials), func(d sandbox.Denial) bool { return d.Lost })
		return denied(v, who) + "The sandbox refused this too, and part of the " + who + " did not happen:\n" + lines(lost)
	}
	denials := worthTelling(v)
	switch {
	case len(v.Unwritten()) > 0:
		return unwrittenWords(v.Unwritten(), denials)
	case !v.Denied && len(v.Lost()) > 0:
		return lostWords(v, denials, who)
	case !v.Denied && len(denials) > 0 && v.Failed:
		return "[sandbox] Refused along the way; as far as can be known it is not why the " + who + " failed:\n" + lines(denials)
	case !v.Denied && len(denials) > 0:
		return "[sandbox] Refused along the way; the " + who + " did without it:\n" + lines(denials)
	case !v.Denied:
		if own := ownPermissions(v); v.Failed && len(own) > 0 {
			return "[sandbox] The user's own permissions do not allow this; the sandbox is not the reason, and asking would not help:\n" + lines(own)
		}
		return ""
	case v.Confidence == sandbox.Certain && v.Evidence != sandbox.EvidenceOutputOnly:
		return "[sandbox] The sandbox refused this; without it the " + who + " would have passed:\n" + lines(denials)
	case len(denials) == 0:
		return "[sandbox] The sandbox probably refused something: what the " + who + " printed looks like it.\n"
	case slices.ContainsFunc(denials, func(d sandbox.Denial) bool { return d.Evidence == sandbox.EvidenceKernel }):
		return "[sandbox] The sandbox refused this, and it is probably why the " + who + " failed:\n" + lines(denials)
	}
	return "[sandbox] The sandbox probably refused this. That is read from what the " + who + " printed: check before you ask.\n" + lines(denials)
}

// lostWords says what a command did not do, though it did not fail for that, and then what else the sandbox
// refused.
func lostWords(v sandbox.Verdict, all []sandbox.Denial, who string) string {
	lost := v.Lost()
	said := "[sandbox] The " + who + " "
	switch {
	case v.Failed:
		said += "failed for another reason, as far as can be known. But"
	case who == "command":
		said += "ended with 0, but"
	default:
		said += "succeeded, but"
	}
	said += " part of it did not happen. The sandbox refused this:\n" + lines(lost)
	rest := slices.DeleteFunc(slices.Clone(all), func(d sandbox.Denial) bool { return d.Lost || d.Named && !v.Failed })
	if len(rest) > 0 {
		said += "It did without this:\n" + lines(rest)
	}
	return said
}

// unwrittenWords says which files of a checkout are not there, and then what else the sandbox refused.
func unwrittenWords(unwritten, all []sandbox.Denial) string {
	said := "[sandbox] The command checked out these files with protected names, but they are missing or kept their old content: no commit of HEAD or its upstream had this content when the session began, so only the user can allow it.\n" + lines(unwritten) +
		"Everything else was checked out. git shows these files as changed: do not commit that. Check out what was there before, or finish and ask the user to run outside codeagent: git restore PATH.\n"
	if rest := slices.DeleteFunc(slices.Clone(all), func(d sandbox.Denial) bool { return d.Unwritten != nil }); len(rest) > 0 {
		said += "The sandbox refused this too:\n" + lines(rest)
	}
	return said
}

// RefusedSoFar says what was refused a command that still runs: why it will end,
// and how, is not known yet.
func RefusedSoFar(v sandbox.Verdict) string {
	denials := worthTelling(v)
	if len(denials) == 0 {
		return ""
	}
	return "[sandbox] Refused since it was last read, while it runs:\n" + lines(denials)
}

// onlyLeft reports that no grant would have helped.
func onlyLeft(v sandbox.Verdict) bool { return v.Suggest.Empty() && len(v.Left) > 0 }

func listed(left []string) string {
	var b strings.Builder
	for _, one := range left[:min(len(left), maxDenials)] {
		fmt.Fprintf(&b, "- %s\n", bounded(one))
	}
	return b.String()
}

// ownPermissions are refusals that would have come without a sandbox too, with
// the very words that make a reader think of one.
func ownPermissions(v sandbox.Verdict) []sandbox.Denial {
	var out []sandbox.Denial
	for _, d := range v.Denials {
		if d.Moot && d.MootReason == sandbox.MootPermissions {
			out = append(out, d)
		}
	}
	return out
}

// worthTelling drops what did not matter, and guesses about commands that passed.
func worthTelling(v sandbox.Verdict) []sandbox.Denial {
	var out []sandbox.Denial
	for _, d := range v.Denials {
		if !d.Moot && (v.Denied || d.Evidence != sandbox.EvidenceOutput) {
			out = append(out, d)
		}
	}
	return out
}

func lines(denials []sandbox.Denial) string {
	var b strings.Builder
	for _, d := range denials[:min(len(denials), maxDenials)] {
		fmt.Fprintf(&b, "- %s\n", d.Line(bounded))
	}
	if more := len(denials) - maxDenials; more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	return b.String()
}

// ask is the part of a shell call that asks, in the order the schema has it.
type ask struct {
	Permissions   string      `json:"sandbox_permissions"`
	Additional    *additional `json:"additional_permissions,omitempty"`
	Justification string      `json:"justification"`
}

type additional struct {
	Write   []string `json:"write,omitempty"`
	Read    []string `json:"read,omitempty"`
	Hosts   []string `json:"hosts,omitempty"`
	Sockets []string `json:"sockets,omitempty"`
}

const why = "<one sentence for the user: what needs this, and why>"

// howToAsk writes the exact arguments for what v suggests.
func howToAsk(v sandbox.Verdict) string {
	sure := v.Confidence == sandbox.Certain && v.Evidence != sandbox.EvidenceOutputOnly
	a, note := suggested(v.Suggest)
	if a == nil {
		lead := "No path, host or socket is known that would allow it. If there is no other way, the same call with these arguments asks to run it outside the sandbox:\n"
		if !sure {
			lead = "It is not known what exactly is missing. If you can name the path or host, ask for just that; if there is no other way, the same call with these arguments asks to run it outside the sandbox:\n"
		}
		return lead + encode(ask{Permissions: "require_escalated", Justification: why}) + "\n"
	}
	lead := "To ask the user for just that, make the same call again with:\n"
	if !sure {
		lead = "If that is what failed, ask the user for just that: make the same call again with:\n"
	}
	return lead + encode(ask{Permissions: "with_additional_permissions", Additional: a, Justification: why}) + "\n" + note
}

// suggested is the grant as arguments, nil when there is nothing narrower than
// leaving the sandbox. The note says what the model must fill in itself.
func suggested(g sandbox.Grant) (*additional, string) {
	if g.Unsandboxed {
		return nil, ""
	}
	note, left := "", maxSuggest
	take := func(in []string) []string {
		var out []string
		for _, s := range in {
			// What cannot be shown to a person as it is would be refused anyway.
			if left > 0 && printable(s) && !slices.Contains(out, s) {
				out, left = append(out, s), left-1
			}
		}
		return out
	}
	var hosts []string
	for _, h := range g.Hosts {
		if h.Port == 0 {
			h.Port, note = 443, "The lookup of a name was refused, so the port is a guess: write the one it needs.\n"
		}
		hosts = append(hosts, h.String())
	}
	a := &additional{Write: take(g.Write), Read: take(g.Read), Hosts: take(hosts), Sockets: take(g.Sockets)}
	if len(a.Write)+len(a.Read)+len(a.Hosts)+len(a.Sockets) == 0 {
		return nil, ""
	}
	return a, note
}

func encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "{}"
	}
	return strings.TrimSpace(b.String())
}

// bounded writes a path or a name that somebody else chose: bounded, and quoted where it
// could look like more than a name.
func bounded(s string) string {
	if len(s) > maxWord {
		s = short.Head(s, maxWord) + "…"
	}
	if !printable(s) || strings.Contains(s, "`") {
		return strconv.Quote(s)
	}
	return s
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// line is one sentence of ours on one line.
func line(s string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
}
