package lists

import (
	"context"
	"strings"
	"time"

	"codeagent/internal/short"
	"codeagent/tui/keys"
	"codeagent/tui/page"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Background are the jobs: commands that run in the background, and outputs. A
// BackgroundChanged is emitted whenever their number changes.
type Background interface {
	// List returns the jobs of the session, ended ones too, the newest first. It
	// reads memory only.
	List() []Job
	// Output is the end of a job's output, at most that many bytes.
	Output(id string, most int) ([]byte, error)
	// File fills data from byte at on of a file with the whole output of a command, of which the screen has
	// a part. It returns how much that was, less only at the end of the file, and the file's size.
	File(ctx context.Context, file string, data []byte, at int64) (n int, size int64, err error)
	// Kill ends a job with all its descendants, and returns when they are gone.
	Kill(ctx context.Context, id string) error
	// SendBack makes the commands that run in the foreground jobs, and returns how many there were. It does
	// not wait.
	SendBack() (int, error)
}

// SendBack sends what runs in the foreground to the background. The end of the call says what became of it.
func SendBack(jobs Background) part.Intent {
	if jobs == nil {
		return part.Say("nothing can run in the background here")
	}
	switch n, err := jobs.SendBack(); {
	case err != nil:
		return part.Say(err.Error())
	case n == 0:
		return part.Say("no command runs that could go to the background")
	}
	return nil
}

// Job is one command in the background.
type Job struct {
	ID, Command string
	Started     time.Time
	// Running: it has not ended. Otherwise End says how it ended ("exit 1", "killed
	// by SIGTERM") and Ended when. News: no turn has reported the end yet.
	Running bool
	// Killed: the person ended it.
	End          string
	Ended        time.Time
	News, Killed bool
	// Last is the last line of its output, and Ports are where the person reaches its ports.
	Last  string
	Ports []string
}

// tailBytes bounds what is shown of a job's output.
const tailBytes = 64 << 10

// OfJobs is /ps: the commands that run in the background.
func OfJobs(s part.Setting, jobs Background) *picker.Picker {
	p := picker.New(s.Keys, "Jobs in the background")
	p.None, p.Enter = "no command was started in the background", "shows its output"
	p.Changing = true
	p.List = func(context.Context) (rows []picker.Row, err error) {
		for _, c := range jobs.List() {
			rows = append(rows, picker.Row{Id: c.ID, Text: c.Command, About: "job " + c.ID + " · " + c.state(s.Now()), More: strings.Join(append(c.Ports, c.Last), "  "), Over: !c.Running})
		}
		return rows, nil
	}
	p.Choose = func(r picker.Row) part.Intent {
		output := page.Output(s.Keys, r.Text, func(context.Context) (string, error) {
			data, err := jobs.Output(r.Id, tailBytes)
			return string(data), err
		})
		output.Tails, output.Under = true, p
		return part.Show{Overlay: output}
	}
	p.Deeds = []picker.Action{{Do: keys.Remove, Help: "ends it", Asks: "End %s and all it started?", Fits: func(r picker.Row) bool { return !r.Over }, Change: func(ctx context.Context, r picker.Row, _ string) (string, error) {
		return "", jobs.Kill(ctx, r.Id)
	}}}
	return p
}

// state says whether a job runs, or how and when it ended.
func (c Job) state(now time.Time) string {
	switch d := now.Sub(c.Started).Truncate(time.Second); {
	case c.Running && d < time.Second:
		return "just started"
	case c.Running:
		return "running " + short.Duration(d)
	}
	return c.End + " · " + Ago(now.Sub(c.Ended))
}
