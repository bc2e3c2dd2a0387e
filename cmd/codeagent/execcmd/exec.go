// Package execcmd is `codeagent exec`: one prompt without a screen, the answer on stdout and
// progress on stderr. It writes the answer to a file only if a flag names one. Read run
// first, then statusOf for the exit statuses.
package execcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"codeagent/agent"
	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/headless"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/mcp/inquiry"
	"codeagent/sandbox"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// promptLimit bounds a prompt read from stdin, in bytes.
const promptLimit = 16 << 20

type flags struct {
	json, plainJSON, stdin bool
	quiet, verbose         bool
	output, schema         string
	color, onRefused       string
	timeout                time.Duration
	codex                  codexFlags
	conversation.Beginning
	conversation.Scope
	// review is the review that the run is; nil for exec.
	review *review
}

// add declares the flags that exec and review share.
func (x *flags) add(fl *pflag.FlagSet) {
	fl.BoolVar(&x.json, "json", false, "print one event a line on stdout")
	fl.BoolVar(&x.stdin, "stdin", false, "add stdin to the prompt given as the argument")
	fl.StringVar(&x.Approvals, "approvals", "", "grant exactly what this file shows (codeagent permissions export)")
	fl.DurationVar(&x.timeout, "timeout", 0, "end the run after this time (status 124)")
	fl.IntVar(&x.Bounds.Requests, "max-turns", 0, fmt.Sprintf("ask the model at most this many times (status 1); 0: %d", agent.DefaultRequests))
	fl.IntVar(&x.Bounds.Tokens, "max-tokens", 0, "end the run when its requests and answers have this many tokens (status 1)")
	fl.Float64Var(&x.Bounds.Cost, "max-cost", 0, "end the run when it has cost this much, by models.NAME.price (status 1)")
	fl.BoolVarP(&x.quiet, "quiet", "q", false, "print only warnings, errors and refusals on stderr")
	fl.BoolVarP(&x.verbose, "verbose", "v", false, "also print the model's thinking, the output of every command and tokens on stderr")
	fl.StringVar(&x.onRefused, "on-refused", "continue", "after a refused permission: continue, or stop the run (status 3)")
	fl.StringVar(&x.color, "color", "auto", "colour on stderr: auto, always, never")
}

// addEphemeral declares a flag that resume and fork do not take.
func (x *flags) addEphemeral(fl *pflag.FlagSet) {
	fl.BoolVar(&x.Ephemeral, "ephemeral", false, "keep no session of this run")
}

// New returns the command `codeagent exec`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var x flags
	cmd := &cobra.Command{
		Use:   "exec [PROMPT | -]",
		Short: "Run one prompt without a screen: answer on stdout, progress on stderr",
		Long: "exec runs one prompt to its end. The prompt is the argument, or stdin without one or when it\n" +
			"is \"-\". Nobody is there to ask: what the policy does not allow is refused, the\n" +
			"model learns it, and the exit status is 3.\n\n" +
			"Exit status: 0 done, 1 failed, 2 usage, 3 permission refused, 4 sign-in, 124 time limit,\n" +
			"129 SIGHUP, 130 SIGINT, 131 SIGQUIT, 143 SIGTERM.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage(errors.New("exec takes one prompt"), "quote it: codeagent exec \"fix the test\"")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return report(cmd.Context(), s, x, func(ctx context.Context, p *headless.Printer) error {
				return run(ctx, s, *f, x, args, p)
			})
		},
	}
	x.addEphemeral(cmd.Flags())
	fl := cmd.PersistentFlags() // resume and fork accept them too
	x.add(fl)
	fl.BoolVar(&x.plainJSON, "experimental-json", false, "as --json, without the fields and items of our own")
	fl.StringVarP(&x.output, "output-last-message", "o", "", "also write the answer to this file")
	fl.StringVar(&x.KeepTemp, "keep-temp", "", "copy the files and folders that commands leave in the session's own /tmp to this folder")
	fl.StringVar(&x.schema, "output-schema", "", "the answer must fit the JSON Schema in this file")
	attach.Flag(fl, &x.Images)
	cli.DraftFlag(fl, f)
	x.codex.add(fl)
	cmd.AddCommand(newExecFrom(s, f, &x, "resume", "Resume an earlier session", false),
		newExecFrom(s, f, &x, "fork", "Resume a copy of an earlier session", true))
	return cmd
}

// Learn runs a prompt as exec does, with further rules, while servers learn.
func Learn(ctx context.Context, s cli.Stdio, f cli.Flags, prompt string, learn func(server string) func(sandbox.Denial) (sandbox.Grant, bool), further []*rules.Rule) error {
	x := flags{onRefused: "continue", color: "auto", Scope: conversation.Scope{Learn: learn, Rules: further}}
	return report(ctx, s, x, func(ctx context.Context, p *headless.Printer) error {
		return run(ctx, s, f, x, []string{prompt}, p)
	})
}

func run(ctx context.Context, s cli.Stdio, f cli.Flags, x flags, args []string, printer *headless.Printer) error {
	prompt, err := readPrompt(ctx, s, x, args)
	if err != nil {
		return byLimit(ctx, err)
	}
	if prompt == "" && x.From != nil {
		return cli.Usage(errors.New("resume needs a prompt"), "give it as the last argument, or on stdin")
	}
	if prompt == "" && len(x.Images) > 0 {
		return cli.Usage(errors.New("an image needs a prompt that says what to do with it"), "give a prompt as the last argument, or on stdin")
	}
	var warnings []string
	if x.plainJSON {
		s = atHome(ctx, s)
		if f, warnings, err = fromCodex(s, f, x.codex); err != nil {
			return err
		}
		for _, w := range warnings { // the SDK shows stderr where the run fails
			fmt.Fprintln(s.Err, "codeagent: warning:", w)
		}
	}
	defer x.warnUnread(s, printer, args)()
	if x.KeepTemp, err = keptIn(x.KeepTemp); err != nil {
		return err
	}
	x.HasPrompt, x.Bounds.Refused = prompt != "" || x.review != nil, x.onRefused == "stop"
	if x.review != nil {
		x.review.printer = printer
		x.ReadOnly, x.Findings = x.review.readOnly(f), x.review.take
	}
	base, err := conversation.Open(ctx, s, f, conversation.Options{Audience: conversation.Audience{Mentions: true}, Beginning: x.Beginning, Scope: x.Scope})
	if err != nil {
		return byLimit(ctx, err)
	}
	defer base.Close()
	last, err := cli.OpenOutput(base.Workspace.Ground(), "-o", x.output, 0o666)
	if err != nil {
		return err
	}
	defer last.Close()
	schema, unchecked, err := readSchema(ctx, base.Workspace.Ground(), x.schema)
	if err != nil {
		return err
	}
	base.Options.Schema = schema
	warnings = append(warnings, unchecked...)
	var in agent.Input
	switch {
	case x.review != nil:
		in, err = x.review.message(ctx, base.Workspace, prompt)
		if errors.Is(err, workspace.ErrNothing) {
			x.review.nothing(err)
			return errors.Join(save(last, ""), statusOf(ctx, nil, printer, x))
		}
		if err != nil {
			return err
		}
	case prompt != "":
	case base.Tour == nil:
		return cli.Usage(errors.New("no prompt"), "give it as the last argument, or on stdin")
	default:
		prompt = base.Tour.Prompt
	}
	var ses *conversation.Session
	var face conversation.Face = PrinterFace{printer, func() {
		ses.EndJobs(func(e event.BackgroundEnded) { printer.Emit(e) })
	}}
	if x.review != nil {
		face = reviewFace{face, x.review}
	}
	ses = conversation.Join(base, face)
	ses.Begin()
	for _, w := range warnings {
		printer.Emit(event.Notice{Level: word.LevelWarning, Text: w})
	}
	if x.review == nil {
		in = agent.Input{Text: prompt}
	}
	err = ses.Turn(ctx, in)
	answer := printer.Last().Answer
	if x.review != nil {
		answer = x.review.text()
	}
	if lost := save(last, answer); lost != nil {
		return errors.Join(err, lost)
	}
	if ses.Tour != nil {
		ses.ReportTourFiles()
	}
	if d := base.Workspace.Draft; d != nil && d.Holds() {
		fmt.Fprintln(s.Err, "codeagent: what changed is on a draft, and not in your files: codeagent try --draft "+d.ID())
	}
	return statusOf(ctx, err, printer, x)
}

// save writes the answer to the file of -o, if there is one.
func save(file *cli.OutputFile, answer string) error {
	if file == nil {
		return nil
	}
	err := file.Write(func(w io.Writer) error {
		_, err := io.WriteString(w, answer)
		return err
	})
	if err != nil {
		return lostAnswer{err}
	}
	return nil
}

// byLimit returns the time limit instead of an error after it: what failed before the turn
// did so because its time was over.
func byLimit(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, cli.ErrTimeLimit) {
		return cause
	}
	return err
}

// statusOf converts the result of a run to the error that carries its exit status.
func statusOf(ctx context.Context, err error, p *headless.Printer, x flags) error {
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return cause
		}
		return x.explain(err)
	}
	switch err := p.Err(); {
	case err != nil && !errors.Is(err, syscall.EPIPE):
		return lostAnswer{fmt.Errorf("write the answer: %w", err)} // the answer is lost, for example on a full disk
	case x.review != nil && x.review.status() != nil: // also where nobody read the findings
		return x.review.status()
	case err != nil || x.plainJSON:
		return nil
	}
	if len(p.Last().Refused) > 0 {
		return cli.StatusError(cli.ExitRefused)
	}
	return nil
}

// readPrompt returns the prompt, or "". With an argument it does not read stdin, so that an
// open pipe never blocks a script.
func readPrompt(ctx context.Context, s cli.Stdio, x flags, args []string) (string, error) {
	prompt := ""
	if len(args) == 1 && args[0] != "-" {
		if prompt = args[0]; strings.TrimSpace(prompt) == "" { // in a script, a variable that is not set
			return "", cli.Usage(errors.New("the prompt is empty"), "without an argument, or with -, it is read from stdin")
		}
	}
	if !x.readsStdin(s, args) {
		return prompt, nil
	}
	// A signal ends the wait for the writer of stdin.
	data, err := hostfile.Within(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(s.In, promptLimit+1)) })
	if err != nil {
		return "", fmt.Errorf("read the prompt from stdin: %w", err)
	}
	if len(data) > promptLimit {
		return "", cli.Usage(fmt.Errorf("the prompt on stdin is over %d MiB", promptLimit>>20))
	}
	text := strings.TrimSpace(string(data))
	switch {
	case text == "" && len(args) == 1 && args[0] == "-":
		return "", cli.Usage(errors.New("the prompt on stdin is empty"))
	case text == "":
		return prompt, nil
	case prompt == "":
		return text, nil
	}
	return prompt + "\n\n" + text, nil
}

// PrinterFace adapts a printer to a session's Face.
type PrinterFace struct {
	*headless.Printer
	// Ending runs before the end of the only turn is reported.
	Ending func()
}

// Emit ends the background commands before it reports the end of the turn: codeagent ends
// then, and the end of the turn is the last line of a run.
func (p PrinterFace) Emit(e event.Event) {
	if _, over := e.(event.TurnFinished); over {
		p.Ending()
	}
	p.Printer.Emit(e)
}

// Steer returns nothing: nobody types.
func (PrinterFace) Steer() (agent.Input, bool) { return agent.Input{}, false }

// Inquire declines, because nobody can answer, and says so.
func (p PrinterFace) Inquire(_ context.Context, q inquiry.Question) (inquiry.Reply, error) {
	if q.ByModel() { // the result of its call says so
		return inquiry.Reply{}, inquiry.ErrNobody
	}
	p.Printer.Emit(event.Notice{Level: word.LevelWarning, Text: "declined a question of the MCP server " + q.Server + ", because nobody can answer it here: “" + short.Cut(q.Message, 200) + "”"})
	return inquiry.Reply{Action: inquiry.Declined}, nil
}

func newExecFrom(s cli.Stdio, f *cli.Flags, x *flags, verb, short string, fork bool) *cobra.Command {
	r := sessionscmd.Which{Fork: fork}
	cmd := &cobra.Command{
		Use: verb + " (ID | --last) [PROMPT | -]", Short: short,
		Long: verb + " takes the prompt as exec does, and works in the session's own folder unless --cd names another.",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return report(cmd.Context(), s, *x, func(ctx context.Context, p *headless.Printer) error {
				return runExecFrom(ctx, s, *f, *x, r, args, p)
			})
		},
	}
	r.Add(cmd, verb)
	return cmd
}

func runExecFrom(ctx context.Context, s cli.Stdio, f cli.Flags, x flags, r sessionscmd.Which, args []string, p *headless.Printer) error {
	if x.plainJSON {
		s = atHome(ctx, s)
	}
	from, rest, err := r.Find(ctx, s, f, args)
	switch {
	case err != nil && x.plainJSON:
		// The SDK writes the prompt before it looks for errors, and ends with a broken pipe.
		_, _ = readPrompt(ctx, s, x, args[min(1, len(args)):])
		return err
	case err != nil:
		return err
	case x.plainJSON:
		// After a turn that failed or was left the SDK begins the next at once.
		err = sessionscmd.AwaitFree(ctx, s, from.ID, leftover)
	}
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return cli.Usage(errors.New("--last takes one prompt and no ID"))
	}
	x.From = from
	return run(ctx, s, f, x, rest, p)
}
