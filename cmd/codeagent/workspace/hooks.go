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

// HookPolicy returns the policy of a hook where that of commands is p, which no answer of the user's
// has widened. Also where the commands of the model are not confined, a hook is, and then it only reads.
func (ws *Workspace) HookPolicy(p sandbox.Policy) (sandbox.Policy, error) {
	switch {
	case ws.confined == nil:
		return p, errors.New("no sandbox works here, and hooks run in one")
	case p.Unconfined:
		return ws.onlyRead()
	}
	return p, nil
}

// RunHook runs a hook under p, its HookPolicy. o may be nil. Its input is written while it runs; it
// need not read it.
func (ws *Workspace) RunHook(ctx context.Context, p sandbox.Policy, o sandbox.ChangeObserver, h hooks.Hook, stdin []byte) hooks.Exit {
	p = p.Clone()
	set := hooks.Variables(ws.Folder)
	maps.Copy(set, p.Env.Set)
	p.Env.Set = set
	in, write, err := os.Pipe()
	if err != nil {
		return hooks.Exit{Err: err}
	}
	defer in.Close()
	go func() { // ends with the command, whose end of the pipe is then closed
		_, _ = write.Write(stdin) // it may end without having read everything
		_ = write.Close()
	}()
	within, kill := context.WithCancel(ctx)
	defer kill()
	var e hooks.Exit
	out, err := ws.confined.Run(within, p, exec.Command{By: "a hook",
		Argv: []string{ws.Shell(), "-c", h.Command}, Dir: ws.Folder, Timeout: h.Timeout, Apart: true, Stdin: in, Observer: o,
		Tap: func(data []byte) {
			room := min(len(data), hooks.MaxOutput-len(e.Stdout))
			e.Stdout = append(e.Stdout, data[:room]...)
			if room < len(data) && !e.Flooded {
				e.Flooded = true
				kill()
			}
		},
	}, nil)
	e.Err, e.Stderr, e.Exit, e.TimedOut = err, out.Output.Errors, out.Status.Exit, out.TimedOut
	if out.Status.Signal != 0 {
		e.Signal = fmt.Sprintf("signal %d", out.Status.Signal)
	}
	for _, d := range out.Verdict.Needs() {
		e.Denied = append(e.Denied, string(d.Kind)+" "+d.Target)
	}
	if e.Flooded {
		e.Err = nil
	}
	return e
}
