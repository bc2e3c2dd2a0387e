package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"

	"codeagent/answers"
	"codeagent/cmd/codeagent/providers"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/mask"
	"codeagent/sandbox"
)

// openAnswers opens the answers of earlier sessions; nil where they are off, and where nobody asks a model of the user's about
// the files themselves.
func (ses *Session) openAnswers() *answers.Memory {
	ws := ses.Workspace
	o := ws.Config.Answers
	if !o.Enabled || ses.Tour != nil || ses.Options.ToolsOnly || ws.Draft != nil || ses.Options.From != nil || len(ses.Extensions.Hooks) > 0 {
		return nil
	}
	embed, by, err := providers.Of(ws).Embedder(ses.Options.Attended)
	if err != nil {
		embed = func(context.Context, string) ([]float32, error) { return nil, err } // Notice says so, once
	}
	warn := func(text string) { ses.face.Emit(event.Notice{Level: word.LevelWarning, Text: text}) }
	return answers.New(answers.Options{
		File: filepath.Join(ws.Paths.Answers, "store"), Mask: mask.New(ws.Stdio.Environ, sandbox.SecretName).Text,
		Embed: embed, By: by, Threshold: float64(o.Threshold) / 100, TopK: int(o.TopK), Notice: warn,
	})
}

// scope is where answers of this session hold, to a model with these instructions.
func (ses *Session) scope(instructions string) answers.Scope {
	ws, p := ses.Workspace, ses.Gate.Base()
	policy, err := json.Marshal([]any{p, ses.Gate.Mode(), ws.Enforcement})
	c := ses.Asked()
	if err != nil || c.Name == "" {
		return answers.Scope{}
	}
	own := func(text string) string { return text }
	if p.Temp != "" { // each session has its own
		own = strings.NewReplacer(p.Temp, "$TMPDIR").Replace
	}
	return answers.Scope{
		Project: ws.Folder, Model: c.Title(c.Name) + " " + c.Address(), Policy: own(string(policy)), Instructions: own(instructions),
		Agent: cmp.Or(ses.Options.Command, "exec") + " " + ws.Process.Version,
	}
}

// observed is a file system whose every look-up the answers record.
type observed struct {
	sandbox.FileSystem
	looked func(path string, opened bool)
}

func (o observed) Lstat(path string) (fs.FileMode, error) {
	o.looked(path, false)
	return o.FileSystem.Lstat(path)
}

// LoadAnswers reads the answers of earlier sessions before the first message needs them.
func (ses *Session) LoadAnswers() { ses.earlier.Load() }

// AskAgain has the model answer the first message, to which an earlier session's answer was shown.
func (ses *Session) AskAgain(ctx context.Context) error {
	said, err := ses.Back(ses.face, 1, false)
	if err != nil {
		return err
	}
	in := said[0]
	in.Again = true
	return ses.Turn(ctx, in)
}
