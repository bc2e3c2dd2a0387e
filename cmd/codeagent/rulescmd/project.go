package rulescmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/internal/visible"
)

// projectList shows the rules of the project: those that hold, those that the user has not
// adopted, and the files that cannot be read.
func projectList(p workspace.ProjectRules) string {
	var out strings.Builder
	for _, r := range p.Narrower {
		fmt.Fprintf(&out, "-  %s (project, %s)\n", visible.Line(r.String()), where(r))
	}
	for i, r := range p.Wider {
		fmt.Fprintf(&out, "not adopted %d: %s (project, %s)\n", i+1, visible.Line(r.String()), where(r))
	}
	warnings, _ := p.Words()
	for _, words := range warnings {
		fmt.Fprintln(&out, visible.Line(words))
	}
	return out.String()
}

// where says where a rule stands, and how long it holds.
func where(r *rules.Rule) string {
	out := fmt.Sprintf("%s:%d", visible.Line(r.File), r.Line)
	if !r.Expires.IsZero() {
		out += ", until " + r.Expires.Format(time.DateOnly)
	}
	return out
}

// withProject returns the rules that a session in the folder would have: the user's, and what
// the project narrows. Files that cannot be read are reported on stderr.
func withProject(ctx context.Context, s cli.Stdio, f cli.Flags, own []*rules.Rule) (*rules.Set, error) {
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return nil, err
	}
	project, err := workspace.ReadProjectRules(ctx, s, f, paths)
	if err != nil {
		return nil, err
	}
	warnings, _ := project.Words()
	for _, words := range warnings {
		fmt.Fprintf(s.Err, "codeagent: %s\n", visible.Line(words))
	}
	return rules.Join(own, project.Narrower), nil
}
