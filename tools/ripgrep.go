package tools

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// ripgrepArguments make rg name the files that our own walk would search: hidden ones too,
// and with .gitignore also outside a repository. rg reads no configuration of the user and
// runs no other program (--pre is not given, and no configuration can add it). It only names
// files. The lines are found by the engine that a search without rg uses, so both give the
// same answer.
var ripgrepArguments = []string{
	"--no-config", "--no-messages", "--color=never", "--files-with-matches", "--null", "--sort=path",
	"--hidden", "--glob=!.git", "--no-require-git", "--no-ignore-dot", "--no-ignore-global", "--no-follow",
	"--text", "--encoding=none", "--no-unicode", fmt.Sprintf("--max-filesize=%d", searchedFile),
}

// ripgrepTime is how long rg may take.
const ripgrepTime = time.Minute

// usable reports whether rg may be run under p for q: it exists, no command of the session
// could have written it, and it gives the pattern the same meaning.
func (t *searchTool) usable(p sandbox.Policy, q query) bool {
	if t.ripgrep == "" || !path.IsAbs(t.ripgrep) || !samePattern(q.pattern) {
		return false
	}
	real, err := sandbox.Canonical(t.files, "/", t.ripgrep)
	if err != nil {
		return false
	}
	return p.Unconfined || !p.JudgeWrite(real).Allowed
}

// samePattern reports whether rg's regular expressions give an RE2 pattern the same
// meaning. If rg refuses the pattern, it fails and our own search is used.
func samePattern(pattern string) bool {
	for i := range len(pattern) {
		if pattern[i] >= 0x80 {
			return false
		}
	}
	// rg has set operations and nesting inside [], word boundaries, and "{,n}"; in RE2 these
	// are plain characters.
	for _, s := range []string{"&&", "--", "~~", `\<`, `\>`, `\b{`, "{,"} {
		if strings.Contains(pattern, s) {
			return false
		}
	}
	return strings.Count(pattern, "[[") == strings.Count(pattern, "[[:")
}

// ripgrepFiles runs rg in the sandbox, under a policy that writes nothing, and returns the
// files that match, in order. It sets f.more if it stopped before the end.
func (t *searchTool) ripgrepFiles(ctx context.Context, p sandbox.Policy, s Stage, q query, f *found) ([]string, error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	read := &ripgrepOutput{query: q, policy: p, enough: enough}
	argv := append([]string{t.ripgrep}, ripgrepArguments...)
	argv = append(argv, "--regexp="+q.pattern, "--", ".")
	o, err := s.Exec.Run(ctx, p.OnlyRead(), exec.Command{Argv: argv, Dir: q.root, Timeout: ripgrepTime, Apart: true, Tap: read.take}, nil)
	if o.Output.Spill != "" { // a list of names is not kept
		hostfile.Remove(o.Output.Spill)
	}
	switch {
	case err != nil:
		return nil, err
	case read.full:
		f.more = true
		return read.files, nil
	case o.TimedOut, o.Interrupted, o.Status.Signal != 0, o.Status.Exit > 1:
		return nil, fmt.Errorf("rg ended with %+v", o.Status)
	}
	return read.files, nil
}

// ripgrepOutput parses names as they arrive: "./path NUL".
type ripgrepOutput struct {
	query  query
	policy sandbox.Policy
	enough context.CancelFunc

	part  []byte // an incomplete name
	files []string
	full  bool
}

// take parses output.
func (r *ripgrepOutput) take(data []byte) {
	if r.full {
		return
	}
	r.part = append(r.part, data...)
	for !r.full {
		name, rest, whole := bytes.Cut(r.part, []byte{0})
		if !whole {
			return
		}
		r.keep(strings.TrimPrefix(string(name), "./"))
		r.part = rest
	}
}

// keep records a file unless the glob or the policy excludes it.
func (r *ripgrepOutput) keep(name string) {
	p := path.Join(r.query.root, name)
	if !r.query.glob.match(name) || !r.policy.JudgeRead(p).Allowed {
		return
	}
	r.files = append(r.files, p)
	// Each file has at least one matching line, unless it turns out to be binary.
	if len(r.files) >= 2*r.query.max+50 {
		r.full = true
		r.enough()
	}
}
