package conversation

import (
	"runtime"
	"sync"
	"time"

	"codeagent/approvals"
	"codeagent/cmd/codeagent/instructions"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/prompts"
	"codeagent/tools"
)

// facts are what a system text says of the session that does not change.
func (ses *Session) facts() prompts.Session {
	facts := prompts.Session{
		Workspace: ses.Workspace.Folder, OS: runtime.GOOS + "/" + runtime.GOARCH, Shell: ses.Workspace.Shell(), Date: time.Now().Format(time.DateOnly),
		Preset: ses.Workspace.Config.Sandbox.Mode, Enforcement: ses.Workspace.Enforcement, Attended: ses.Options.Attended,
	}
	if s := ses.Options.Schema; s != nil {
		facts.Schema = string(s.JSON)
	}
	facts.Evidence, _ = ses.Workspace.Evidence()
	return facts
}

// prompter returns the function that writes the system text for the model of a gate, with facts that do not
// change. Helpers may call it at the same time.
func (ses *Session) prompter() func(facts prompts.Session, gate *approvals.Gate, runner *exec.Runner, preset string, set *tools.Set) string {
	unknown := sync.OnceFunc(func() {
		if words := ses.trusted().Words(); words != "" {
			ses.face.Emit(event.Notice{Level: word.LevelWarning, Text: words})
		}
	})
	guides := instructions.New(ses.Workspace, ses.Gate.Base, ses.face.Emit)
	var writing sync.Mutex
	return func(facts prompts.Session, gate *approvals.Gate, runner *exec.Runner, preset string, set *tools.Set) string {
		writing.Lock()
		defer writing.Unlock()
		// The live one, with session grants. If it cannot be had, no command runs under it either.
		if live, err := runner.Resolve(gate.Base()); err == nil {
			facts.Policy = live
		}
		facts.NoOutside, facts.Preset = gate.Model().NoOutside, preset
		present := gate.Mode()
		facts.Mode, facts.Refused = string(present), gate.Refused()
		facts.Held = ses.Options.Attended && ses.Workspace.NotHeldUnder(present) == ""
		facts.Git = ses.checkedOut()
		unknown()
		facts.Instructions, facts.Tools = guides.Current(), set.Names()
		return prompts.System(facts)
	}
}
