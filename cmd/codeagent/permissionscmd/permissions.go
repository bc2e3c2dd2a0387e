// Package permissionscmd is the command `codeagent permissions`: it lists what is open beyond the
// policy, revokes rules, forgets what programs did without, and exports what was granted. It may
// change rules.toml and the memory of refusals, and it reads the ledger of earlier sessions through
// package workspace. Start at New.
package permissionscmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/approvals/without"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/spf13/cobra"
)

// New returns the command `codeagent permissions`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var session string
	var plain bool
	list := func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), s, *f, session, plain) }
	cmd := &cobra.Command{
		Use: "permissions", Short: "List, revoke and export what was granted",
		Long: "permissions lists the rules that open something, and what the answers of a session opened: of the one\n" +
			"that --session names, else of the last one in this folder. Answers end with their session; /permissions\n" +
			"on the screen revokes them. codeagent help permissions has more.",
		Args: cobra.NoArgs, RunE: list,
	}
	cmd.PersistentFlags().StringVar(&session, "session", "", "the session whose answers to use")
	show := &cobra.Command{Use: "list", Short: "List what is open", Args: cobra.NoArgs, RunE: list}
	for _, c := range []*cobra.Command{cmd, show} {
		c.Flags().BoolVar(&plain, "json", false, "print one entry a line as JSON")
	}
	cmd.AddCommand(show,
		&cobra.Command{
			Use: "revoke ID", Short: "Remove the rule with that ID from rules.toml", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return revoke(cmd.Context(), s, args[0]) },
		},
		&cobra.Command{
			Use: "forget [ID]...", Short: "Forget what programs did without: these entries, or all",
			RunE: func(cmd *cobra.Command, args []string) error { return forget(cmd.Context(), s, args) },
		},
		&cobra.Command{
			Use: "export [FILE]", Short: "Write what is open as a file for codeagent exec --approvals", Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return export(cmd.Context(), s, *f, session, strings.Join(args, ""))
			},
		})
	return cmd
}

// openRules are the rules that open something, and the answers of a session.
type openRules struct {
	paths   config.Paths
	rules   []*rules.Rule
	granted workspace.GrantLog
	folder  string
}

func read(ctx context.Context, s cli.Stdio, f cli.Flags, session string) (o openRules, err error) {
	if o.paths, _, err = workspace.Places(ctx, s); err != nil {
		return o, err
	}
	if o.folder, err = workspace.Enter(s, f); err != nil {
		return o, err
	}
	all, _, err := workspace.ReadRules(ctx, s, o.paths)
	if err != nil {
		return o, err
	}
	now := time.Now()
	for _, r := range all {
		if _, opens := ledger.OfRule(r); opens && r.Holds(now) {
			o.rules = append(o.rules, r)
		}
	}
	var found bool
	o.granted, found, err = workspace.ReadGranted(ctx, o.paths, func(g workspace.GrantLog) bool {
		return session != "" && g.Session == session || session == "" && g.Folder == o.folder
	})
	if err == nil && !found && session != "" {
		err = cli.Usage(fmt.Errorf("nothing was granted in a session %s", short.Head(session, 60)), "codeagent sessions lists them")
	}
	return o, err
}

// entries lists rules, then answers.
func (o openRules) entries() (out []ledger.Entry) {
	for _, r := range o.rules {
		e, _ := ledger.OfRule(r)
		out = append(out, e)
	}
	return append(out, o.granted.Entries...)
}

func list(ctx context.Context, s cli.Stdio, f cli.Flags, session string, plain bool) error {
	o, err := read(ctx, s, f, session)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, e := range o.entries() {
		if plain {
			line, err := json.Marshal(e)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s\n", line)
			continue
		}
		where := string(e.Scope)
		if e.Scope == ledger.Session {
			where += " " + o.granted.Session
		}
		if !e.Expires.IsZero() {
			where += ", until " + e.Expires.Add(-time.Second).Format(time.DateOnly) // the last day
		}
		if used := e.Used(); used != "" {
			where += "; " + used
		}
		fmt.Fprintf(&out, "%s  %s  (%s, %s)\n", e.ID, strings.Join(e.Lines(visible.Line), ", "), e.Origin, visible.Line(where))
	}
	if out.Len() == 0 && !plain {
		out.WriteString("nothing beyond the policy is open\n")
	}
	if !plain {
		writeWithout(&out, memory(s, o.paths).List())
	}
	_, err = io.WriteString(s.Text, out.String())
	return err
}

// memory opens the memory of refusals. A damaged file counts as empty, so codeagent asks more
// often.
func memory(s cli.Stdio, paths config.Paths) *without.Memory {
	m, _ := without.Open(paths.Without, s.Env("HOME"))
	return m
}

func writeWithout(out *strings.Builder, list []without.Entry) {
	head := "not asked about, since programs did without it:\n"
	for _, e := range list {
		if e.Last == without.Survived {
			fmt.Fprintf(out, "%s%s  %s %s, by %s (%s)\n", head, e.ID(), e.Kind, visible.Line(e.Target), visible.Line(e.Program), short.Count(e.Survived, "time"))
			head = ""
		}
	}
}

// forget clears entries of the memory, or all of it.
func forget(ctx context.Context, s cli.Stdio, ids []string) error {
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return err
	}
	n, err := memory(s, paths).Clear(ids...)
	if err == nil && n == 0 && len(ids) > 0 {
		err = cli.Usage(errors.New("nothing is remembered under these IDs"), "codeagent permissions list shows them")
	}
	if err == nil {
		_, err = fmt.Fprintf(s.Text, "forgot %s\n", short.Count(n, "entry"))
	}
	return err
}

func revoke(ctx context.Context, s cli.Stdio, id string) error {
	if !strings.HasPrefix(id, "r") {
		return cli.Usage(fmt.Errorf("%s is not a rule", short.Head(id, 40)), "answers end with their session; a running session revokes them with /permissions")
	}
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return err
	}
	left, err := workspace.RemoveRule(ctx, s, paths, id)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Text, "removed from %s: %s left. Running sessions keep it: revoke it there with /permissions\n", visible.Line(paths.Rules), short.Count(len(left), "rule"))
	return err
}

func export(ctx context.Context, s cli.Stdio, f cli.Flags, session, file string) error {
	o, err := read(ctx, s, f, session)
	if err != nil {
		return err
	}
	about := "the rules of " + o.paths.Rules
	if o.granted.Session != "" {
		about += ", and the answers of session " + o.granted.Session
	}
	text, left := ledger.Export(about+", exported "+time.Now().Format(time.DateOnly), o.granted.Entries, o.rules)
	for _, what := range left {
		fmt.Fprintf(s.Err, "not exported: %s\n", visible.Line(what))
	}
	if file == "" {
		_, err = s.Text.Write(text)
		return err
	}
	// Commands may have made links in their working folder.
	_, ground, err := workspace.Places(ctx, s)
	if err != nil {
		return err
	}
	out, err := cli.OpenOutput(ground.With(o.folder), "FILE", file, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	return out.Write(func(w io.Writer) error { _, err := w.Write(text); return err })
}
