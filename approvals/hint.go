package approvals

import (
	"cmp"
	"strings"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// remedy returns what would allow a refused action: hint, or what the face of this session says
// in place of it.
func remedy(g *Gate, hint string) string {
	if hint == "" {
		return ""
	}
	return cmp.Or(g.opts.Hint, hint)
}

// hint returns the flag or setting that would allow gr where nobody can be asked. more are flags that
// are needed besides.
func (g *Gate) hint(kind word.Kind, gr sandbox.Grant, more ...string) string {
	ask := g.asking()
	if kind == word.KindServer {
		return "" // see serverHint
	}
	host := "--allow-host"
	if kind == word.KindFetch {
		host = "--allow-fetch" // the narrowest flag: it allows nothing to commands
	}
	if len(gr.Hosts) > 0 && !g.opts.GrantsHosts && kind != word.KindFetch || len(gr.Sockets) > 0 || len(gr.Read) > 0 || gr.Unsandboxed || len(gr.Write)+len(gr.Hosts) == 0 {
		return ask
	}
	if len(gr.Write) > 0 && g.ReadOnly() {
		return ask // what flags open is shut
	}
	flags := more
	if len(gr.Write) > 0 {
		var opened []string
		if g.flags != nil {
			opened = g.flags(sandbox.Grant{Write: gr.Write})
		}
		if opened == nil {
			return ask
		}
		flags = append(flags, opened...)
	}
	for _, h := range gr.Hosts {
		flags = append(flags, host+" "+short.ShellWord(h.String()))
	}
	return g.run(strings.Join(flags, " "))
}

// starter is the command of codeagent that a session runs under; "" is exec. flags are its flags that open
// a grant of paths, each with its value; none if one path is left.
type starter struct {
	command string
	flags   func(sandbox.Grant) []string
}

// SetCommand names that command and its flags, for hints. It must be called before the first decision.
func (s *starter) SetCommand(name string, flags func(sandbox.Grant) []string) {
	*s = starter{name, flags}
}

// asking says where such a session can ask.
func (s *starter) asking() string {
	if s.command == "" {
		return "run codeagent in a terminal with --ask-for-approval on-request to be asked"
	}
	return "codeagent " + s.command + " --ask-for-approval on-request, for a program that can show questions"
}

// run returns the command line that starts such a session with these flags.
func (s *starter) run(flags string) string {
	if s.command == "" {
		return "codeagent exec " + flags + " …" // the prompt
	}
	return "codeagent " + s.command + " " + flags
}

// lossFlag is the setting that allows irreversible losses.
const lossFlag = "-c undo.unkept=allow"

// hintFor returns the flags or settings that would allow r in a run without a person.
func (g *Gate) hintFor(r Request) string {
	switch {
	case r.Action.Calls():
		return serverHint(r.Action.Server, r.Grant)
	case !r.Overwrites:
		return g.hint(r.Action.Kind, r.Grant)
	case r.Grant.Empty():
		return g.run(lossFlag)
	default:
		return g.hint(r.Action.Kind, r.Grant, lossFlag)
	}
}

// serverHint returns the command or setting that would allow a call, or gr to its server, in a run
// without a person.
func serverHint(c *ServerCall, gr sandbox.Grant) string {
	if gr.Empty() {
		return "codeagent rules add --decision allow --tool " + short.ShellWord(c.Name())
	}
	return "codeagent mcp learn " + short.ShellWord(c.Server) + ", or the settings [mcp.servers." + c.Server + ".sandbox]"
}

// heldHint is hint for a held call of a.
func heldHint(g *Gate, a Action, gr sandbox.Grant) string {
	if a.Calls() {
		return serverHint(a.Server, gr)
	}
	return g.hint(word.KindCommand, gr)
}
