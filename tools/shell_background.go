package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Times a call waits for a background command, and the silence after output that ends the
// wait: a tenth of it, so that a model that is ready to wait for long is not called for
// each line of a build.
const (
	startYield  = 5 * time.Second
	pollYield   = 5 * time.Second
	typedYield  = time.Second
	maxYield    = 10 * time.Minute
	leastQuiet  = 250 * time.Millisecond
	mostQuiet   = 30 * time.Second
	quietShare  = 10
	maxWaitText = 1000
)

// waitFor returns the wait that a call asks for.
func waitFor(yieldMS int, text string, unsaid time.Duration) (exec.Wait, error) {
	switch {
	case yieldMS < 0:
		return exec.Wait{}, fmt.Errorf("the argument \"yield_time_ms\" must be positive, not %d", yieldMS)
	case len(text) > maxWaitText:
		return exec.Wait{}, fmt.Errorf("the argument \"wait_for\" has %d bytes; at most %d are looked for", len(text), maxWaitText)
	}
	w := exec.Wait{Most: min(time.Duration(yieldMS)*time.Millisecond, maxYield), Text: text}
	if yieldMS == 0 {
		w.Most = unsaid
	}
	if text == "" {
		w.Quiet = min(max(w.Most/quietShare, leastQuiet), mostQuiet)
	}
	return w, nil
}

// wait returns the wait at the start of a background command.
func (a *shellArguments) wait(jobs *exec.Jobs) (exec.Wait, error) {
	switch {
	case a.Background && jobs == nil:
		return exec.Wait{}, errNoJobs
	case !a.Background && (a.TTY || a.YieldMS != 0 || a.WaitFor != ""):
		return exec.Wait{}, errors.New("\"tty\", \"yield_time_ms\" and \"wait_for\" go together with \"background\": true; to give a command more time set \"timeout_ms\"")
	}
	return waitFor(a.YieldMS, a.WaitFor, startYield)
}

var errNoJobs = errors.New("nothing can run in the background here")

func startBackground(ctx context.Context, p sandbox.Policy, s Stage, jobs *exec.Jobs, b exec.Background, w exec.Wait) (Result, error) {
	w.Sink = s.Output
	job, reading, err := jobs.Start(ctx, p, s.inBackground(b), w)
	if err == nil && !reading.Running {
		err = reading.Err
	}
	if err != nil {
		return Result{}, err
	}
	if !reading.Running {
		return ran(reading.Outcome, printed(reading, b.Terminal)), nil
	}
	return runsOn(job, reading, w, b.Terminal, "running in the background"), nil
}

// inBackground returns b with what a job of the call needs after the call.
func (s Stage) inBackground(b exec.Background) exec.Background {
	if s.Listens != nil {
		b.Listens = func(ctx context.Context, j *exec.Job, l sandbox.Listener) { s.Listens(ctx, j, l) }
	}
	b.Ended = func(o exec.Outcome) (changed sandbox.Changes) {
		if s.kept != nil { // for changes after this call
			s.kept.Settle()
			changed = s.kept.Changed()
		}
		if s.Ended != nil {
			s.Ended(ran(o, ""))
		}
		return changed
	}
	return b
}

// runsOn returns the result for a job that runs on after its call. how says why it is one.
func runsOn(job *exec.Job, reading exec.JobOutput, w exec.Wait, terminal bool, how string) Result {
	text := printed(reading, terminal)
	r := done("", fmt.Sprintf("running in the background (job %d)", job.ID()))
	r.goesOn(job.ID(), reading, text)
	r.Text = fmt.Sprintf("%s as job %d (session_id %d)\n%s%s", how, job.ID(), job.ID(), outputWords("output so far:", "(no output yet)", text), soFar(reading, w))
	return r
}

// goesOn fills in the result for a command that still runs. Denials are judged only when
// the command has ended.
func (r *Result) goesOn(id int, reading exec.JobOutput, text string) {
	r.Job, r.Running, r.Output, r.Spill = id, true, text, reading.Output.Spill
	if len(reading.Refused) > 0 {
		r.Verdict = sandbox.Verdict{Confidence: sandbox.NoConfidence, Evidence: sandbox.EvidencePartial, Denials: reading.Refused}
	}
}

// printed returns the output of a reading as text.
func printed(r exec.JobOutput, terminal bool) string {
	text := r.Output.Text()
	if terminal {
		return exec.ShownInTerminal(text)
	}
	return text
}

// soFar says that the event a running command was waited for has not come.
func soFar(r exec.JobOutput, w exec.Wait) string {
	if w.Text == "" || r.Found {
		return ""
	}
	return fmt.Sprintf("\n(%s has not appeared within %s)", show(w.Text), short.Duration(w.Most))
}

// read reads a job and returns the result.
func read(ctx context.Context, s Stage, job *exec.Job, w exec.Wait) Result {
	w.Sink = s.Output
	reading := job.Read(ctx, w)
	info := job.Info()
	text := printed(reading, info.Terminal)
	if reading.Running {
		state := fmt.Sprintf("job %d is running, for %s", info.ID, short.Duration(time.Since(info.Started)))
		r := done(state+"\n"+outputWords("new output:", "(no new output)", text)+soFar(reading, w), state)
		r.goesOn(info.ID, reading, text)
		return r
	}
	o := reading.Outcome
	r := done("", fmt.Sprintf("job %d ended: %s", info.ID, ending(o)))
	r.Job, r.Output, r.Spill, r.Exit, r.Signal = info.ID, text, reading.Output.Spill, o.Status.Exit, o.SignalName()
	r.Verdict, r.Limit, r.Changed = o.Verdict, o.Limit, o.Changed
	r.Text = fmt.Sprintf("%s, after %s\n%s", r.Message, short.Duration(o.Duration), outputWords("new output:", "(no new output)", text))
	if reading.Err != nil {
		r.Text += "\n(" + reading.Err.Error() + ")"
	}
	return r
}

// Ended returns the message, for the model and the user, about a background command that
// has ended by itself.
func Ended(info exec.Info) string {
	return fmt.Sprintf("job %d (%s) ended: %s", info.ID, oneLine(info.Text), ending(info.Outcome))
}

// Bounds of the output of a background command that is shown unasked.
const (
	unreadLines = 20
	unreadBytes = 4 << 10
)

// Unread returns the last unread lines of a background command; tail is the end of its
// output.
func Unread(info exec.Info, tail []byte) string {
	tail = tail[max(int64(len(tail))-info.Unread, 0):]
	tail = tail[max(len(tail)-unreadBytes, 0):]
	text := strings.ToValidUTF8(string(tail), "\uFFFD")
	if info.Terminal {
		text = exec.ShownInTerminal(text)
	}
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(len(lines)-unreadLines, 0):], "")
}

// ending returns in words how a background command ended.
func ending(o exec.Outcome) string {
	how := fmt.Sprintf("exit status %d", o.Status.Exit)
	switch {
	case o.Interrupted:
		return "killed with all it had started"
	case o.TimedOut:
		return "killed with all it had started, because its time was up"
	case o.Status.Signal != 0:
		how = fmt.Sprintf("signal %d (%s)", o.Status.Signal, o.SignalName())
	}
	if o.Limit != "" {
		how += " (" + o.Limit.Words() + ")"
	}
	return how
}
