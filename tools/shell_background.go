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

// How long a call waits for a background command, and for how much silence after
// its output: a tenth of that, so that who is ready to wait for long is not called
// back for each line of a build.
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

// waitFor is the wait that a call asks for.
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

// wait is what the start of a background command waits for.
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
	if kept := s.kept; kept != nil {
		b.Ended = func() sandbox.Changes { // of what it changes after this call
			kept.Settle()
			return kept.Changed()
		}
	}
	job, reading, err := jobs.Start(ctx, p, b, w)
	if err == nil && !reading.Running {
		err = reading.Err
	}
	if err != nil {
		return Result{}, fmt.Errorf("shell: %w", err)
	}
	text := printed(reading, b.Terminal)
	if !reading.Running {
		return ran(reading.Outcome, text), nil
	}
	r := done("", fmt.Sprintf("running in the background (job %d)", job.ID()))
	r.goesOn(job.ID(), reading, text)
	r.Text = fmt.Sprintf("running in the background as job %d (session_id %d)\n%s%s", job.ID(), job.ID(), outputWords("output so far:", "(no output yet)", text), soFar(reading, w))
	return r, nil
}

// goesOn is what a result tells of a command that still runs. What it was refused
// is not judged before it has ended.
func (r *Result) goesOn(id int, reading exec.Reading, text string) {
	r.Job, r.Running, r.Output, r.Spill = id, true, text, reading.Output.Spill
	if len(reading.Refused) > 0 {
		r.Verdict = sandbox.Verdict{Confidence: sandbox.NoConfidence, Evidence: sandbox.EvidencePartial, Denials: reading.Refused}
	}
}

// printed is what a reading holds, as text.
func printed(r exec.Reading, terminal bool) string {
	text := r.Output.Text()
	if terminal {
		return terminalText(text)
	}
	return text
}

// soFar says of a command that goes on that what was waited for has not come.
func soFar(r exec.Reading, w exec.Wait) string {
	if w.Text == "" || r.Found {
		return ""
	}
	return fmt.Sprintf("\n(%s has not appeared within %s)", show(w.Text), short.Duration(w.Most))
}

// read is the result of reading a job.
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
	r.Job, r.Output, r.Spill, r.Exit, r.Signal = info.ID, text, reading.Output.Spill, o.Status.Exit, SignalName(o.Status.Signal)
	r.Verdict, r.Denied, r.Limit, r.Changed = o.Verdict, o.Verdict.Denied, o.Limit, o.Changed
	r.Text = fmt.Sprintf("%s, after %s\n%s", r.Message, short.Duration(o.Duration), outputWords("new output:", "(no new output)", text))
	if reading.Err != nil {
		r.Text += "\n(" + reading.Err.Error() + ")"
	}
	return r
}

// Ended is what the model and the user read about a background command that
// has ended by itself.
func Ended(info exec.Info) string {
	return fmt.Sprintf("background job %d (%s) ended: %s", info.ID, oneLine(info.Text), ending(info.Outcome))
}

// The last of what a background command printed, as far as it is shown unasked.
const (
	unreadLines = 20
	unreadBytes = 4 << 10
)

// Unread is the last lines of what a background command has printed and nobody
// has read; tail is the end of all it printed.
func Unread(info exec.Info, tail []byte) string {
	tail = tail[max(int64(len(tail))-info.Unread, 0):]
	tail = tail[max(len(tail)-unreadBytes, 0):]
	text := strings.ToValidUTF8(string(tail), "\uFFFD")
	if info.Terminal {
		text = terminalText(text)
	}
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(len(lines)-unreadLines, 0):], "")
}

// ending says in words how a background command ended.
func ending(o exec.Outcome) string {
	how := fmt.Sprintf("exit status %d", o.Status.Exit)
	switch {
	case o.Interrupted:
		return "killed with all it had started"
	case o.TimedOut:
		return "killed with all it had started, because its time was up"
	case o.Status.Signal != 0:
		how = fmt.Sprintf("signal %d (%s)", o.Status.Signal, SignalName(o.Status.Signal))
	}
	if o.Limit != "" {
		how += " (" + o.Limit.Words() + ")"
	}
	return how
}
