package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/model"
	"codeagent/sandbox"
)

const shellExample = `{"command": "go test ./...", "timeout_ms": 300000}`

// Permissions that a command may ask for.
const (
	useDefault       = "use_default"
	withAdditional   = "with_additional_permissions"
	requireEscalated = "require_escalated"
)

// shellArguments holds the tool's arguments. The tags define the schema.
type shellArguments struct {
	Command       string           `json:"command" jsonschema:"The command line, as typed into a shell. Pipes, redirections and several lines are fine."`
	Workdir       string           `json:"workdir,omitempty" jsonschema:"The folder to run in, absolute or relative to the workspace. Default: the workspace."`
	TimeoutMS     int              `json:"timeout_ms,omitempty" jsonschema:"After how many milliseconds the command and all it started are killed. Default 120000, at most 3600000."`
	Background    bool             `json:"background,omitempty" jsonschema:"true lets the command go on after this call: servers, watchers, long builds, programs to talk to. The result has its session_id for write_stdin, or the whole output when it ended at once. timeout_ms then has no default, and may be 86400000."`
	TTY           bool             `json:"tty,omitempty" jsonschema:"With background: true gives the command a terminal (TERM=dumb) instead of pipes, for programs that need one to talk: python3 -i, bash -i, gdb."`
	YieldMS       int              `json:"yield_time_ms,omitempty" jsonschema:"With background: how many milliseconds to wait for output at most. Default 5000, at most 600000."`
	WaitFor       string           `json:"wait_for,omitempty" jsonschema:"With background: wait until this text appears in the output, like 'Listening on'. Without it until there is output and then silence for a tenth of yield_time_ms."`
	Independent   bool             `json:"independent,omitempty" jsonschema:"true runs it beside the other calls of your answer instead of in their order. Only for a command that touches no file or service that another of them uses: nothing says which is first."`
	Sandbox       string           `json:"sandbox_permissions,omitempty" jsonschema:"use_default runs in the sandbox as it is. with_additional_permissions asks the user for exactly additional_permissions. require_escalated asks to run outside the sandbox: the last resort."`
	Additional    *shellPermission `json:"additional_permissions,omitempty" jsonschema:"What to open for this command beyond the sandbox. Ask for the least that is needed."`
	Justification string           `json:"justification,omitempty" jsonschema:"One sentence for the user: why the command needs more than the sandbox allows. Needed whenever more is asked for."`
	// Escalated is the older spelling of require_escalated, which models still write.
	Escalated bool `json:"with_escalated_permissions,omitempty" hidden:"accepted and not offered"`
}

type shellPermission struct {
	Write   []string `json:"write,omitempty" jsonschema:"Absolute paths to write; a folder opens all below it."`
	Read    []string `json:"read,omitempty" jsonschema:"Absolute paths to read that the sandbox hides."`
	Hosts   []string `json:"hosts,omitempty" jsonschema:"Network targets as host:port, like registry.npmjs.org:443."`
	Sockets []string `json:"sockets,omitempty" jsonschema:"Absolute paths of Unix sockets to connect to."`
}

// escalation are the texts in the tool's description and schema that explain how to ask for running
// outside the sandbox.
var escalation = []string{
	` Ask for "require_escalated" only when no list of paths and hosts would do.`,
	` require_escalated asks to run outside the sandbox: the last resort.`,
	",\n        \"require_escalated\"",
}

// withoutEscalation returns the spec for a model that may not ask for that.
func withoutEscalation(spec model.ToolSpec) model.ToolSpec {
	schema := string(spec.Schema)
	for _, part := range escalation {
		spec.Description = strings.Replace(spec.Description, part, "", 1)
		schema = strings.Replace(schema, part, "", 1)
	}
	spec.Schema = []byte(schema)
	return spec
}

type shellTool struct {
	paths
	jobs    *exec.Jobs // if nil, no command can run in the background
	shell   string
	backend func(command string, w approvals.Wish) (string, error)
	// patches: a command that is a patch is planned as a patch, see shell_patch.go.
	patches bool
	apart   bool // each stream has a pipe
}

func (t *shellTool) plan(a shellArguments) (*call, error) {
	if strings.TrimSpace(a.Command) == "" {
		return nil, fmt.Errorf("the argument \"command\" is empty. Example: %s", shellExample)
	}
	if strings.ContainsRune(a.Command, 0) {
		return nil, errors.New("the command contains a NUL character, which no program can be given")
	}
	if len(a.Command) > maxCommand {
		return nil, fmt.Errorf("the command has %d bytes; at most %d are taken: write a file with apply_patch and run that", len(a.Command), maxCommand)
	}
	timeout, err := shellTimeout(a.TimeoutMS, a.Background)
	if err != nil {
		return nil, err
	}
	wish, err := a.wish()
	if err != nil {
		return nil, err
	}
	wait, err := a.wait(t.jobs)
	if err != nil {
		return nil, err
	}
	folder, err := t.folder(a.Workdir)
	if err != nil {
		return nil, err
	}
	if t.patches {
		c, ok, err := asPatch(a.Command)
		if err != nil {
			return nil, err
		}
		if ok {
			return t.planPatch(c, folder, wish)
		}
	}
	var backend string
	if t.backend != nil {
		if backend, err = t.backend(a.Command, wish); err != nil {
			return nil, err
		}
	}
	action := approvals.Action{
		Tool: "shell", Kind: word.KindCommand, Title: "$ " + oneLine(a.Command),
		Command: a.Command, Folder: folder, Argv: []string{t.shell, "-c", a.Command}, Wish: wish,
		Background: a.Background, Independent: a.Independent, Backend: backend,
	}
	command := func(s Stage) exec.Command {
		var stderr exec.Sink
		if t.apart && !a.TTY && s.Stream != nil {
			stderr = s.Stream("stderr")
		}
		return exec.Command{Apart: stderr != nil, ErrSink: stderr, Argv: action.Argv, Dir: folder, Timeout: timeout, Terminal: a.TTY, Holder: s.Holder, Observer: s.Observer(), Check: s.check, By: "the command " + short.Cut(oneLine(a.Command), 60)}
	}
	return &call{action: action, command: command, run: func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error) {
		defer t.keepUnobserved(ctx, p, s)()
		c, again := command(s), ""
		if s.Trial != nil {
			var r Result
			var err error
			if r, again, err = s.Trial.keep(ctx, p, s, c); again == "" {
				r.Text += t.onHost(a.Command, r.Output)
				return r, err
			}
		}
		run := func(ctx context.Context, p sandbox.Policy, s Stage, c exec.Command) (Result, error) {
			return runShell(ctx, p, s, t.jobs, exec.Background{Command: c, Text: a.Command, In: s.in})
		}
		if a.Background {
			run = func(ctx context.Context, p sandbox.Policy, s Stage, c exec.Command) (Result, error) {
				return startBackground(ctx, p, s, t.jobs, exec.Background{Command: c, Text: a.Command, In: s.in}, wait)
			}
		}
		r, err := run(ctx, p, s, c)
		if again != "" && r.Warning == "" && !s.Trial.ahead {
			r.Warning = "The command ran again after the preview, because " + again + "."
		}
		if !p.Unconfined {
			r.Text += t.onHost(a.Command, r.Output)
		}
		return r, err
	}}, nil
}

// maxCommand is the longest argument that the kernel accepts (MAX_ARG_STRLEN), less its
// NUL.
const maxCommand = 128<<10 - 1

func shellTimeout(ms int, background bool) (time.Duration, error) {
	most := exec.MaxTimeout
	if background {
		most = exec.MaxBackground
	}
	if ms < 0 {
		return 0, fmt.Errorf("the argument \"timeout_ms\" must be positive, not %d", ms)
	}
	if ms > int(most/time.Millisecond) {
		return most, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// wish returns what the command asks for beyond the policy, with paths as written.
func (a *shellArguments) wish() (approvals.Wish, error) {
	add := a.Additional
	if add != nil && len(add.Write)+len(add.Read)+len(add.Hosts)+len(add.Sockets) == 0 {
		add = nil
	}
	w := approvals.Wish{Justification: strings.TrimSpace(a.Justification)}
	asked := a.Sandbox
	if a.Escalated {
		if asked != "" && asked != requireEscalated {
			return w, fmt.Errorf("with_escalated_permissions and sandbox_permissions %s contradict each other; leave with_escalated_permissions out", show(asked))
		}
		asked = requireEscalated
	}
	switch asked {
	case "", withAdditional:
	case useDefault:
		if add != nil {
			return w, fmt.Errorf("additional_permissions are given with sandbox_permissions %q; to ask for them write %q", useDefault, withAdditional)
		}
	case requireEscalated:
		w.Unsandboxed = true
	default:
		return w, fmt.Errorf("the argument \"sandbox_permissions\" must be %q, %q or %q, not %s", useDefault, withAdditional, requireEscalated, show(a.Sandbox))
	}
	if asked == withAdditional && add == nil {
		return w, fmt.Errorf("sandbox_permissions is %q, but additional_permissions names nothing; write for example {\"write\": [\"/absolute/path\"]}", withAdditional)
	}
	// Outside the sandbox everything is allowed, so other permissions are not needed.
	if add != nil && !w.Unsandboxed {
		w.Write, w.Read, w.Hosts, w.Sockets = add.Write, add.Read, add.Hosts, add.Sockets
	}
	if !w.Empty() && w.Justification == "" {
		return w, errors.New("permissions beyond the sandbox need a reason; add a \"justification\": one sentence for the user on why this command needs it")
	}
	return w, nil
}

// folder returns the working directory. It gives no permission: the write roots are the policy's
// wherever a command starts, and a command may change to any folder.
func (t *shellTool) folder(workdir string) (string, error) {
	if workdir == "" {
		return t.workspace, nil
	}
	dir, err := t.canonical(workdir)
	if err != nil {
		return "", fmt.Errorf("workdir: %w", err)
	}
	mode, err := t.files.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("workdir: there is no folder %s", t.show(dir))
	}
	if !mode.IsDir() {
		return "", fmt.Errorf("workdir: %s is not a folder", t.show(dir))
	}
	return dir, nil
}

// runShell runs a command in the foreground. The person may send it to the background.
func runShell(ctx context.Context, p sandbox.Policy, s Stage, jobs *exec.Jobs, b exec.Background) (Result, error) {
	var job *exec.Job
	var o exec.Outcome
	var err error
	sink := s.Output
	if b.Command.ErrSink != nil {
		sink = s.Stream("stdout")
	}
	trial := s.Lab.Begin()
	if jobs == nil {
		o, err = s.Exec.Run(ctx, p, b.Command, sink)
	} else {
		job, o, err = jobs.Run(ctx, p, s.inBackground(b), sink)
	}
	if job != nil {
		return runsOn(job, job.Read(ctx, exec.Wait{}), exec.Wait{}, false, "the user sent it to the background: it runs on"), nil
	}
	var unstarted *sandbox.StartError
	if errors.As(err, &unstarted) {
		return Result{}, err
	}
	if err == nil && o.Failed() && (jobs == nil || jobs.Running() == 0) {
		o.Verdict = trial.Verdict(ctx, p, b.Command, o, s.kept)
	}
	r := ran(o, o.Output.Text())
	if err != nil { // it ran, but something could not be restored afterwards
		r.Warning = err.Error()
		r.Text += "\n(" + r.Warning + ")"
	}
	return r, nil
}

// Ran is the result of a command that ran elsewhere.
func Ran(o exec.Outcome) Result { return ran(o, o.Output.Text()) }

// ran returns the result of a command that has ended.
func ran(o exec.Outcome, text string) Result {
	r := Result{
		Outcome: word.OK, Exit: o.Status.Exit, Signal: o.SignalName(),
		Output: text, Spill: o.Output.Spill, Duration: o.Duration,
		Verdict: o.Verdict, Limit: o.Limit, Changed: o.Changed,
	}
	how := fmt.Sprintf("exit status %d", o.Status.Exit)
	switch {
	case o.Interrupted:
		r.Outcome, how = word.Interrupted, "interrupted by the user and killed with all it had started,"
	case o.TimedOut:
		r.Outcome, how = word.TimedOut, "killed with all it had started, because its time was up (timeout_ms sets a longer limit),"
	case o.Status.Signal != 0:
		r.Outcome, how = word.Failed, fmt.Sprintf("ended by signal %d (%s)", o.Status.Signal, r.Signal)
	case o.Status.Exit != 0:
		r.Outcome = word.Failed
	}
	r.Failed = r.Outcome != word.OK
	if o.Limit != "" && o.Limit != sandbox.LimitWall {
		how += " (" + o.Limit.Words() + ")"
	}
	r.Message = strings.TrimSuffix(how, ",")
	r.Text = fmt.Sprintf("%s after %s\n", how, short.Duration(o.Duration)) + outputWords("output:", "(no output)", text)
	return r
}

// outputWords returns a command's output under its title, or none if there is no output.
func outputWords(title, none, text string) string {
	if text = exec.Shown(text); text == "" {
		return none
	}
	return title + "\n" + text
}
