package serverscmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals/learn"
	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/execcmd"
	"codeagent/cmd/codeagent/learning"
	"codeagent/cmd/codeagent/screen"
	"codeagent/cmd/codeagent/servers"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/internal/visible"
	"codeagent/sandbox"

	"github.com/spf13/cobra"
)

// codeagent mcp learn lets one server do what its sandbox would refuse, except what is protected or
// closed to reading, and prints the settings under which it would have succeeded. As with codeagent
// sandbox --learn, only the user can start it, and no tool call and no setting leads here.

func newLearn(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var yes, write bool
	cmd := &cobra.Command{
		Use: "learn NAME [PROMPT]", Short: "Find out what an MCP server needs its sandbox to open", Args: cobra.RangeArgs(1, 2),
		Long: "learn lets the server out of its sandbox, but for what is protected or closed to reading, and prints\n" +
			"the [mcp.servers.NAME.sandbox] under which it would have got what it wanted. With a PROMPT the model\n" +
			"works on that and may call the server's tools; without one the screen opens, or, where there is no\n" +
			"terminal, the server only starts and lists what it offers.\n\n" +
			"--write saves the settings, and so does a yes to the question at the end. A project's server is first\n" +
			"made one of yours: codeagent mcp add.",
		RunE: func(cmd *cobra.Command, args []string) error {
			l := &learner{s: s, f: *f, yes: yes, write: write}
			return l.run(cmd.Context(), args[0], strings.Join(args[1:], ""))
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask before the server is started")
	cmd.Flags().BoolVar(&write, "write", false, "write the settings to config.toml without asking")
	return cmd
}

// learner runs learn.
type learner struct {
	s          cli.Stdio
	f          cli.Flags
	yes, write bool
	lesson     learn.Lesson
	refused    []sandbox.Denial // what it was refused nevertheless, as far as that is known
}

func (l *learner) run(ctx context.Context, name, prompt string) error {
	c, err := choose(ctx, l.s, l.f, name)
	if err != nil {
		return err
	}
	defer c.ws.Close()
	if keys := c.ws.Config.Managed("sandbox."); len(keys) > 0 {
		return cli.Usage(fmt.Errorf("learn lets a server leave its sandbox, which the managed settings do not allow (%s)", keys[0]))
	}
	if c.settings.URL != "" {
		return cli.Usage(fmt.Errorf("the MCP server %s runs elsewhere and has no sandbox: there is nothing to learn", name))
	}
	o := c.options(ctx)
	prepared, err := servers.Prepare(o, name, c.settings)
	if err != nil {
		return cli.Usage(err)
	}
	enforced, err := c.ws.Runner.Enforcement(prepared.Policy) // also where commands run without a sandbox
	if err != nil {
		return err
	}
	if err := learning.Ask(ctx, l.s, enforced, "mcp learn", " to "+name, prepared.Argv, l.yes); err != nil {
		return err
	}
	l.lesson.Command = strings.Join(prepared.Argv, " ")
	ran := l.use(ctx, c, o, prompt)
	return errors.Join(ran, l.tell(ctx, c, prepared))
}

// use has the server work while it learns.
func (l *learner) use(ctx context.Context, c *chosen, o servers.Options, prompt string) error {
	learn := func(server string) func(sandbox.Denial) (sandbox.Grant, bool) {
		if server != c.name {
			return nil
		}
		return l.lesson.Learn
	}
	switch {
	case prompt != "":
		// Nobody is there to be asked, and the person said yes to the whole server.
		allow := &rules.Rule{Decision: rules.Allow, Tool: c.name + "__*"}
		return execcmd.Learn(ctx, l.s, l.f, prompt, learn, []*rules.Rule{allow})
	case l.s.NoScreen() == nil:
		return screen.Run(ctx, l.s, l.f, screen.Options{Learn: learn}, nil)
	}
	o.Learn = learn
	list, err := c.start(ctx, o)
	if err != nil {
		return err
	}
	defer list.Close()
	t := c.look(ctx, list)
	l.refused = t.Refused
	fmt.Fprint(l.s.Err, visible.Log(t.text()))
	if t.State != servers.Running {
		return cli.StatusError(cli.ExitFailed)
	}
	return nil
}

// tell prints what was learned, and saves it if the person wants that.
func (l *learner) tell(ctx context.Context, c *chosen, p servers.ServerPlan) error {
	denials, guessed, all := l.lesson.Learned()
	needed, unhelped := sandbox.Suggest(p.Policy, c.ws.Files, l.s.Env("HOME"), nil, denials)
	lists, left := p.Settings(needed, denials)
	n := learning.Needs{
		Header:  fmt.Sprintf("What the MCP server %s needs beyond its sandbox: %s", c.name, l.lesson.Command),
		Where:   fmt.Sprintf("For %s: each line replaces the one of its name.", c.ws.Paths.File),
		Guessed: guessed, Left: slices.Concat(left, unhelped), Stays: learning.Stays(l.refused), All: all,
	}
	needs := c.settings
	needs.Sandbox = wider(needs.Sandbox, lists)
	if len(lists) > 0 {
		n.TOML = string(needs.SandboxTOML(c.name))
	}
	err := n.Write(l.s.Text)
	if err != nil || len(lists) == 0 {
		return err
	}
	switch {
	case l.write && c.settings.Origin != server.OfUser:
		return cli.Usage(fmt.Errorf("the MCP server %s is the project's: nothing was written", c.name), "codeagent mcp add makes it one of yours")
	case !l.write && (c.settings.Origin != server.OfUser || !learning.CanAsk(l.s)):
		return nil
	case !l.write:
		yes, err := learning.Yes(ctx, l.s, fmt.Sprintf("Write these settings to %s? [y/N] ", visible.Line(c.ws.Paths.File)))
		if err != nil || !yes {
			return err
		}
	}
	return l.save(ctx, c, lists)
}

// wider returns b with the elements of lists.
func wider(b server.Sandbox, lists map[string][]string) server.Sandbox {
	b.Read, b.Write = slices.Concat(b.Read, lists["read"]), slices.Concat(b.Write, lists["write"])
	b.AllowHosts, b.AllowSockets = slices.Concat(b.AllowHosts, lists["allow_hosts"]), slices.Concat(b.AllowSockets, lists["allow_sockets"])
	return b
}

func (l *learner) save(ctx context.Context, c *chosen, lists map[string][]string) error {
	err := workspace.ChangeSettings(ctx, c.ws.Paths, func(text []byte) ([]byte, error) {
		known, err := server.Names(text)
		if err == nil && !slices.Contains(known, c.name) { // -c
			return nil, cli.Usage(fmt.Errorf("the MCP server %s does not stand in %s", c.name, c.ws.Paths.File), "nothing was changed")
		}
		return server.Widened(text, c.name, lists)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(l.s.Err, "codeagent: written to %s\n", visible.Line(c.ws.Paths.File))
	return err
}
