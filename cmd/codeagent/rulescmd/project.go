package rulescmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/spf13/cobra"
)

// projectList lists the rules of the project: those that apply, those that the user has not
// adopted, and the files that cannot be read.
func projectList(p workspace.ProjectRules) string {
	var out strings.Builder
	for _, r := range p.Narrower {
		fmt.Fprintf(&out, "-  %s (project, %s)\n", visible.Line(r.String()), where(r))
	}
	for _, r := range p.Wider {
		what := "not adopted"
		if p.Adopted(r) {
			what = "adopted"
		}
		fmt.Fprintf(&out, "%s %s: %s (project, %s)\n", what, workspace.ProjectID(r), visible.Line(r.String()), where(r))
	}
	warnings, _ := p.Words()
	for _, words := range warnings {
		fmt.Fprintln(&out, visible.Line(words))
	}
	return out.String()
}

// where says on which line of which file a rule is, and when it ends.
func where(r *rules.Rule) string {
	out := fmt.Sprintf("%s:%d", visible.Line(r.File), r.Line)
	switch {
	case r.Expires.IsZero():
	case r.Expires.Before(time.Now()):
		out += ", ended " + r.Until()
	default:
		out += ", until " + r.Until()
	}
	return out
}

// withProject returns the rules that would apply to a session in the folder: the user's rules, and
// the project's rules that ask or forbid. Unreadable files are reported on stderr.
func withProject(ctx context.Context, s cli.Stdio, f cli.Flags) (*rules.Set, error) {
	own, _, err := read(ctx, s)
	if err != nil {
		return nil, err
	}
	folder, err := workspace.Enter(s, f)
	if err != nil {
		return nil, err
	}
	project, err := readProject(ctx, s, f, own)
	if err != nil {
		return nil, err
	}
	warnings, _ := project.Words()
	for _, words := range warnings {
		fmt.Fprintf(s.Err, "codeagent: %s\n", visible.Line(words))
	}
	return workspace.RulesIn(folder, own, project), nil
}

func readProject(ctx context.Context, s cli.Stdio, f cli.Flags, own []*rules.Rule) (workspace.ProjectRules, error) {
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return workspace.ProjectRules{}, err
	}
	return workspace.ReadProjectRules(ctx, s, f, paths, own)
}

func newAdopt(s cli.Stdio, f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use: "adopt ID|DIRECTORY", Short: "Copy a rule of the project, which list shows as not adopted, to your own rules",
		Long: "A project's rules may ask and forbid. One that would allow something holds once you have adopted it. What\n" +
			"is adopted is a copy, for the folder of the project: later changes of the project's file do not change it.\n" +
			"The ID stands for exactly what list showed. If the rule has changed since, nothing is adopted.\n" +
			"DIRECTORY, with a slash, is a git directory that commands made or committed to, such as ./.git. Questions name one\n" +
			"that they made until you have looked at its hooks and settings and adopted it. Look at the commits, too: from\n" +
			"then on those of its branch count as yours.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.Contains(args[0], "/") {
				dir, err := workspace.AdoptGit(cmd.Context(), s, *f, args[0])
				if err == nil {
					_, err = fmt.Fprintf(s.Text, "adopted %s: it counts as yours\n", visible.Line(dir))
				}
				return err
			}
			own, _, err := read(cmd.Context(), s)
			if err != nil {
				return err
			}
			project, err := readProject(cmd.Context(), s, *f, own)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(project.Wider, func(r *rules.Rule) bool { return workspace.ProjectID(r) == args[0] })
			if i < 0 {
				return cli.Usage(fmt.Errorf("no rule of the project has the ID %s, or the rule has changed", short.Quote(args[0], 40)), "codeagent rules list shows the rules as they are now")
			}
			r := project.Wider[i]
			entry := workspace.ForProject(r).TOML()
			if project.Adopted(r) {
				return cli.Usage(fmt.Errorf("%s is adopted already", args[0]))
			}
			err = change(cmd.Context(), s, func(text []byte, _ []*rules.Rule) ([]byte, error) { return append(text, entry...), nil })
			if err == nil {
				_, err = fmt.Fprintf(s.Text, "adopted from %s:%s", where(r), visible.Text(string(entry)))
			}
			return err
		},
	}
}
