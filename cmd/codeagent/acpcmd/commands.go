package acpcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"codeagent/acp"
	"codeagent/agent"
	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/prompts"
)

// command is a / command. run returns what is shown to the user, or the message that is sent to the
// model instead.
type command struct {
	name, help string
	// takes names the words that may follow; "": no words.
	takes string
	run   func(o *open, ctx context.Context, argument string) (reply, error)
}

// reply is what a command leads to: a page for the user, or a message for the model.
type reply struct {
	page    string
	message *agent.Input // nil: none
}

// sends is a reply that sends a prompt.
func sends(p prompts.Prompt) reply { return reply{message: &agent.Input{Text: p.Text, About: p.About}} }

// page is a reply that the editor draws as it is written.
func page(text string) reply {
	return reply{page: visible.Fenced(strings.TrimRight(text, "\n"), "text")}
}

// builtin is the table of / commands, in the order they are shown. They are those of the screen that
// make sense in an editor: it has its own ways to copy, to find, to compare and to switch sessions, and to
// choose the model.
func builtin() []command {
	return []command{
		{name: "status", help: "model, folder, sandbox, what is not enforced here, tokens", run: (*open).status},
		{name: "permissions", takes: "[policy | revoke ID]", help: "what is open and why; revoke it, or change the policy, such as to read-only", run: (*open).permissions},
		{name: "compact", takes: "[focus]", help: "summarize the conversation; the focus says what to keep", run: func(o *open, ctx context.Context, focus string) (reply, error) {
			return reply{}, commands.Compact(ctx, o.ses, focus)
		}},
		{name: "undo", takes: "[preview] [skip]", help: "undo what the last turn changed; preview only shows it, skip takes the turn before", run: (*open).undo},
		{name: "redo", help: "take the last undo back, until something is sent or changed", run: (*open).redo},
		{name: "ps", takes: "[end ID]", help: "the jobs in the background and the end of their output; end one", run: (*open).jobs},
		{name: "sandbox", help: "what commands may touch now", run: func(o *open, _ context.Context, _ string) (reply, error) {
			return page(commands.Sandbox(o.ses)), nil
		}},
		{name: "plan", takes: "[task]", help: "have the model plan a task, and change nothing until you choose another mode", run: func(o *open, _ context.Context, task string) (reply, error) {
			if task == "" {
				return reply{}, errors.New("/plan needs a task")
			}
			o.ses.Gate.SetPlan(true)
			return sends(prompts.PlanFirst(task)), nil
		}},
		{name: "review", takes: "[base BRANCH | commit ID]", help: "have the model review what is uncommitted, a branch or a commit", run: func(o *open, ctx context.Context, of string) (reply, error) {
			what, c, err := o.ses.Workspace.ToReview(ctx, of)
			return sends(prompts.Reviewing(what, c.Text, c.Cut)), err
		}},
		{name: "init", help: "have the model write AGENTS.md for this project", run: func(*open, context.Context, string) (reply, error) {
			return sends(prompts.Init()), nil
		}},
		{name: "keep", takes: "[folder]", help: "copy the files of the session's own /tmp to the workspace, or to a folder", run: func(o *open, _ context.Context, folder string) (reply, error) {
			words, err := conversation.Keep(o.ses, folder)
			return page(words), err
		}},
		{name: "mcp", takes: "[NAME | restart NAME]", help: "the MCP servers; all about one; or restart one", run: (*open).mcp},
	}
}

// Commands returns the commands that a message can name: codeagent's, then the user's own prompts
// and the project's, whose names are not taken.
func (o *open) Commands() []acp.Command {
	var out []acp.Command
	for _, c := range builtin() {
		out = append(out, acp.Command{Name: c.name, About: c.help, Hint: c.takes})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, own := range o.own {
		if !slices.ContainsFunc(out, func(c acp.Command) bool { return c.Name == own.Name }) {
			out = append(out, acp.Command{Name: own.Name, About: own.About, Hint: "[…]"})
		}
	}
	return out
}

// called returns the reply of the command that a message calls; ok is false if it calls none. A text
// that only begins like a command is a message: "/tmp is full". What editors attach, also unasked, is
// no argument; the model gets it with the prompt that a command makes.
func (o *open) called(ctx context.Context, in acp.Message) (r reply, ok bool, err error) {
	r, ok, err = o.run(ctx, strings.TrimSpace(in.Typed))
	if in.Attached != "" && r.message != nil {
		r.message.Text += "\n" + in.Attached
	}
	return r, ok, err
}

func (o *open) run(ctx context.Context, typed string) (r reply, ok bool, err error) {
	rest, slash := strings.CutPrefix(typed, "/")
	if !slash {
		return reply{}, false, nil
	}
	name, argument := strings.TrimSpace(rest), ""
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, argument = name[:i], strings.TrimSpace(name[i:])
	}
	for _, c := range builtin() {
		if c.name == name && (argument == "" || c.takes != "") {
			r, err := c.run(o, ctx, argument)
			return r, true, err
		}
	}
	o.mu.Lock()
	own := o.own
	o.mu.Unlock()
	for _, p := range own {
		if p.Name == name {
			return sends(p.Prompt(argument)), true, nil
		}
	}
	return reply{}, false, nil
}

func (o *open) status(context.Context, string) (reply, error) {
	ws, settings := o.ses.Workspace, o.Settings()
	o.mu.Lock()
	used, title := o.used, o.title
	o.mu.Unlock()
	var b strings.Builder
	row := func(name, value string) { fmt.Fprintf(&b, "%-12s %s\n", name, value) }
	for _, c := range settings.Choices {
		row(strings.ToLower(strings.TrimPrefix(c.Name, "Reasoning ")), c.Value)
	}
	row("folder", ws.Folder)
	row("enforced by", strings.Join(ws.Enforcement.Active(), ", "))
	row("session", o.ID()+" "+title)
	if used.Limit > 0 {
		row("context", fmt.Sprintf("%d of %d tokens", used.Context, used.Limit))
	}
	row("tokens", fmt.Sprintf("%d in, %d cached, %d out in the session", used.Total.Input, used.Total.Cached, used.Total.Output))
	if len(ws.Enforcement.Weaknesses) > 0 {
		b.WriteString("\nNot enforced on this machine\n")
	}
	for _, k := range ws.Enforcement.Weaknesses {
		fmt.Fprintf(&b, "\n- %s\n", k.What)
		for _, l := range []string{k.Why, k.Remedy} {
			if l != "" {
				fmt.Fprintf(&b, "  %s\n", l)
			}
		}
	}
	return page(b.String()), nil
}

// permissions lists what is open, revokes something, or changes the policy.
func (o *open) permissions(ctx context.Context, argument string) (reply, error) {
	if id, revoke := strings.CutPrefix(argument, "revoke "); revoke {
		words, err := commands.Revoke(ctx, o.ses, strings.TrimSpace(id))
		return page(words), err
	}
	if argument != "" {
		return o.policy(ctx, argument)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "approvals: %s\n", o.ses.Gate.Mode())
	list := commands.Permissions(o.ses)
	if len(list) == 0 {
		b.WriteString("nothing is open beyond the sandbox\n")
	}
	for _, p := range list {
		fmt.Fprintf(&b, "\n%s\n  %s\n  %s\n", visible.Line(p.Text), visible.Line(p.About), visible.Line(p.More))
	}
	if len(list) > 0 {
		b.WriteString("\n/permissions revoke ID takes one back\n")
	}
	return page(b.String()), nil
}

func (o *open) policy(ctx context.Context, name string) (reply, error) {
	var names []string
	for _, c := range o.Settings().Choices {
		if c.ID != choiceApprovals && c.ID != choiceSandbox {
			continue
		}
		for _, v := range c.Values {
			if v.ID == name {
				return page(strings.ToLower(c.Name) + ": " + name), o.Set(ctx, c.ID, name)
			}
			names = append(names, v.ID)
		}
	}
	return reply{}, errors.New("/permissions takes one of " + strings.Join(names, ", ") + ", or revoke ID")
}

func (o *open) jobs(_ context.Context, argument string) (reply, error) {
	if id, end := strings.CutPrefix(argument, "end "); end {
		var n int
		if _, err := fmt.Sscanf(id, "%d", &n); err != nil || !o.ses.Jobs.Kill(n) {
			return reply{}, errors.New("there is no running command " + short.Quote(id, 64))
		}
		return page(fmt.Sprintf("job %d has ended", n)), nil
	}
	if argument != "" {
		return reply{}, errors.New("/ps lists the jobs, /ps end ID ends one")
	}
	var b strings.Builder
	for _, j := range o.ses.Jobs.List() {
		state := "running"
		if !j.Running {
			state = commands.Ending(j.Outcome)
		}
		fmt.Fprintf(&b, "job %d  %s  %s\n", j.ID, state, visible.Line(j.Text))
		if out := strings.TrimSpace(short.Tail(string(o.ses.Jobs.Output(j.ID)), jobTail)); out != "" {
			fmt.Fprintf(&b, "   %s\n", strings.ReplaceAll(out, "\n", "\n   "))
		}
	}
	if b.Len() == 0 {
		return page("no jobs"), nil
	}
	return page(b.String()), nil
}

// jobTail is how much of a background command's output /ps shows, in bytes.
const jobTail = 2 << 10
