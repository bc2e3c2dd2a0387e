package conversation

import (
	"fmt"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/mask"
	"codeagent/internal/visible"
	"codeagent/sandbox"
	"codeagent/telemetry"
)

// observed is a face whose events go to the log and to a collector too.
type observed struct {
	Face
	by []func(event.Event)
}

func (f observed) Emit(e event.Event) {
	for _, observe := range f.by {
		observe(e)
	}
	f.Face.Emit(e)
}

// observe puts the log and the telemetry between the agent and its face, if they are on.
func (ses *Session) observe(screen Face) Face {
	s := ses.Workspace.Stdio
	var by []func(event.Event)
	if s.Log.On() {
		by = append(by, s.Log.Observe)
	}
	var problems []string
	secrets := func() *mask.Mask { return mask.New(s.Environ, sandbox.SecretName) }
	if ses.telemetry, problems = telemetry.New(s.Env, s.Version, secrets); ses.telemetry != nil {
		by = append(by, ses.telemetry.Observe)
	}
	if len(by) > 0 {
		screen = observed{screen, by}
	}
	for _, p := range problems {
		screen.Emit(event.Notice{Level: word.LevelWarning, Text: "telemetry: " + p})
	}
	return screen
}

// endTelemetry sends what is left, and says if a collector did not get it.
func (ses *Session) endTelemetry() {
	if ses.telemetry == nil {
		return
	}
	if err := ses.telemetry.Close(); err != nil {
		fmt.Fprintln(ses.Workspace.Stdio.Err, "codeagent: "+visible.Line(err.Error()))
	}
}
