package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"codeagent/config"
	"codeagent/gitrun"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// mostGits is how many repositories are asked about at the same time.
const mostGits = 4

// trusted is what git trusts in the write roots: its own settings say so.
type trusted struct {
	paths []string
	err   error
}

// trust finds what the repositories that stand there now trust. Where there is no
// git to ask, none is to run what they name either.
func (b *box) trust(ctx context.Context) trusted {
	var roots []string
	for _, root := range b.policy.Write {
		roots = append(roots, root.Path)
	}
	if b.policy.Unconfined || len(roots) == 0 {
		return trusted{}
	}
	trees := config.GitTrees(ctx, b.files, roots)
	answers, errs := make([][]string, len(trees)), make([]error, len(trees))
	home := gitrun.Home{Dir: b.s.Env("HOME"), XDG: b.s.Env("XDG_CONFIG_HOME")}
	var asking errgroup.Group
	asking.SetLimit(mostGits)
	for i, t := range trees {
		asking.Go(func() error {
			answers[i], errs[i] = b.git.Trusted(ctx, gitrun.Tree(t), b.policy, home, b.files)
			return nil
		})
	}
	_ = asking.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, gitrun.ErrNoGit) })
	paths := slices.Concat(answers...)
	slices.Sort(paths)
	return trusted{slices.Compact(paths), errors.Join(errs...)}
}

// trustBeside is trust while the session starts. What asks for the answer waits:
// no command runs before it is known what git trusts.
func (b *box) trustBeside(ctx context.Context) func() trusted {
	ctx, cancel := context.WithCancel(ctx)
	answer := make(chan trusted, 1)
	go func() { answer <- b.trust(ctx) }() // ends with git, which has a time limit, at the latest by close
	get := sync.OnceValue(func() trusted { return <-answer })
	b.closers = append(b.closers, func() error {
		cancel()
		get()
		return nil
	})
	return get
}

// words say for which repositories it is not known, "" if it is for all.
func (t trusted) words() string {
	if t.err == nil {
		return ""
	}
	return "not known what git runs from the workspace, and so not protected: " + short.Cut(strings.ReplaceAll(t.err.Error(), "\n", "; "), mostReason)
}

// mostReason is how many characters of git's own words are shown: they can name
// what a file of the workspace holds.
const mostReason = 300

// protect is p, with what git trusts protected.
func (t trusted) protect(p sandbox.Policy) sandbox.Policy {
	p = p.Clone()
	p.Protected.Paths = append(p.Protected.Paths, t.paths...)
	return p
}
