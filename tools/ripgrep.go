package tools

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// ripgrepArguments make rg name the files of a folder in which a pattern matches, without what is
// below the folder. rg reads no configuration of the user and runs no other program (--pre is not
// given, and no configuration can add it). It only names files. The lines are found by the engine
// that a search without rg uses, so both give the same answer.
//
// Threat: rg opens .gitignore, .git and what they name whatever they are, and waits at a FIFO. So it
// reads no such file (--no-ignore); our own walk, which opens regular files alone, chooses what is
// searched.
var ripgrepArguments = []string{
	"--no-config", "--no-messages", "--color=never", "--files-with-matches", "--null", "--max-depth=1",
	"--hidden", "--no-ignore", "--no-follow",
	"--text", "--encoding=none", "--no-unicode", fmt.Sprintf("--max-filesize=%d", searchedFile),
}

// ripgrepFolders bounds the length of the folders that one run of rg gets, in bytes: a policy and a
// command line have to fit into 1 MiB together.
const ripgrepFolders = 128 << 10

// ripgrepTime is how long rg may take in all.
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

// ripgrepFiles runs rg in the sandbox, under a policy that writes nothing, and returns those of
// names that match, in their order.
func (t *searchTool) ripgrepFiles(ctx context.Context, p sandbox.Policy, s Stage, q query, names []string) ([]string, error) {
	ctx, enough := context.WithTimeout(ctx, ripgrepTime)
	defer enough()
	var folders []string
	seen := map[string]bool{}
	for _, name := range names {
		if dir := path.Dir(name); !seen[dir] {
			seen[dir] = true
			folders = append(folders, "./"+below(q.root, dir))
		}
	}
	matched := map[string]bool{}
	for len(folders) > 0 {
		n, size := 0, 0
		for n < len(folders) && size < ripgrepFolders {
			size += len(folders[n])
			n++
		}
		if err := t.ripgrepRun(ctx, p, s, q, folders[:n], matched); err != nil {
			return nil, err
		}
		folders = folders[n:]
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !matched[name] }), nil
}

// ripgrepRun adds the files right in folders that match.
func (t *searchTool) ripgrepRun(ctx context.Context, p sandbox.Policy, s Stage, q query, folders []string, matched map[string]bool) error {
	argv := append([]string{t.ripgrep}, ripgrepArguments...)
	argv = append(append(argv, "--regexp="+q.pattern, "--"), folders...)
	var part []byte // an incomplete name
	o, err := s.Exec.Run(ctx, p.OnlyRead(), exec.Command{Argv: argv, Dir: q.root, Timeout: ripgrepTime, Apart: true, Tap: func(data []byte) {
		part = append(part, data...)
		for {
			name, rest, whole := bytes.Cut(part, []byte{0})
			if !whole {
				return
			}
			matched[path.Join(q.root, string(name))] = true
			part = rest
		}
	}}, nil)
	if o.Output.Spill != "" { // a list of names is not kept
		hostfile.Remove(o.Output.Spill)
	}
	switch {
	case err != nil:
		return err
	case o.TimedOut, o.Interrupted, o.Status.Signal != 0, o.Status.Exit > 1:
		return fmt.Errorf("rg ended with %+v", o.Status)
	}
	return nil
}
