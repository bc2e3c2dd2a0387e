package serverscmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"codeagent/approvals/plain"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/servers"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"

	"github.com/spf13/cobra"
)

// testReport is the JSON of `codeagent mcp test --json`, version 1. Texts of the server are bounded, and
// show by name what a terminal would obey.
type testReport struct {
	Version int `json:"version"`
	entry
	State    string `json:"state"`
	Problem  string `json:"problem"`
	Protocol string `json:"protocol"`
	TookMS   int64  `json:"took_ms"`
	// SandboxWords says what the sandbox of the settings opens.
	SandboxWords string           `json:"sandbox_words"`
	Instructions string           `json:"instructions"`
	Tools        []testedTool     `json:"tools"`
	Resources    []testedName     `json:"resources"`
	Prompts      []testedName     `json:"prompts"`
	Refused      []sandbox.Denial `json:"refused"` // while it started and was asked for its lists
	Warnings     []string         `json:"warnings"`
}

// testedTool is one tool. ReadOnly and Destructive are what the server claims.
type testedTool struct {
	Name        string `json:"name"`
	Offered     string `json:"offered"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	ReadOnly    bool   `json:"read_only"`
	Destructive bool   `json:"destructive"`
}

// testedName is a resource, by its URI, or a prompt.
type testedName struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func newTest(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Start an MCP server and show what it offers and what it was refused", Args: cobra.ExactArgs(1),
		Long: "test starts the server as a session here would, in its sandbox, lists what it offers, and ends it. It calls\n" +
			"no tool. The status is 0 if the server started, else 1.",
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := test(cmd.Context(), s, *f, args[0])
			if err != nil {
				return err
			}
			if plain {
				err = cli.PrintJSON(s.Text, t, "  ")
			} else {
				_, err = io.WriteString(s.Text, t.text())
			}
			if err == nil && t.State != servers.Running {
				err = cli.StatusError(cli.ExitFailed)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&plain, "json", false, "print JSON")
	return cmd
}

func test(ctx context.Context, s cli.Stdio, f cli.Flags, name string) (testReport, error) {
	c, err := choose(ctx, s, f, name)
	if err != nil {
		return testReport{}, err
	}
	defer c.ws.Close()
	list, err := c.start(ctx, c.options(ctx))
	if err != nil {
		return testReport{}, err
	}
	defer list.Close()
	return c.look(ctx, list), nil
}

// look asks a server that has started for its lists.
func (c *chosen) look(ctx context.Context, list *servers.Servers) testReport {
	t := testReport{
		Version: 1, entry: entryOf(c.name, c.settings), SandboxWords: "none: it runs elsewhere",
		Tools: []testedTool{}, Resources: []testedName{}, Prompts: []testedName{}, Refused: []sandbox.Denial{}, Warnings: []string{},
	}
	if c.settings.URL == "" {
		t.SandboxWords = c.settings.Sandbox.Words()
	}
	resources, err := list.Resources(ctx)
	if err != nil {
		c.warn(err.Error())
	}
	for _, r := range resources {
		t.Resources = append(t.Resources, testedName{r.URI, r.Description})
	}
	prompts, err := list.Prompts(ctx)
	if err != nil {
		c.warn(err.Error())
	}
	for _, p := range prompts {
		t.Prompts = append(t.Prompts, testedName{p.Name, p.Description})
	}
	st := list.Status()[0]
	t.State, t.Problem, t.Protocol, t.TookMS, t.Instructions = st.State, st.Problem, st.Protocol, st.Took.Milliseconds(), st.Instructions
	for _, tool := range st.Tools {
		t.Tools = append(t.Tools, testedTool{tool.Name, tool.Offered, tool.Title, tool.Description, tool.ReadOnly, tool.Destructive})
	}
	t.Refused = append(t.Refused, st.Refused...)
	for _, words := range c.warnings() {
		if st.Problem == "" || !strings.Contains(words, "did not start") { // Problem says it
			t.Warnings = append(t.Warnings, words)
		}
	}
	return t
}

// text is what was found, for people.
func (t testReport) text() string {
	var out strings.Builder
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&out, "  %-12s %s\n", key, visible.Line(short.Cut(value, 300)))
		}
	}
	fmt.Fprintf(&out, "%s: %s\n", t.Name, t.State)
	for line := range strings.Lines(t.Problem) {
		// The rows below say what it was refused.
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "the sandbox refused it: ") && !strings.HasPrefix(line, "codeagent mcp learn ") {
			fmt.Fprintf(&out, "  %s\n", visible.Line(short.Cut(line, 300)))
		}
	}
	row(t.shown())
	row("sandbox", t.SandboxWords)
	if t.State == servers.Running {
		row("protocol", fmt.Sprintf("%s, started in %s", t.Protocol, time.Duration(t.TookMS)*time.Millisecond))
	}
	rows := func(key string, all []string) {
		if n := len(all); n > 0 {
			row(key, fmt.Sprint(n))
		}
		for _, one := range all {
			fmt.Fprintf(&out, "    %s\n", visible.Line(short.Cut(one, 200)))
		}
	}
	var tools []string
	for _, tool := range t.Tools {
		claim := "no claim"
		switch {
		case tool.ReadOnly:
			claim = "claims to only read"
		case !tool.Destructive:
			claim = "claims to destroy nothing"
		}
		first, _, _ := strings.Cut(tool.Description, "\n")
		tools = append(tools, fmt.Sprintf("%s (%s): %s", tool.Name, claim, first))
	}
	rows("tools", tools)
	rows("resources", withName(t.Resources))
	rows("prompts", withName(t.Prompts))
	if t.Instructions != "" {
		row("instructions", " ")
		for line := range strings.Lines(t.Instructions) {
			fmt.Fprintf(&out, "    | %s\n", visible.Line(strings.TrimRight(line, "\n")))
		}
	}
	if refused := plain.Denials(t.Refused); len(refused) > 0 {
		row("refused", "by its sandbox, while it started")
		for _, one := range refused {
			fmt.Fprintf(&out, "    ⊘ %s\n", visible.Line(one))
		}
		fmt.Fprintf(&out, "  codeagent mcp learn %s finds out what it needs\n", t.Name)
	}
	for _, words := range t.Warnings {
		row("warning", words)
	}
	return out.String()
}

func withName(list []testedName) (out []string) {
	for _, one := range list {
		out = append(out, strings.TrimSuffix(one.Name+": "+one.Description, ": "))
	}
	return out
}
