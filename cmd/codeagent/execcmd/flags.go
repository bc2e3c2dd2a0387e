package execcmd

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/exec"
	"codeagent/headless"
	"codeagent/hostfile"
)

// check checks what the flags' types cannot.
func (x flags) check() error {
	switch {
	case x.timeout < 0 || x.Bounds.Requests < 0 || x.Bounds.Tokens < 0 || !(x.Bounds.Cost >= 0 && x.Bounds.Cost < math.MaxFloat64):
		return cli.Usage(errors.New("--timeout, --max-turns, --max-tokens and --max-cost cannot be negative or infinite"),
			fmt.Sprintf("0 means no limit, for --max-turns the usual %d requests", agent.DefaultRequests))
	case x.quiet && x.verbose:
		return cli.Usage(errors.New("--quiet and --verbose exclude each other"))
	case x.color != "auto" && x.color != "always" && x.color != "never":
		return cli.Usage(fmt.Errorf("--color: invalid value %q; use auto, always or never", x.color))
	case x.onRefused != "continue" && x.onRefused != "stop":
		return cli.Usage(fmt.Errorf("--on-refused: invalid value %q; use continue or stop", x.onRefused))
	}
	return nil
}

func (x flags) detail() headless.Detail {
	switch {
	case x.quiet:
		return headless.Quiet
	case x.verbose:
		return headless.Verbose
	}
	return headless.Normal
}

// explain adds to the error of a turn that reached a bound how to continue.
func (x flags) explain(err error) error {
	if errors.Is(err, agent.ErrRefused) {
		return cli.Hinted(cli.ExitRefused, err, "--on-refused=continue lets the model work without it")
	}
	for bound, flag := range map[error]string{agent.ErrOutOfRequests: "--max-turns", agent.ErrOutOfTokens: "--max-tokens", agent.ErrOutOfCost: "--max-cost"} {
		if !errors.Is(err, bound) {
			continue
		}
		hints := []string{flag + " allows more"}
		if !x.Ephemeral {
			hints = append(hints, "codeagent exec resume --last PROMPT continues this session")
		}
		return cli.Hinted(cli.ExitFailed, err, hints...)
	}
	return err
}

// colors reports whether progress has colour.
func (x flags) colors(s cli.Stdio) bool {
	return x.color == "always" || x.color == "auto" && s.ErrColor()
}

// readsStdin reports whether the prompt comes from stdin, or continues there.
func (x flags) readsStdin(s cli.Stdio, args []string) bool {
	if len(args) == 0 {
		return x.stdin || x.review == nil && !cli.IsTerminal(s.In)
	}
	return x.stdin || args[0] == "-"
}

// warnUnread warns once of input that waits in a pipe on stdin and is not read: now, or when
// the returned function runs, since its writer may be slow. An open pipe without input is
// none: many programs start others with one.
func (x flags) warnUnread(s cli.Stdio, p *headless.Printer, args []string) func() {
	warned := x.readsStdin(s, args)
	warn := func() {
		if !warned && exec.Unread(s.In) {
			warned = true
			p.Warn("stdin has input that was not read: --stdin adds it to the prompt")
		}
	}
	warn()
	return warn
}

// keptIn returns the folder of --keep-temp, which must exist before the run begins.
func keptIn(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	folder, err := filepath.Abs(folder)
	if err == nil {
		_, err = hostfile.ReadDir(folder, 1)
	}
	if err != nil {
		return "", cli.Usage(fmt.Errorf("--keep-temp: %w", err))
	}
	return folder, nil
}
