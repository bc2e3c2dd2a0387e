// Package prompts holds the texts for the model: embedded files, assembled from the
// live policy and facts about the environment. It is pure and does no IO. Start
// reading at System in prompts.go; denial.go words what the sandbox refused. A prompt
// states what is not enforced and promises nothing else.
package prompts

import (
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/resolved"
	"codeagent/skills"
)

// The texts. A {{name}} is replaced once; what replaces it is never searched.
var (
	//go:embed base.md
	base string
	//go:embed helper.md
	helper string
	//go:embed alone.md
	alone string
	//go:embed tools.md
	toolsText string
	//go:embed sandboxed.md
	sandboxed string
	//go:embed unconfined.md
	unconfined string
	//go:embed asking.md
	asking string
	//go:embed outside.md
	outside string
	//go:embed held.md
	held string
	//go:embed untrusted.md
	untrusted string
	//go:embed planmode.md
	planMode string
	//go:embed onfailure.md
	onFailure string
	//go:embed granular.md
	granular string
	//go:embed schema.md
	schema string
	//go:embed nobody.md
	nobody string
	//go:embed environment.md
	environment string
	//go:embed instructions.md
	instructions string
	//go:embed skills.md
	skillsText string
	//go:embed servers.md
	serversText string
)

// Session is what the system prompt is made from.
type Session struct {
	Workspace, OS, Shell string
	// Helper is the kind of helper that the prompt is for; empty: it is for the model of the session.
	Helper string
	// Git says what is checked out and whether it was changed; empty: left out.
	Git string
	// Date is today's, as the model should read it; empty: left out.
	Date string
	// Policy is what commands run under now, Preset its name ("workspace-write").
	Policy      resolved.Policy
	Preset      string
	Enforcement sandbox.Enforcement
	// Mode is the approval policy's name; Attended says whether somebody can
	// answer a question.
	Mode     string
	Attended bool
	// Refused lists the topics of questions that are refused. It may be empty.
	Refused string
	// Held: a call that a running command is refused waits while the user is asked.
	Held bool
	// NoOutside: the model may not ask to run outside the sandbox.
	NoOutside bool
	// Plan: nothing is changed until the user accepts the model's plan.
	Plan bool
	// Evidence is how much of what is refused the backend can tell.
	Evidence sandbox.EvidenceLevel
	// Tools are the names of the tools on offer.
	Tools []string
	// Schema is the JSON Schema of the last message; empty: any text.
	Schema string
	// Instructions are the AGENTS.md files, the most general first.
	Instructions []Instruction
	// Skills are listed with their descriptions; the model reads the rest on demand.
	Skills []skills.Skill
	// Servers are the words of MCP servers on how their tools are used, by name.
	Servers map[string]string
}

// Instruction is one AGENTS.md, as far as it was read.
type Instruction struct {
	// Path is absolute.
	Path, Text string
	// Size is what the file has, in bytes: more than Text where that is cut.
	Size int64
}

// Mode names, as package approvals spells them.
const (
	modeUntrusted = "untrusted"
	modeOnFailure = "on-failure"
	modeNever     = "never"
)

// maxListed is how many paths of one kind are named; the rest is counted.
const maxListed = 24

// System assembles the system prompt.
func System(f Session) string {
	var b strings.Builder
	if f.Helper == "" {
		b.WriteString(fill(base, "workspace", bounded(f.Workspace)))
	} else {
		b.WriteString(fill(fill(helper, "workspace", bounded(f.Workspace)), "kind", helperWork(f.Helper)))
	}
	if len(f.Tools) > 0 {
		b.WriteString(fill(toolsText, "tools", strings.Join(f.Tools, ", ")))
		for _, hint := range toolHints {
			if slices.Contains(f.Tools, hint.tool) {
				b.WriteString(hint.text + "\n")
			}
		}
	}
	if f.Policy.Unconfined {
		b.WriteString(unconfined)
	} else {
		b.WriteString(fill(sandboxed, "preset", bounded(f.Preset)))
		if f.Enforcement.Backend == "wasm" {
			b.WriteString(modulesOnly)
		}
		b.WriteString(allowed(f.Policy, f.Enforcement))
		b.WriteString(evidence(f.Evidence) + tracing(f.Enforcement))
		b.WriteString(weaknesses(f.Enforcement))
	}
	b.WriteString(approval(f))
	if f.Plan {
		b.WriteString(planMode)
	}
	b.WriteString(fill(environment, "workspace", bounded(f.Workspace)))
	for _, fact := range []struct{ name, value string }{{"System", f.OS}, {"Shell", f.Shell}, {"Git", f.Git}, {"Date", f.Date}} {
		if fact.value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", fact.name, bounded(fact.value))
		}
	}
	b.WriteString(skilled(f.Skills))
	b.WriteString(served(f.Servers))
	b.WriteString(instructed(f.Instructions))
	if f.Schema != "" {
		b.WriteString(fill(schema, "schema", f.Schema))
	}
	return b.String()
}

// instructed renders the AGENTS.md files, each under its name. What a file says is
// the user's word, so it is given as it is; that it is cut is said where it is.
func instructed(files []Instruction) string {
	var b strings.Builder
	for _, f := range files {
		text, cut := strings.TrimSpace(f.Text), f.Size-int64(len(f.Text))
		if text == "" && cut <= 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n%s\n", bounded(f.Path), text)
		if cut > 0 {
			fmt.Fprintf(&b, "[The last %d of its %d bytes are not given here. Read them with read_file before you rely on this file.]\n", cut, f.Size)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return instructions + b.String()
}

// skilled lists the skills. Their texts are bounded and on one line.
func skilled(list []skills.Skill) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(skillsText)
	for _, s := range list {
		fmt.Fprintf(&b, "- %s: %s (%s)\n", s.Name, s.Description, bounded(s.File))
	}
	return b.String()
}

// served is what MCP servers say about their tools. Each line of theirs is marked.
func served(words map[string]string) string {
	if len(words) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(serversText)
	for _, name := range slices.Sorted(maps.Keys(words)) {
		fmt.Fprintf(&b, "The server %s says:\n", name)
		for line := range strings.SplitSeq(strings.TrimRight(words[name], "\n"), "\n") {
			b.WriteString("| " + line + "\n")
		}
	}
	return b.String()
}

// toolHints say how tools go together; each tool describes itself in its spec.
var toolHints = []struct{ tool, text string }{
	{"read_file", "- Read files with `read_file`, not with shell commands."},
	{"search", "- Find text with `search`; it respects .gitignore."},
	{"apply_patch", "- Change files with `apply_patch`, not with redirections or sed."},
	{"fetch_url", "- Read web pages with `fetch_url`, not with curl."},
	{"update_plan", "- For work of several steps keep a plan with `update_plan`: short steps, one in progress. Skip it for simple tasks."},
	{"shell", "- Calls of one message run in their order. Those that only read, and commands with `independent`, run at the same time: put them together. `shell` has no terminal and no stdin; a command ends after two minutes unless `timeout_ms` says more."},
	{"delegate", "- Give wide searches and reviews of large changes to helpers with `delegate`; look at single files yourself."},
	{"write_stdin", "- Start servers, watchers and long builds with `shell` and `background`: true, and do other work meanwhile; a note says when one ends. Wait for a text with `wait_for`, not by asking again and again, and end what is no longer needed."},
}

// helperKinds say how a helper of each kind that reads works.
var helperKinds = map[string]string{
	"explore": "- You find out how something works. Begin wide (folders, names, search), then read what matters until you can say what happens and where. Report the parts, how they work together, and the places, as path:line.",
	"review":  "- You look for faults. For each, follow the code until you can say for which input or in which situation it fails; leave out what you only suspect, matters of taste, and praise. Report the worst first: path:line, what goes wrong, how to mend it. Nothing found is a report too.",
	"search":  "- You find a place, a fact or a page. Search in several ways and spellings before you give up. Report where it is, as path:line or URL, with the words that matter quoted; if it is not there, say where you looked.",
}

// helperWork says how a helper of that kind works.
func helperWork(kind string) string {
	if kind == "change" {
		return `- You work on a draft, which you alone see: a copy of the files at the same paths. Edit, build and test there as you like; nothing is in the files before the agent or the user keeps it. Caches are on the draft too, and are dropped. There are no background commands.
- You make the change that the task asks for, and try it out. Report what you changed and why, as path:line, and what you tried with which result. The list of changed files is added to your report.`
	}
	return "- You only read. You change nothing, and what cannot be found out by reading you report as open.\n" + helperKinds[kind]
}

// approval says who can be asked what.
func approval(f Session) string {
	if f.Helper != "" {
		if canAsk(f.Attended, f.Mode) {
			return alone + "- Only `fetch_url` asks the user, for its host: give it a `justification`.\n"
		}
		return alone
	}
	if !canAsk(f.Attended, f.Mode) {
		if f.Policy.Unconfined {
			return ""
		}
		return nobody
	}
	mode := ""
	switch f.Mode {
	case modeUntrusted:
		mode = untrusted
	case modeOnFailure:
		mode = onFailure
	}
	if f.Refused != "" {
		mode = fill(granular, "refused", f.Refused)
	}
	switch {
	case !f.Policy.Unconfined && slices.Contains(f.Tools, "shell"):
		last := outside
		if f.NoOutside {
			last = ""
		}
		text := fill(asking, "outside", last)
		if f.Held {
			text += held
		}
		return text + mode
	case f.Mode == modeUntrusted:
		return mode
	}
	return ""
}

// canAsk reports whether a question would reach anybody.
func canAsk(attended bool, mode string) bool { return attended && mode != modeNever }

// modulesOnly is for the backend wasm.
const modulesOnly = "- A command is a WebAssembly module (WASI preview 1) with plain arguments, like tool.wasm -v /abs/path: there is no shell, no other program runs, and there is no network. Give absolute paths.\n"

// allowed renders what p allows, enforced as e says.
func allowed(p resolved.Policy, e sandbox.Enforcement) string {
	var b strings.Builder
	var write []string
	for _, root := range p.Roots {
		switch root.Origin {
		case sandbox.FromGit: // its objects stand for it
		case sandbox.FromObjects:
			write = append(write, path.Dir(root.Path)+" (only what git needs to work in this linked worktree: no hooks, no config)")
		case sandbox.FromTemp:
			write = append(write, root.Path+" (temporary files, $TMPDIR)")
		default:
			write = append(write, root.Path)
		}
	}
	if len(write) == 0 {
		b.WriteString("- Write: nothing, anywhere.\n")
	} else {
		fmt.Fprintf(&b, "- Write: %s, and nothing else.\n", list(write))
	}
	if len(write) > 0 && len(p.Protected.Names)+len(p.Protected.Paths) > 0 {
		fmt.Fprintf(&b, "- Protected, read-only even there: %s.\n", list(append(slices.Clone(p.Protected.Paths), protectedNames(p.Protected.Names)...)))
	}
	if len(p.Read) == 0 {
		b.WriteString("- Read: everything the user can")
	} else {
		fmt.Fprintf(&b, "- Read: %s, and what may be written", list(sandbox.PathsOf(p.Read)))
	}
	if denied := slices.Concat(p.DenyRead, p.DenyGlobs); len(denied) > 0 {
		fmt.Fprintf(&b, ", but not %s", list(denied))
	}
	b.WriteString(".\n")
	if len(p.Programs) > 0 {
		fmt.Fprintf(&b, "- Start: %s, and no other program; nobody can be asked for another.\n", list(p.Programs))
	}
	shared := func(r sandbox.Root) bool { return r.Origin == sandbox.FromSharedTemp }
	if p.Temp != "" && slices.Contains(e.Active(), "mountns") && !slices.ContainsFunc(p.Roots, shared) {
		b.WriteString("- /tmp and /var/tmp are this session's own and removed at its end: put what the user is to get into the workspace. Of the user's files there a command sees those whose paths are in its text and that exist when it starts, read-only.\n")
	}
	b.WriteString(network(p, e))
	return b.String()
}

// protectedNames says by kind which names are protected, with examples.
func protectedNames(names []string) (words []string) {
	kinds := map[protect.Kind][]string{}
	for _, name := range names {
		row := protect.Of(name)
		kinds[row.Kind] = append(kinds[row.Kind], name)
	}
	for _, kind := range []protect.Kind{protect.VersionControl, protect.Agent, protect.Editor, protect.Shell} {
		if all := kinds[kind]; len(all) > 0 {
			words = append(words, fmt.Sprintf("%s settings such as %s", kind, list(all[:min(len(all), 4)])))
		}
	}
	return append(words, kinds[protect.User]...)
}

func network(p resolved.Policy, e sandbox.Enforcement) string {
	line := "- Network: refused, other programs' servers and local sockets on this machine included.\n"
	switch {
	case p.Network.Mode == sandbox.NetworkFull:
		line = "- Network: open.\n"
	case p.Network.Mode == sandbox.NetworkAllow && len(p.Network.Hosts) > 0:
		line = fmt.Sprintf("- Network: only %s, over TCP.\n", list(sandbox.HostsOf(p.Network.Hosts)))
	}
	if denied := sandbox.HostsOf(p.Network.Deny); len(denied) > 0 {
		line += fmt.Sprintf("- Hosts that nothing opens, so that a request for one is refused: %s.\n", list(denied))
	}
	own := slices.Contains(e.Active(), "netns") || slices.Contains(e.Active(), "connect")
	if p.Network.Mode != sandbox.NetworkFull && own {
		line += "- Localhost is the session's own: a command reaches the servers that it starts, or that another running command did, and none of the user's.\n"
	}
	if slices.Contains(e.Active(), "pidns") {
		line += "- Processes: a command finds only its own. ps, pgrep, pkill and killall find no program of the user and none of another command: that one runs is not known here.\n"
	}
	if len(p.Sockets) > 0 {
		line += fmt.Sprintf("- Local sockets: %s.\n", list(p.Sockets))
	}
	return line
}

// weaknesses says what is promised and not held here, so that the model neither
// relies on it nor uses it.
func weaknesses(e sandbox.Enforcement) string {
	if len(e.Weaknesses) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("- Not enforced on this machine. Keep to it all the same, and do not rely on it:\n")
	for _, w := range e.Weaknesses {
		fmt.Fprintf(&b, "  - %s (%s)\n", line(w.What), line(w.Why))
	}
	return b.String()
}

// evidence names the refusals that the model will not learn of. Full evidence needs no
// words.
func evidence(level sandbox.EvidenceLevel) string {
	switch level {
	case sandbox.EvidenceNothing, sandbox.EvidenceOutputOnly:
		return "- What the sandbox refuses is judged here by what a command prints: it may be missed, or guessed wrongly.\n"
	case sandbox.EvidenceNetworkOnly:
		return "- What the sandbox refuses of the network is known for certain; the rest is judged by what a command prints.\n"
	}
	return ""
}

// tracing says what replaces a trace where no broker can allow one.
func tracing(e sandbox.Enforcement) string {
	if active := e.Active(); !slices.Contains(active, "seccomp") || slices.Contains(active, "notify") {
		return ""
	}
	return "- Tracing is refused here, also of a command's own processes: debuggers, strace and LeakSanitizer fail. Run sanitizers with `ASAN_OPTIONS=detect_leaks=0`; a debugger works only outside the sandbox.\n"
}

// list joins names for a sentence, bounded.
func list(names []string) string {
	var out []string
	for _, n := range names[:min(len(names), maxListed)] {
		out = append(out, bounded(n))
	}
	s := strings.Join(out, ", ")
	if more := len(names) - maxListed; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// fill replaces {{name}} in text.
func fill(text, name, value string) string {
	return strings.ReplaceAll(text, "{{"+name+"}}", value)
}

// Parts returns how many bytes of a system prompt are codeagent's own, and how many are of instruction files.
func Parts(system string) (ours, files int) {
	before, after, found := strings.Cut(system, instructions)
	if !found {
		return len(system), 0
	}
	return len(before) + len(instructions), len(after)
}
