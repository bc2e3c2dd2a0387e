package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals/ledger"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// errNotListed: the ID names nothing that is open.
var errNotListed = errors.New("it is not open any more")

// Revoke takes back what the entry of the ledger opens: from the next decision on, and from running
// commands as far as the system allows. It returns what became of it, in words.
func (ses *Session) Revoke(ctx context.Context, id string) (string, error) {
	l := ses.Gate.Ledger()
	i := slices.IndexFunc(l.List(), func(e ledger.Entry) bool { return e.ID == id })
	if i < 0 {
		return "", errNotListed
	}
	e := l.List()[i]
	closed, still := e.Grant, sandbox.Grant{}
	if e.Origin == ledger.Rule {
		after, err := workspace.RemoveRule(ctx, ses.Workspace.Stdio, ses.Workspace.Paths, id)
		if err != nil {
			return "", err
		}
		closed = l.ReplaceRules(ses.Workspace.Paths.Rules, after)
	} else {
		out, ok := l.Revoke(id)
		if !ok {
			return "", errNotListed
		}
		closed, still = out.Closed, out.Still
	}
	running, became := ses.Workspace.Runner.Revoke(closed)
	return revokedWords(e, still, running, became), nil
}

// revokedWords says what became of a revocation.
func revokedWords(e ledger.Entry, still sandbox.Grant, running int, became sandbox.Revoked) string {
	lines := []string{"revoked: " + strings.Join(e.Lines(nil), ", ")}
	if e.Origin == ledger.FromSetting {
		lines[0] += " (for this session; the setting stays: " + e.Source + ")"
	}
	if !still.Empty() {
		lines = append(lines, "still open by something else: "+strings.Join(still.Lines(nil), ", "))
	}
	if became.Cut > 0 {
		lines = append(lines, short.Count(became.Cut, "open connection")+" ended")
	}
	if len(became.Stays) > 0 {
		lines = append(lines, fmt.Sprintf("%s running; what cannot be taken back: %s", short.Count(running, "command"), strings.Join(became.Stays, "; ")))
	}
	return strings.Join(lines, "\n")
}
