package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"codeagent/internal/visible"
	"codeagent/sandbox"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit statuses of codeagent; `codeagent sandbox` returns the command's own.
const (
	ExitOK        = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitRefused   = 3   // a permission was refused because nobody could answer
	ExitSignIn    = 4   // no model, or the provider rejected the key
	ExitFindings  = 5   // a review found something
	ExitTimeLimit = 124 // as timeout(1)
	ExitHangup    = 128 + int(syscall.SIGHUP)
	ExitInterrupt = 128 + int(syscall.SIGINT)
	exitQuit      = 128 + int(syscall.SIGQUIT)
	ExitTerminate = 128 + int(syscall.SIGTERM)
)

// HintError has an exit status, and lines that say what to do.
type HintError struct {
	Err   error
	Code  int
	Hints []string
}

func (e *HintError) Error() string { return e.Err.Error() }
func (e *HintError) Unwrap() error { return e.Err }

// Hinted adds an exit status and hints to err.
func Hinted(code int, err error, hints ...string) error { return &HintError{err, code, hints} }

// Usage returns the error of a caller's fault: invalid arguments on the command line or in a
// settings file.
func Usage(err error, hints ...string) error { return Hinted(ExitUsage, err, hints...) }

// StatusError ends the program with a status and no message: everything has been
// printed, or the status is the command's own.
type StatusError int

func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// SignalError says that a signal ended the run.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return e.Signal.String() }

// ErrTimeLimit says that --timeout ended the run.
var ErrTimeLimit = errors.New("time limit reached")

// ExitOf is the one table from an error to a status, a message ("" for none)
// and lines that say what to do.
func ExitOf(err error) (code int, message string, hints []string) {
	var (
		status StatusError
		hint   *HintError
		sig    *SignalError
		start  *sandbox.StartError
		left   *sandbox.LeftError
	)
	switch {
	case err == nil:
		return ExitOK, "", nil
	case errors.As(err, &status):
		return int(status), "", nil
	case errors.As(err, &sig):
		if errors.As(err, &left) {
			hints = []string{left.Error()}
		}
		switch sig.Signal {
		case syscall.SIGTERM:
			return ExitTerminate, "terminated", hints
		case syscall.SIGHUP:
			return ExitHangup, "hung up", hints
		case syscall.SIGQUIT:
			return exitQuit, "quit", hints
		}
		return ExitInterrupt, "interrupted", hints
	case errors.As(err, &hint):
		return hint.Code, err.Error(), hint.Hints
	case errors.Is(err, ErrTimeLimit):
		return ExitTimeLimit, err.Error(), nil
	case errors.As(err, &start):
		return start.Code, err.Error(), nil
	case errors.Is(err, context.Canceled):
		return ExitInterrupt, "interrupted", nil
	}
	return ExitFailed, err.Error(), nil
}

// BySignal returns err, or a SignalError if a signal ended ctx, since the signal is then
// the cause of err. A sandbox.LeftError stays in the message.
func BySignal(ctx context.Context, err error) error {
	var sig *SignalError
	if err == nil || !errors.As(context.Cause(ctx), &sig) {
		return err
	}
	var left *sandbox.LeftError
	if errors.As(err, &left) {
		return errors.Join(sig, left)
	}
	return sig
}

// Report writes an error and its hints, one line each.
func Report(s Stdio, err error) int {
	code, message, hints := ExitOf(err)
	if message != "" {
		fmt.Fprintf(s.Err, "codeagent: %s\n", visible.Log(visible.Text(message)))
	}
	for _, h := range hints {
		fmt.Fprintf(s.Err, "  %s\n", visible.Log(visible.Text(h)))
	}
	return code
}

// InWords returns an error whose text includes the hints, for the screen.
func InWords(err error) error {
	var hinted *HintError
	if errors.As(err, &hinted) && len(hinted.Hints) > 0 {
		return fmt.Errorf("%w\n%s", err, strings.Join(hinted.Hints, "\n"))
	}
	return err
}

// caused is an error whose text begins with its reason: "no space left on device: write /x".
type caused struct {
	error
	reason error
}

func (c caused) Error() string {
	return c.reason.Error() + ": " + strings.TrimSuffix(c.error.Error(), ": "+c.reason.Error())
}

func (c caused) Unwrap() error { return c.error }

// StorageError begins with the reason, and adds what to do, if codeagent's own folders cannot be read or written.
// otherwise is what to do about any other error; none: that is returned as it is.
func StorageError(err error, otherwise ...string) error {
	var known *HintError
	if err == nil || errors.As(err, &known) {
		return err
	}
	for reason, hint := range map[error]string{
		syscall.ENOSPC: "make room on the disk", syscall.EDQUOT: "make room: the disk quota is used up",
		syscall.EROFS:   "its file system is read-only: make it writable, or name another folder for settings and sessions with CODEAGENT_HOME",
		syscall.EACCES:  "it must belong to you and be open to you: chown and chmod, or name another folder with CODEAGENT_HOME",
		syscall.ENOTDIR: "something else stands where a folder belongs: move it away, or name another folder with CODEAGENT_HOME",
	} {
		if errors.Is(err, reason) {
			return Hinted(ExitFailed, caused{err, reason}, hint)
		}
	}
	if len(otherwise) > 0 {
		return Hinted(ExitFailed, err, otherwise...)
	}
	return err
}

// Flags are what each command is called with: by the process, and by the flags that all commands share.
type Flags struct {
	Process                                   Process
	Sandbox, Backend, Approval, Model, Folder string
	// Profile is the NAME of a [profiles.NAME].
	Profile                     string
	AddDirs, AddFiles           []string
	Hosts, FetchHosts, Settings []string
	// Log names the file of the log, "-" for stderr; LogLevel names the level from which on events are logged.
	Log, LogLevel string
	// Draft is the draft that the session works on: NewDraft, an ID, or "" for the files.
	Draft string
	// DenyRead and Sockets are flags of `codeagent sandbox` only.
	DenyRead, Sockets []string
}

// NewDraft makes a draft.
const NewDraft = "new"

// DraftFlag declares --draft.
func DraftFlag(fl *pflag.FlagSet, f *Flags) {
	fl.StringVar(&f.Draft, "draft", "", "work on a draft: nothing is in your files before you keep it; =ID continues with that one")
	fl.Lookup("draft").NoOptDefVal = NewDraft
}

// ExplainArguments makes every command say which arguments it takes when it gets too many
// or too few.
func ExplainArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		ExplainArguments(sub)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var known *HintError
		if err == nil || errors.As(err, &known) {
			return err
		}
		return Usage(fmt.Errorf("%s: %w", cmd.CommandPath(), err), "usage: "+cmd.UseLine(), fmt.Sprintf("see %s --help", cmd.CommandPath()))
	}
}
