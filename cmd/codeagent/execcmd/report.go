package execcmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"codeagent/cmd/codeagent/cli"
	"codeagent/headless"
)

// report runs do with a printer, and reports an error of it there, also a panic: with JSON the
// last line says how the run ended, however it ended.
func report(ctx context.Context, s cli.Stdio, x flags, do func(context.Context, *headless.Printer) error) (err error) {
	// If the reader of stdout goes away, that is not an error of codeagent. Notify and not
	// Ignore: every command would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	if x.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, x.timeout, cli.ErrTimeLimit)
		defer cancel()
	}
	out, release := patiently(ctx, s.Out)
	defer release()
	p := headless.New(headless.Options{
		Out: out, Err: s.Err, Terminal: cli.IsTerminal(s.Out), JSON: x.json || x.plainJSON, Plain: x.plainJSON, Kind: kindOf, Color: x.colors(s), Detail: x.detail(),
	})
	defer func() {
		if v := recover(); v != nil {
			_, _ = s.Err.Write(debug.Stack()) // names of functions and addresses, no foreign text
			err = fmt.Errorf("%w: %v", errBug, v)
		}
		ended := cli.BySignal(ctx, err)
		if _, message, _ := cli.ExitOf(ended); message != "" {
			p.Fail(message, ended)
		}
	}()
	if err := x.check(); err != nil {
		return err
	}
	return do(ctx, p)
}
