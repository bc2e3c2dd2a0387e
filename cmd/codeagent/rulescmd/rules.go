// Package rulescmd is the command `codeagent rules`: it lists, adds, imports, adopts and
// removes rules, and says which rule decides about a command. It reads and writes rules.toml
// through hostfile, and package approvals/rules judges. Start at New.
package rulescmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/spf13/cobra"
)

// New returns the command `codeagent rules`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rules", Short: "Show and change the rules that answer questions",
		Long: "Rules answer before you are asked: they allow commands, always ask about them or forbid them, and open\n" +
			"paths and hosts. They stand in rules.toml beside the settings; codeagent help rules has their form.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), s, *f) },
	}
	cmd.AddCommand(newCheck(s, f), newAdd(s), newRemove(s), newAdopt(s, f), newImport(s), &cobra.Command{
		Use: "list", Short: "List the rules", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), s, *f) },
	})
	return cmd
}

// read returns the rules.
func read(ctx context.Context, s cli.Stdio) ([]*rules.Rule, config.Paths, error) {
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return nil, paths, err
	}
	all, _, err := workspace.ReadRules(ctx, s, paths)
	return all, paths, err
}

func list(ctx context.Context, s cli.Stdio, f cli.Flags) error {
	all, paths, err := read(ctx, s)
	if err != nil {
		return err
	}
	project, err := workspace.ReadProjectRules(ctx, s, f, paths, all)
	if err != nil {
		return err
	}
	var out strings.Builder
	if len(all) == 0 {
		fmt.Fprintf(&out, "no rules in %s\n", visible.Line(paths.Rules))
	}
	for _, r := range all {
		fmt.Fprintf(&out, "%s  %s (%s)\n", ledger.RuleID(r), visible.Line(r.String()), where(r))
	}
	_, err = io.WriteString(s.Text, out.String()+projectList(project))
	return err
}

func newCheck(s cli.Stdio, f *cli.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check -- CMD [ARG]...", Short: "Say which rule decides about a command and its parts",
		Long: "check judges a command as a run would. One argument is a command line for bash; several are a program\n" +
			"and its arguments. The status is 0 if the rules allow it, 1 if they do not decide, 3 if they ask or forbid.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			line := args[0]
			if len(args) > 1 {
				quoted := make([]string, len(args))
				for i, a := range args {
					quoted[i] = short.ShellWord(a)
				}
				line = strings.Join(quoted, " ")
			}
			return check(cmd.Context(), s, *f, line)
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func check(ctx context.Context, s cli.Stdio, f cli.Flags, line string) error {
	set, err := withProject(ctx, s, f)
	if err != nil {
		return err
	}
	j := set.At(time.Now()).Command(line)
	verdict := string(j.Decision)
	if j.Decision == rules.None {
		verdict = "no rule decides: the approval policy does"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", verdict)
	for _, r := range []*rules.Rule{j.Backend, j.Other} {
		if r != nil {
			fmt.Fprintf(&out, "in the backend %s  <- %s: %s\n", visible.Line(r.Backend), where(r), visible.Line(r.String()))
		}
	}
	if j.Other != nil {
		fmt.Fprintln(&out, "it does not run: a line runs in one backend")
	}
	if j.Opaque != "" {
		fmt.Fprintf(&out, "no rule can allow it: %s\n", j.Opaque)
	}
	for _, p := range j.Parts {
		by := "no rule"
		if p.Rule != nil {
			by = fmt.Sprintf("%s: %s", where(p.Rule), p.Rule)
		}
		inside := ""
		if p.Inside {
			inside = " (may be started by it)"
		}
		fmt.Fprintf(&out, "  %s%s  <- %s\n", visible.Line(short.Cut(strings.Join(p.Words, " "), 200)), inside, visible.Line(by))
	}
	if _, err := io.WriteString(s.Text, out.String()); err != nil {
		return err
	}
	return statusOf(j.Decision)
}

// statusOf is the exit status of check for a decision.
func statusOf(d rules.Decision) error {
	switch d {
	case rules.Allow:
		return nil
	case rules.None:
		return cli.StatusError(cli.ExitFailed)
	}
	return cli.StatusError(cli.ExitRefused)
}

func newAdd(s cli.Stdio) *cobra.Command {
	var r rules.Rule
	var decision, expires string
	cmd := &cobra.Command{
		Use: "add --decision allow|ask|forbid|--backend NAME [flags] -- WORD... | --tool NAME__TOOL", Short: "Add a rule for commands that begin with these words, or for a tool",
		Args: func(cmd *cobra.Command, args []string) error { // a tool, or the words of a command
			if r.Tool != "" {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Decision = rules.Decision(decision)
			for _, word := range args {
				r.Words = append(r.Words, []string{word})
			}
			if expires != "" {
				until, err := time.ParseInLocation(time.DateOnly, expires, time.Local)
				if err != nil {
					return cli.Usage(errors.New("--expires: want a date such as 2026-12-31"))
				}
				r.Expires = until.AddDate(0, 0, 1) // the rule applies to the end of that day
				if r.Expires.Before(time.Now()) {
					return cli.Usage(fmt.Errorf("--expires: %s is over", expires))
				}
			}
			// A fault in the arguments has no position in the file.
			if _, err := rules.Parse("", r.TOML(), ""); err != nil {
				if fault := new(rules.Error); errors.As(err, &fault) {
					err = errors.New(fault.Problem)
				}
				return cli.Usage(err, "nothing was changed")
			}
			return change(cmd.Context(), s, func(text []byte, all []*rules.Rule) ([]byte, error) {
				i := slices.IndexFunc(all, func(old *rules.Rule) bool { return bytes.Equal(old.TOML(), r.TOML()) })
				if i >= 0 {
					return nil, cli.Usage(fmt.Errorf("%s has this rule already", where(all[i])), "nothing was changed")
				}
				return append(text, r.TOML()...), nil
			})
		},
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false)
	fl.StringVar(&decision, "decision", "", "allow, ask or forbid")
	fl.StringVar(&r.Backend, "backend", "", "in place of a decision: such commands run in this backend of config.toml")
	fl.StringVar(&r.Tool, "tool", "", "a tool of an MCP server in place of a command; NAME__* is all of the server")
	fl.BoolVar(&r.Exact, "exact", false, "with allow: exactly these words, and no more")
	fl.StringVar(&r.Reason, "reason", "", "with forbid: what the model reads")
	fl.StringVar(&expires, "expires", "", "the last day that the rule holds, as 2026-12-31")
	return cmd
}

func newRemove(s cli.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove the rule that list shows with this ID", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, _, err := workspace.Places(cmd.Context(), s)
			if err != nil {
				return err
			}
			left, err := workspace.RemoveRule(cmd.Context(), s, paths, args[0])
			if err != nil {
				return err
			}
			return count(s, paths, left)
		},
	}
}

// change writes what edit makes of rules.toml, if it is a valid file of rules.
func change(ctx context.Context, s cli.Stdio, edit func(text []byte, all []*rules.Rule) ([]byte, error)) error {
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return err
	}
	after, err := workspace.ChangeRules(ctx, s, paths, edit)
	if err != nil {
		return err
	}
	return count(s, paths, after)
}

// count says how many rules the file now contains.
func count(s cli.Stdio, paths config.Paths, list []*rules.Rule) error {
	_, err := fmt.Fprintf(s.Text, "%s in %s\n", short.Count(len(list), "rule"), visible.Line(paths.Rules))
	return err
}
