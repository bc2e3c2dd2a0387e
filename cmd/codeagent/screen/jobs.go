package screen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/exec"
	"codeagent/tui"
)

// backgroundCommands implements tui.Background for /ps.
type backgroundCommands struct{ ses *conversation.Session }

// List implements tui.Background.
func (b backgroundCommands) List() []tui.BackgroundCommand {
	var out []tui.BackgroundCommand
	for _, info := range b.ses.Jobs.List() {
		id := strconv.Itoa(info.ID)
		c := tui.BackgroundCommand{ID: id, Command: info.Text, Started: info.Started, Running: info.Running}
		if !info.Running {
			c.End, c.Ended, c.News = ending(info.Outcome), info.Started.Add(info.Outcome.Duration), !info.Reported
		}
		c.Last = lastLine(string(b.ses.Jobs.Output(info.ID)))
		out = append(out, c)
	}
	slices.Reverse(out)
	return out
}

// ending says in a word or two how a command ended.
func ending(o exec.Outcome) string {
	switch {
	case o.Interrupted:
		return "killed"
	case o.TimedOut:
		return "out of time"
	case o.Status.Signal != 0:
		return fmt.Sprintf("signal %d", o.Status.Signal)
	}
	return fmt.Sprintf("exit %d", o.Status.Exit)
}

// lastLine returns the last line of an output that is not blank.
func lastLine(output string) string {
	output = strings.TrimSpace(output)
	return strings.TrimSpace(output[strings.LastIndexAny(output, "\r\n")+1:])
}

// Output implements tui.Background.
func (b backgroundCommands) Output(id string, most int) ([]byte, error) {
	n, err := strconv.Atoi(id)
	if err != nil || b.ses.Jobs.Find(n) == nil {
		return nil, errors.New("the command is not remembered any more")
	}
	data := b.ses.Jobs.Output(n)
	return data[max(len(data)-most, 0):], nil
}

// Kill implements tui.Background.
func (b backgroundCommands) Kill(_ context.Context, id string) error {
	n, err := strconv.Atoi(id)
	if err != nil || !b.ses.Jobs.Kill(n) {
		return errors.New("it had ended already")
	}
	return nil
}
