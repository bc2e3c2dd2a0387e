package conversation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// noteGranted records what the answers of the session opened, for `codeagent permissions`. It skips
// a session without a record, which has no name there.
func noteGranted(ws *workspace.Workspace, r *record, entries []ledger.Entry) {
	if r == nil {
		return
	}
	// The answers apply even if this fails, and the user could not fix the error now.
	_ = workspace.NoteGranted(context.Background(), ws.Paths, workspace.GrantLog{
		Session: r.Log.ID(), Folder: ws.Folder, At: time.Now(), Entries: entries,
	})
}

// mostApprovals limits an approvals file, in bytes.
const mostApprovals = 1 << 20

// adopt grants what the file of --approvals lists; "": nothing. A fault in the file ends the run before it
// begins.
func adopt(ctx context.Context, ws *workspace.Workspace, gate *approvals.Gate, name string) error {
	if name == "" {
		return nil
	}
	here, err := os.Getwd()
	if err != nil {
		return cli.Usage(err)
	}
	// A command of an earlier session may have replaced the file by a link.
	file, err := ws.Ground().Resolve(here, name)
	if err != nil {
		return cli.Usage(fmt.Errorf("--approvals: %w", err))
	}
	if written(ws, file) {
		return cli.Usage(fmt.Errorf("--approvals: %s: commands can write this file, so one of this or an earlier session may have changed it", file),
			fmt.Sprintf("nothing was granted; move it to %s, which commands cannot write, or to a folder outside of those that they can write", filepath.Join(ws.Folder, ".codeagent")))
	}
	text, err := hostfile.Read(ctx, file, mostApprovals)
	if err != nil {
		return cli.Usage(fmt.Errorf("--approvals: %w", err))
	}
	f, err := ledger.Parse(name, text, time.Now())
	if err == nil {
		err = gate.Ledger().Adopt(f, name)
	}
	if err != nil {
		return cli.Usage(fmt.Errorf("--approvals: %w", err), "nothing was granted; codeagent help permissions has the form")
	}
	return nil
}

// written reports whether a command may have written the file: it is where commands may write, and
// is not protected there.
func written(ws *workspace.Workspace, file string) bool {
	p := ws.Policy.Clone()
	p.Unconfined = false
	if p.JudgeWrite(file).Allowed {
		return true
	}
	p.Write = []sandbox.Root{{Path: "/"}} // the roots of earlier sessions are recorded, and have the same protected names
	return ws.Ground().Covers(file) && p.JudgeWrite(file).Kind != sandbox.KindProtected
}

// errNotListed: the ID matches nothing that is open.
var errNotListed = errors.New("it is not open any more")

// Revoke ends a ledger entry for all later decisions, and for running commands as far as the
// system allows. It returns the result in words.
func (ses *Session) Revoke(ctx context.Context, id string) (string, error) {
	l := ses.Gate.Ledger()
	if strings.HasPrefix(id, "j") {
		return ses.revokeOfJob(id)
	}
	open := l.List()
	i := slices.IndexFunc(open, func(e ledger.Entry) bool { return e.ID == id })
	if i < 0 {
		return "", errNotListed
	}
	e := open[i]
	var closed, still sandbox.Grant
	if e.Origin == ledger.Rule {
		var err error
		if closed, err = l.DropRules(ses.Workspace.Paths.Rules, func() ([]*rules.Rule, error) {
			return workspace.RemoveRule(ctx, ses.Workspace.Stdio, ses.Workspace.Paths, id)
		}); err != nil {
			return "", err
		}
	} else {
		out, ok := l.Revoke(id)
		if !ok {
			return "", errNotListed
		}
		closed, still = out.Closed, out.Still
	}
	if e.Publish != 0 {
		ses.Jobs.Unpublish(e.Publish)
	}
	if e.Server != "" {
		running, became := ses.Servers.Revoke(e.Server, closed)
		return revokedWords(e, still, running, became), nil
	}
	closing := l.Closing(closed)
	running, became := ses.Workspace.Runner.Revoke(closing)
	for _, helpers := range ses.apart.others(ses.Workspace.Runner) {
		n, more := helpers.Revoke(closing)
		running += n
		became.Cut += more.Cut
		became.Stays = append(became.Stays, more.Stays...)
	}
	return revokedWords(e, still, running, became), nil
}

// OfJobs lists what running jobs may access and a new command may not. Source names the job.
func (ses *Session) OfJobs() (out []ledger.Entry) {
	for _, job := range ses.Jobs.List() {
		if !job.Running {
			continue
		}
		for _, e := range ses.Gate.Ledger().Beyond(job.Policy, job.Granted, job.Revoked) {
			e.ID, e.Source, e.Title = fmt.Sprintf("j%d-%s", job.ID, e.ID), fmt.Sprintf("job %d", job.ID), job.Text
			out = append(out, e)
		}
	}
	return out
}

// revokeOfJob revokes something from one job.
func (ses *Session) revokeOfJob(id string) (string, error) {
	list := ses.OfJobs()
	i := slices.IndexFunc(list, func(e ledger.Entry) bool { return e.ID == id })
	if i < 0 {
		return "", errNotListed
	}
	var number int
	if _, err := fmt.Sscanf(list[i].Source, "job %d", &number); err != nil {
		return "", err
	}
	became, ok := ses.Jobs.Revoke(number, ses.Gate.Ledger().Closing(list[i].Grant))
	if !ok {
		return "", errNotListed
	}
	return revokedWords(list[i], sandbox.Grant{}, 1, became), nil
}

// revokedWords describes the result of a revocation.
func revokedWords(e ledger.Entry, still sandbox.Grant, running int, became sandbox.RevokeResult) string {
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
		lines = append(lines, fmt.Sprintf("%s running; cannot be revoked: %s", short.Count(running, "command"), strings.Join(became.Stays, "; ")))
	}
	return strings.Join(lines, "\n")
}
