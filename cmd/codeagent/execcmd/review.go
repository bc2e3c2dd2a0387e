package execcmd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/gitrun"
	"codeagent/headless"
	"codeagent/prompts"

	"github.com/spf13/cobra"
)

// review is the run of `codeagent review`: a prompt with a change, and a tool for the findings.
//
//	git -> change -> prompt -> the model reads -> report_findings -> the next report replaces it
//	an answer without a call and no report yet -> it is asked for once -> still none: the run fails
type review struct {
	base, commit string
	uncommitted  bool

	printer *headless.Printer
	ws      *workspace.Workspace
	change  gitrun.Change

	mu       sync.Mutex
	reported bool
	findings []event.Finding
	// calls counts those of the present answer; asked: the report was asked for.
	calls, requests int
	asked           bool
}

var errNoReport = errors.New("the model did not report its findings (report_findings), so the result of the review is not known")

// NewReview returns the command `codeagent review`.
func NewReview(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var x flags
	var r review
	cmd := &cobra.Command{
		Use:   "review [--base BRANCH | --commit ID | --uncommitted] [PROMPT | -]",
		Short: "Have the model review a change: findings with file, line and severity",
		Long: "review has the model read a change of a git repository and report what is wrong in it: one\n" +
			"finding a line on stdout, progress on stderr. PROMPT adds to what it looks for.\n" +
			"Commands can write temporary files only, unless --sandbox says otherwise.\n\n" +
			"Exit status: 0 no findings, 5 findings, all others as of codeagent exec.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage(errors.New("review takes one prompt"), "quote it: codeagent review \"look for races\"")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.usage(cmd, *f); err != nil {
				return err
			}
			x.review = &r
			return report(cmd.Context(), s, x, func(ctx context.Context, p *headless.Printer) error {
				return run(ctx, s, *f, x, args, p)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&r.base, "base", "", "review what differs from the place where this branch was left")
	fl.StringVar(&r.commit, "commit", "", "review this commit")
	fl.BoolVar(&r.uncommitted, "uncommitted", false, "review what is not committed, with new files (the default)")
	x.add(fl)
	x.addEphemeral(fl)
	fl.StringVarP(&x.output, "output-last-message", "o", "", "also write the findings to this file, one a line")
	return cmd
}

func (r *review) usage(cmd *cobra.Command, f cli.Flags) error {
	chosen := 0
	for _, name := range []string{"base", "commit", "uncommitted"} {
		if cmd.Flags().Changed(name) {
			chosen++
		}
	}
	if chosen > 1 {
		return cli.Usage(errors.New("--base, --commit and --uncommitted exclude each other"))
	}
	if r.readOnly(f) && len(f.AddDirs)+len(f.AddFiles) > 0 {
		return cli.Usage(errors.New("a review writes nothing; leave --add-dir and --add-file out"), "or let it write: --sandbox workspace-write")
	}
	return nil
}

// readOnly reports whether commands may only write temporary files.
func (r *review) readOnly(f cli.Flags) bool { return f.Sandbox == "" }

// of names the change as Workspace.Diff takes it.
func (r *review) of() string {
	switch {
	case r.base != "":
		return "base " + r.base
	case r.commit != "":
		return "commit " + r.commit
	}
	return ""
}

// message is what the model gets; also is what the user adds.
func (r *review) message(ctx context.Context, ws *workspace.Workspace, also string) (in agent.Input, err error) {
	what, change, err := ws.ToReview(ctx, r.of())
	if err != nil {
		return in, err
	}
	r.ws, r.change = ws, change
	p := prompts.ReviewingToReport(what, change.Text, change.Cut, prompts.Report{Top: change.Top, Also: also})
	return agent.Input{Text: p.Text, About: p.About}, nil
}

// nothing ends a run without a change.
func (r *review) nothing(err error) {
	r.reported = true
	r.printer.Emit(event.Notice{Level: word.LevelInfo, Text: err.Error()})
	r.printer.Findings(nil)
	r.printer.Emit(event.TurnFinished{Outcome: word.TurnDone})
}

// take replaces the findings. An absolute path becomes one from the top of the repository.
func (r *review) take(list []event.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, f := range list {
		if rel, err := filepath.Rel(r.change.Top, f.File); filepath.IsAbs(f.File) && err == nil {
			list[i].File = rel
		}
	}
	r.reported, r.findings = true, list
}

// text returns the findings as they are on stdout.
func (r *review) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out strings.Builder
	for _, f := range r.findings {
		out.WriteString(headless.FindingText(f))
	}
	return out.String()
}

// status returns what decides the exit status beside how the turn ended, or nil.
func (r *review) status() error {
	switch {
	case !r.reported:
		return errNoReport
	case len(r.findings) > 0:
		return cli.StatusError(cli.ExitFindings)
	}
	return nil
}

// reviewFace is the face of a review: stdout gets the findings in place of the answer.
type reviewFace struct {
	conversation.Face
	*review
}

func (f reviewFace) Emit(e event.Event) {
	f.mu.Lock()
	switch what := e.(type) {
	case event.RequestStarted:
		f.requests, f.calls = f.requests+1, 0
	case event.ToolStarted:
		f.calls++
	case event.TurnFinished:
		if f.reported {
			f.printer.Findings(f.findings)
		}
		if what.Answer = ""; !f.reported && what.Outcome == word.TurnDone {
			what.Outcome, what.Err = word.TurnFailed, errNoReport
		}
		e = what
	}
	f.mu.Unlock()
	f.Face.Emit(e)
}

// Steer asks for the report, once, after an answer without a call.
func (f reviewFace) Steer() (agent.Input, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reported || f.asked || f.requests == 0 || f.calls > 0 {
		return agent.Input{}, false
	}
	f.asked = true
	return agent.Input{Text: prompts.ReportNow()}, true
}
