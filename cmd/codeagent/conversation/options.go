package conversation

import (
	"context"

	"codeagent/agent"
	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/config/server"
	"codeagent/event"
	"codeagent/sandbox"
)

// Options configures the run of a session.
type Options struct {
	Audience
	Beginning
	Scope
}

// Audience is who is at the other side of the face, and what they see and write.
type Audience struct {
	// Attended: a person can answer questions.
	Attended bool
	// ToolsOnly: there is no model, and another program calls the tools. No command runs in the
	// background.
	ToolsOnly bool
	// Command is the command of codeagent that opens the session, for hints about flags; empty: exec.
	Command string
	// Hint is what a person can do about a refusal in this face; "": flags of codeagent exec.
	Hint string
	// Past is how much of the earlier conversation the face is shown.
	Past Past
	// Mentions: a message that names resources of MCP servers, as @NAME:uri, or lines of files brings them along. Only
	// where a person or a script of theirs writes the messages.
	Mentions bool
	// Unsaved is tools.Options.Unsaved.
	Unsaved func(ctx context.Context, path string) (text string, ok bool)
}

// Beginning is what the conversation begins with.
type Beginning struct {
	// From is the session to resume; nil begins one. Like is the ID of the session of this run that came
	// before a new one, whose model is asked; empty: none did, or it has no record.
	From *sessionscmd.ResumeTarget
	Like string
	// Ephemeral: the run has no record.
	Ephemeral bool
	// Tour: a person has agreed to the tour, which plays where there is no model.
	Tour bool
	// HasPrompt: there is a prompt, which the tour cannot answer.
	HasPrompt bool
	// Images are the files that -i names.
	Images []string
	// Effort is how long the model may think, as the person chose in this run; empty: the setting.
	Effort string
}

// Scope is what this run may and must, beside the settings.
type Scope struct {
	// Approvals names an exported file whose grants the run gets. It may be empty.
	Approvals string
	// Rules are further rules, for this run.
	Rules []*rules.Rule
	// ReadOnly: commands may write temporary files only.
	ReadOnly bool
	// Servers are MCP servers that an editor hands in, by name. They join those of the settings.
	Servers map[string]server.Settings
	// Learn is servers.Options.Learn.
	Learn func(name string) func(sandbox.Denial) (sandbox.Grant, bool)
	// Bounds end a turn that uses too much. Open sets the price.
	Bounds agent.Bounds
	// Schema is the form of answers; nil: any text.
	Schema *agent.Schema
	// Findings takes the findings of a review: see tools.Options. It may be nil.
	Findings func([]event.Finding)
	// KeepTemp is the folder to which files of the session's own /tmp are copied at the end of a turn.
	KeepTemp string
}
