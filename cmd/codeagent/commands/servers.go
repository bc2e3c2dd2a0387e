package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/agent"
	"codeagent/approvals/plain"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/servers"
	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// ServerState says in a few words how a server is.
func ServerState(st servers.Status) string {
	words := st.State
	if st.State == servers.Running {
		words += " · " + short.Count(len(st.Tools), "tool")
		if st.Protocol != "" {
			words += " · MCP " + visible.Line(st.Protocol)
		}
	}
	return words
}

// ServerPage is all that is known about a server of the session, for people.
func ServerPage(ses *conversation.Session, name string) string {
	all := ses.Servers.Status()
	i := slices.IndexFunc(all, func(st servers.Status) bool { return st.Name == name })
	if i < 0 {
		return "there is no MCP server " + visible.Line(name) + " in this session"
	}
	st := all[i]
	var b strings.Builder
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", key, visible.Line(value))
		}
	}
	row("state", ServerState(st))
	row("took", startTime(st.Took))
	row("from", st.Origin)
	row("program", st.Program)
	if st.Problem != "" {
		b.WriteString("\n" + visible.Text(st.Problem) + "\n")
	}
	if len(st.Refused) > 0 {
		b.WriteString("\nRefused outside of tool calls, the latest first\n")
		slices.Reverse(st.Refused)
		for _, l := range plain.Denials(st.Refused) {
			b.WriteString("  ⊘ " + visible.Line(l) + "\n")
		}
		b.WriteString("  codeagent mcp learn " + st.Name + " finds out what it needs\n")
	}
	if len(st.Tools) > 0 {
		b.WriteString("\nTools, in the server's words\n")
	}
	for _, t := range st.Tools {
		about, _, _ := strings.Cut(cmp.Or(t.Description, t.Title), "\n")
		claim := ""
		if t.ReadOnly {
			claim = " (claims to only read)"
		}
		fmt.Fprintf(&b, "  %s%s: %s\n", t.Offered, claim, visible.Line(short.Cut(about, 200)))
	}
	if st.Instructions != "" {
		b.WriteString("\nHow to use them, in the server's words\n  | " + strings.ReplaceAll(visible.Text(st.Instructions), "\n", "\n  | ") + "\n")
	}
	switch {
	case st.Remote:
		b.WriteString("\nIt runs elsewhere: no sandbox confines it.\n")
	case st.State != servers.Starting:
		b.WriteString("\n" + confined(st.Policy, ses.Workspace.Stdio.Env("HOME"), "The server", "It", ses.ReadableRecords()) + "\n")
	}
	return b.String()
}

func startTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return short.Duration(d) + " to start"
}

// ServerPrompt is the message that a prompt of a server makes. One with images is an error if the model
// sees none.
func ServerPrompt(ctx context.Context, ses *conversation.Session, server, name string, arguments map[string]string) (agent.Input, error) {
	got, err := ses.Servers.Prompt(ctx, server, name, arguments)
	if err == nil && strings.TrimSpace(got.Text) == "" && len(got.Images) == 0 {
		err = fmt.Errorf("the prompt %s of the MCP server %s is empty", name, server)
	}
	if err == nil && len(got.Images) > 0 {
		err = ses.Sees()
	}
	return agent.Input{Text: short.Bound(got.Text, mostPrompt), Images: got.Images, Foreign: true}, err
}

// mostPrompt bounds the text of a server's prompt, in bytes.
const mostPrompt = 64 << 10
