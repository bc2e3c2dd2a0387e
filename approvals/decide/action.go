package decide

import (
	"fmt"
	"slices"

	"codeagent/event/word"
	"codeagent/sandbox"
)

// Refusal is a no that no person was asked about: what nobody can grant, or the settings forbid.
type Refusal struct {
	// Reason is for the model and the person. Advice is for the model: what it can do instead; may be
	// empty.
	Reason, Advice string
}

// Error returns the words for the model.
func (r *Refusal) Error() string {
	if r.Advice == "" {
		return r.Reason
	}
	return r.Reason + ". " + r.Advice
}

// Action is what a tool call would do. A Permit is bound to every field.
type Action struct {
	CallID, Tool string
	Kind         word.Kind
	// Title describes the call in one line ("$ npm test").
	Title string
	// Command is the whole command text, the patch of an edit, or the URL of a fetch. Folder
	// is the absolute working folder; relative paths of the wish start there.
	Command, Folder string
	Argv            []string
	// Paths are the files that an edit or a read accesses.
	Paths []string
	Wish  Wish
	// Background: the command continues after its call, and can receive input.
	Background bool
	// Independent: the model says that the command touches nothing that other calls of its answer use.
	Independent bool
	// Input is what is typed, and Running the command that receives it.
	Input   string
	Running Job
	// Server is set for a call of a tool of an MCP server.
	Server *ServerCall
	// Backend is where a command runs that a rule sends to another backend than that of the session; "" for all else.
	Backend string
}

// Shares reports whether the call may run beside others of its answer: it only reads, as far as is known,
// or the model declares it independent. A server's claim that a tool only reads is enough here.
func (a Action) Shares() bool {
	switch a.Kind {
	case word.KindCommand:
		return !a.Wish.Unsandboxed && (a.Independent || KnownReadOnly(a.Command))
	case word.KindServer:
		return a.Server.ReadOnly
	case word.KindEdit, word.KindInput, word.KindDelegate: // one delegate at a time bounds the helpers of a session
		return false
	}
	return true
}

// Job is a background command: its number, its text, the policy it was started under,
// and the grants of its held calls. It keeps both until it ends.
type Job struct {
	ID      int
	Command string
	Policy  sandbox.Policy
	Granted []sandbox.Grant
}

// Wish is what the model asks for beyond the policy, as the model wrote it: nothing in it is
// canonical, checked or granted.
type Wish struct {
	Write, Read, Hosts, Sockets []string
	// Unsandboxed asks to run outside the sandbox (require_escalated).
	Unsandboxed   bool
	Justification string
}

// Empty reports whether w asks for nothing.
func (w Wish) Empty() bool {
	return len(w.Write) == 0 && len(w.Read) == 0 && len(w.Hosts) == 0 && len(w.Sockets) == 0 && !w.Unsandboxed
}

// may returns the present policy of a running command. A grant counts as it was given, even
// if its path has become something else since.
func (r Job) may() sandbox.Policy {
	p := r.Policy
	for _, gr := range r.Granted {
		p = p.With(gr)
	}
	return p
}

// ServerName is the server whose tool a calls, or "".
func (a Action) ServerName() string {
	if !a.Calls() {
		return ""
	}
	return a.Server.Server
}

// Calls reports whether a calls a tool of a server.
func (a Action) Calls() bool { return a.Kind == word.KindServer && a.Server != nil }

// Confined reports whether a runs a process that the sandbox can refuse something.
func (a Action) Confined() bool {
	return a.Kind == word.KindCommand || a.Calls() && !a.Server.Remote
}

// Clone returns a deep copy.
func (a Action) Clone() Action {
	a.Argv, a.Paths = slices.Clone(a.Argv), slices.Clone(a.Paths)
	a.Running.Policy, a.Running.Granted = a.Running.Policy.Clone(), slices.Clone(a.Running.Granted)
	for i, gr := range a.Running.Granted {
		a.Running.Granted[i] = gr.Clone()
	}
	a.Server = a.Server.clone()
	w := &a.Wish
	w.Write, w.Read = slices.Clone(w.Write), slices.Clone(w.Read)
	w.Hosts, w.Sockets = slices.Clone(w.Hosts), slices.Clone(w.Sockets)
	return a
}

// refuse returns the refusal of a wish that nobody can grant, worded for the model.
func refuse(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}
