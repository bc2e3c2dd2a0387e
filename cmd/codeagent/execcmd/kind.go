package execcmd

import (
	"context"
	"errors"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/headless"
	"codeagent/model"
	"codeagent/sandbox"
)

// errBug is the error of a panic.
var errBug = errors.New("bug")

// lostAnswer says that the answer could not be written.
type lostAnswer struct{ error }

func (e lostAnswer) Unwrap() error { return e.error }

// kinds is the table from the errors that end a turn to their kinds.
var kinds = []struct {
	err  error
	kind headless.ErrorKind
}{
	{context.Canceled, headless.KindInterrupted},
	{agent.ErrStopped, headless.KindInterrupted},
	{cli.ErrTimeLimit, headless.KindTimeout},
	{context.DeadlineExceeded, headless.KindTimeout},
	{agent.ErrRefused, headless.KindRefused},
	{agent.ErrHooked, headless.KindRefused},
	{agent.ErrOutOfRequests, headless.KindLimit},
	{agent.ErrOutOfTokens, headless.KindLimit},
	{agent.ErrOutOfCost, headless.KindLimit},
	{agent.ErrTooLong, headless.KindContext},
	{agent.ErrCrowded, headless.KindContext},
	{agent.ErrLongMessage, headless.KindContext},
	{agent.ErrSmallModel, headless.KindContext},
	{agent.ErrSmallServer, headless.KindContext},
	{agent.ErrLargeImages, headless.KindContext},
	{agent.ErrEmpty, headless.KindAnswer},
	{agent.ErrCutOff, headless.KindAnswer},
	{agent.ErrFiltered, headless.KindAnswer},
	{agent.ErrBroken, headless.KindAnswer},
	{agent.ErrUnfit, headless.KindAnswer},
	{errNoReport, headless.KindAnswer},
	{errBug, headless.KindInternal},
}

// kindOf returns the kind of the error that ended a run.
func kindOf(err error) headless.ErrorKind {
	var (
		signal *cli.SignalError
		start  *sandbox.StartError
		failed *model.Error
		hint   *cli.HintError
		lost   lostAnswer
	)
	if errors.As(err, &signal) {
		return headless.KindInterrupted
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	switch {
	case errors.As(err, &failed):
		return providerKind(failed.Kind)
	case errors.As(err, &lost):
		return headless.KindOutput
	case errors.As(err, &start) && start.Code == sandbox.ExitCannotConfine:
		return headless.KindSandbox
	case errors.As(err, &hint) && hint.Code == cli.ExitUsage:
		return headless.KindUsage
	case errors.As(err, &hint) && hint.Code == cli.ExitSignIn:
		return headless.KindSignIn
	}
	return headless.KindOther
}

func providerKind(k model.ErrorKind) headless.ErrorKind {
	switch k {
	case model.SignIn:
		return headless.KindSignIn
	case model.RateLimited:
		return headless.KindRateLimit
	case model.NoQuota:
		return headless.KindQuota
	case model.Transport:
		return headless.KindUnreachable
	case model.ContextFull:
		return headless.KindContext
	}
	return headless.KindProvider
}
