package workspace

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"codeagent/config"
	"codeagent/gitrun"
	"codeagent/internal/short"
	"codeagent/sandbox"

	"golang.org/x/sync/errgroup"
)

// mostGits is how many repositories are queried at the same time.
const mostGits = 4

// Trusted is what git trusts in the write roots, according to its settings.
type Trusted struct {
	Paths []string
	err   error
}

// Trust finds what the repositories that exist now trust. Without a git to ask, no git can
// run what they name either.
func (ws *Workspace) Trust(ctx context.Context) Trusted {
	roots := sandbox.PathsOf(ws.Policy.Write)
	if ws.Policy.Unconfined || len(roots) == 0 {
		return Trusted{}
	}
	trees := config.GitTrees(ctx, ws.Files, roots)
	answers, errs := make([][]string, len(trees)), make([]error, len(trees))
	home := gitrun.Home{Dir: ws.Stdio.Env("HOME"), XDG: ws.Stdio.Env("XDG_CONFIG_HOME")}
	var asking errgroup.Group
	asking.SetLimit(mostGits)
	for i, t := range trees {
		asking.Go(func() error {
			answers[i], errs[i] = ws.git.Trusted(ctx, gitrun.Tree(t), ws.Policy, home, ws.Files)
			return nil
		})
	}
	_ = asking.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, gitrun.ErrNoGit) })
	paths := slices.Concat(answers...)
	slices.Sort(paths)
	return Trusted{slices.Compact(paths), errors.Join(errs...)}
}

// TrustBeside runs Trust while the session starts. The returned function waits for the
// result: no command runs before it is known what git trusts.
func (ws *Workspace) TrustBeside(ctx context.Context) func() Trusted {
	return beside(ctx, ws, ws.Trust)
}

// CheckedOut asks git what is checked out while the session starts. The answer, or "", stays
// for the whole session: a changed prompt is not in the provider's cache.
func (ws *Workspace) CheckedOut(ctx context.Context) func() string {
	return beside(ctx, ws, func(ctx context.Context) string {
		status, err := ws.git.Status(ctx, ws.Folder)
		if err != nil {
			return ""
		}
		return status.String()
	})
}

// beside starts ask and returns a function that waits for its result. Close ends it.
func beside[T any](ctx context.Context, ws *Workspace, ask func(context.Context) T) func() T {
	ctx, cancel := context.WithCancel(ctx)
	get := sync.OnceValue(func() T { return ask(ctx) })
	go get() // ends with git, which has a time limit
	ws.closers = append(ws.closers, func() error {
		cancel()
		get()
		return nil
	})
	return get
}

// Words names the repositories for which it is not known, or "".
func (t Trusted) Words() string {
	if t.err == nil {
		return ""
	}
	return "cannot find out which files of the workspace git runs, so they are not protected: " + short.Cut(strings.ReplaceAll(t.err.Error(), "\n", "; "), mostReason)
}

// mostReason is how many characters of git's messages are shown: they can contain parts of
// files of the workspace.
const mostReason = 300

// Protect returns p with what git trusts protected.
func (t Trusted) Protect(p sandbox.Policy) sandbox.Policy {
	p = p.Clone()
	p.Protected.Paths = append(p.Protected.Paths, t.Paths...)
	return p
}
