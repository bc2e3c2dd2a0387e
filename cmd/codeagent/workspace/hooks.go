package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"codeagent/exec"
	"codeagent/hooks"
	"codeagent/sandbox"
)

// RunHook runs a hook under p, which no answer of the user's has widened. Also where the commands of
// the model are not confined, a hook is, and then it only reads. Its input is written while it runs;
// it need not read it.
func (ws *Workspace) RunHook(ctx context.Context, p sandbox.Policy, h hooks.Hook, stdin []byte) hooks.Ended {
	if ws.confined == nil {
		return hooks.Ended{Err: errors.New("no sandbox works here, and hooks run in one")}
	}
	if p.Unconfined {
		var err error
		if p, err = ws.onlyRead(); err != nil {
			return hooks.Ended{Err: err}
		}
	}
	p = p.Clone()
	set := hooks.Variables(ws.Folder)
	maps.Copy(set, p.Env.Set)
	p.Env.Set = set
	in, write, err := os.Pipe()
	if err != nil {
		return hooks.Ended{Err: err}
	}
	defer in.Close()
	go func() { // ends with the command, whose end of the pipe is then closed
		_, _ = write.Write(stdin) // it may end without having read everything
		_ = write.Close()
	}()
	within, kill := context.WithCancel(ctx)
	defer kill()
	var e hooks.Ended
	o, err := ws.confined.Run(within, p, exec.Command{
		Argv: []string{ws.Shell(), "-c", h.Command}, Dir: ws.Folder, Timeout: h.Timeout, Apart: true, Stdin: in,
		Tap: func(data []byte) {
			room := min(len(data), hooks.MaxOutput-len(e.Stdout))
			e.Stdout = append(e.Stdout, data[:room]...)
			if room < len(data) && !e.Flooded {
				e.Flooded = true
				kill()
			}
		},
	}, nil)
	e.Err, e.Stderr, e.Exit, e.TimedOut = err, o.Output.Errors, o.Status.Exit, o.TimedOut
	if o.Status.Signal != 0 {
		e.Signal = fmt.Sprintf("signal %d", o.Status.Signal)
	}
	for _, d := range o.Verdict.Needs() {
		e.Denied = append(e.Denied, string(d.Kind)+" "+d.Target)
	}
	if e.Flooded {
		e.Err = nil
	}
	return e
}
