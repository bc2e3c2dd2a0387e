package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/config"
	"codeagent/gitrun"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/sandbox"

	"golang.org/x/sync/errgroup"
)

// mostGits is how many repositories are looked at at the same time, and trustTime how long: what
// is not known then is closed.
const (
	mostGits  = 4
	trustTime = 10 * time.Second
)

// GitTrust is what git trusts in the write roots, according to its settings.
type GitTrust struct {
	paths []string
	// links are what protected names lead to, and why that is protected.
	links map[string]string
	// closed are folders in which nothing may change, since it is not known what git trusts
	// there; why says so.
	closed []string
	why    string
	// shut lists the linked worktrees in which git cannot work, and why.
	shut []string
}

// Trust finds what the repositories that exist now trust, also those that git does not recognise.
func (ws *Workspace) Trust(ctx context.Context) GitTrust {
	return ws.trust(ctx, ws.Program("git"), ws.Policy)
}

// trust is Trust with the path of git, "" for none, and the policy.
func (ws *Workspace) trust(ctx context.Context, git string, p sandbox.Policy) GitTrust {
	roots := sandbox.PathsOf(p.Folders())
	if p.Unconfined || len(roots) == 0 {
		return GitTrust{}
	}
	trees, links := config.GitTrees(ctx, ws.Files, roots, p.Protected.Names)
	if made, err := hostfile.ReadRoots(ctx, ws.Paths.MadeGit); err == nil {
		ws.git.note(ctx, ws.Paths.Commits, trees, made, func() *gitrun.Git {
			if ws.git.Git == nil { // OpenForOne
				return ws.newGit(ws.used)
			}
			return ws.git.Git
		})
	}
	home := gitrun.Home{
		Dir: ws.Stdio.Env("HOME"), XDG: ws.Stdio.Env("XDG_CONFIG_HOME"), Global: ws.Stdio.Env("GIT_CONFIG_GLOBAL"),
		System: ws.Stdio.Env("GIT_CONFIG_SYSTEM"), Program: git,
	}
	ctx, cancel := context.WithTimeoutCause(ctx, trustTime, errors.New("there are too many settings to read them in time"))
	defer cancel()
	answers := make([][]string, len(trees))
	var asking errgroup.Group
	asking.SetLimit(mostGits)
	for i, t := range trees {
		if t.Err != nil {
			continue
		}
		asking.Go(func() error {
			answers[i], trees[i].Err = gitrun.Trusted(ctx, t.Tree, p, home, ws.Files)
			return nil
		})
	}
	_ = asking.Wait()
	out := GitTrust{paths: slices.Concat(answers...), links: links}
	for _, top := range roots {
		if top == ws.Folder {
			top, _ = config.TopOf(top)
		}
		if _, err := config.OpenWorktree(p, top); err != nil {
			out.shut = append(out.shut, err.Error())
		}
	}
	slices.Sort(out.paths)
	out.paths = slices.Compact(out.paths)
	for _, t := range trees {
		if t.Err != nil && !sandbox.CoveredBy(out.closed, t.Closed) {
			out.close(t)
		}
	}
	return out
}

// close closes a folder, and drops what lies in it.
func (t *GitTrust) close(tree config.GitTree) {
	inside := func(p string) bool { return sandbox.Covers(tree.Closed, p) }
	t.paths, t.closed = slices.DeleteFunc(t.paths, inside), append(slices.DeleteFunc(t.closed, inside), tree.Closed)
	if len(t.closed) == 1 {
		t.why = tree.Err.Error()
	}
}

// TrustBeside runs Trust while the session starts. The returned function waits for the
// result: no command runs before it is known what git trusts.
func (ws *Workspace) TrustBeside(ctx context.Context) func() GitTrust {
	git := ws.Program("git") // here: it reads Live, which the session sets meanwhile
	policy := ws.Policy      // the session protects more in it meanwhile
	return beside(ctx, ws, func(ctx context.Context) GitTrust { return ws.trust(ctx, git, policy) })
}

// CheckedOut asks git what is checked out while the session starts. The answer, or "", stays
// for the whole session: a changed prompt is not in the provider's cache.
func (ws *Workspace) CheckedOut(ctx context.Context) func() string {
	if !inRepository(ws.Folder) {
		return func() string { return "" }
	}
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
	ws.AtClose(func() error {
		cancel()
		get()
		return nil
	})
	return get
}

// Words says where commands may change nothing because of git, or "".
func (t GitTrust) Words() string {
	if len(t.closed) == 0 {
		return strings.Join(t.shut, "\n")
	}
	where := t.closed[0]
	if more := len(t.closed) - 1; more > 0 {
		where += fmt.Sprintf(" and in %d more folders", more)
	}
	closed := "commands may change nothing in " + where + ": cannot determine which programs git runs from there (" +
		short.Cut(strings.ReplaceAll(t.why, "\n", "; "), mostReason) + "). Repair it, and start again."
	return strings.Join(append([]string{closed}, t.shut...), "\n")
}

// mostReason is how many characters of the reason are shown: it can contain parts of files of
// the workspace.
const mostReason = 300

// Protect returns p with what git trusts protected. A closed folder stops being a write root.
func (t GitTrust) Protect(p sandbox.Policy) sandbox.Policy {
	p = p.Clone()
	p.Protect("git's settings name it", t.paths...)
	for file, why := range t.links {
		p.Protect(why, file)
	}
	for _, dir := range t.closed {
		shut := func(root sandbox.Root) bool { return sandbox.Covers(dir, root.Path) }
		before := p.Write
		p.Write = nil
		for _, root := range before {
			switch {
			case !shut(root):
				p.Write = append(p.Write, root)
			case len(p.Read) > 0:
				p.Read = append(p.Read, root)
				fallthrough
			default:
				p.WasWrite = append(p.WasWrite, root)
			}
		}
		if slices.ContainsFunc(p.Write, func(root sandbox.Root) bool { return sandbox.Covers(root.Path, dir) }) {
			p.Protect("it is not known which programs git runs from there", dir)
		}
	}
	return p
}
