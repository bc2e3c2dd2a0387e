package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"codeagent/model"
)

// commandMS is how long a command of the user's may take: as long as any.
const commandMS = 3_600_000

// Command runs a command that the user typed, in the sandbox and through the gate like one of
// the model's. It and its report are in the conversation as a note, which the model gets with
// the user's next message. The error is ErrBusy, or the context's cause.
func (a *Agent) Command(ctx context.Context, command string) error {
	if !a.turning.TryLock() {
		return ErrBusy
	}
	defer a.turning.Unlock()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	arguments, err := json.Marshal(map[string]any{"command": command, "timeout_ms": commandMS})
	if err != nil {
		return fmt.Errorf("the command: %w", err)
	}
	c := &toolCall{
		turn:  &turn{agent: a, stop: stop},
		model: model.ToolCall{ID: fmt.Sprintf("user-%d", len(a.History())), Name: "shell", Arguments: string(arguments)},
	}
	c.plan()
	res, err := c.contained(ctx)
	text, events := c.report(ctx, res, err)
	text = fmt.Sprintf("[The user ran this command, in the same sandbox as yours:]\n$ %s\n%s", command, text)
	a.append(model.Item{Kind: model.Note, Text: text, Carried: carried{Yes: c.yeses.list()}.keep(events)})
	for _, e := range events {
		a.emit(e)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ErrStopped) {
		return cause
	}
	return nil
}
