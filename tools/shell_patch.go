package tools

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"codeagent/approvals"
	"codeagent/sandbox"
)

// Models that have learned to patch files through a shell write
//
//	cd DIR && apply_patch <<'EOF'
//	*** Begin Patch
//	…
//	EOF
//
// There is no such program. A command that is exactly this is planned as a call of
// apply_patch: each file is named, judged and shown, and no shell runs. Of the permissions
// the command asks for only the reason is kept, since the files show what is needed.

// patchHead matches the first line; the folder is a word that a shell would not change.
var patchHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^\s*(?:cd[ \t]+('[^'\n]*'|"[^"\n$` + "`" + `\\!]*"|[\w./@%+=:,][\w./@%+=:,-]*)[ \t]*&&\s*)?` +
			`apply_patch[ \t]*<<[ \t]*('\w+'|"\w+"|\w+)[ \t]*\n`)
})

// patchCommand is such a command, parsed.
type patchCommand struct {
	folder string // the argument of cd; empty without cd
	patch  string
}

// errPatchExpands: a shell would expand part of the patch to other text.
var errPatchExpands = errors.New("a shell would expand \"$\", \"`\" and \"\\\" in this patch; write <<'EOF' with the quotes, or call the tool apply_patch")

// asPatch parses a command that does nothing but apply a patch. It returns false for
// everything that it does not read exactly as a shell would.
func asPatch(command string) (patchCommand, bool, error) {
	m := patchHead().FindStringSubmatch(command)
	if m == nil {
		return patchCommand{}, false, nil
	}
	mark := strings.Trim(m[2], `'"`)
	var body strings.Builder
	rest := command[len(m[0]):]
	for {
		line, after, more := strings.Cut(rest, "\n")
		if line == mark {
			rest = after
			break
		}
		if !more {
			return patchCommand{}, false, nil // unterminated
		}
		body.WriteString(line + "\n")
		rest = after
	}
	if strings.TrimSpace(rest) != "" {
		return patchCommand{}, false, nil // the command continues
	}
	if mark == m[2] && strings.ContainsAny(body.String(), "$`\\") {
		return patchCommand{}, false, errPatchExpands
	}
	return patchCommand{folder: strings.Trim(m[1], `'"`), patch: body.String()}, true, nil
}

// planPatch plans the patch in the folder where the command would run.
func (t *shellTool) planPatch(c patchCommand, folder string, w approvals.Wish) (*call, error) {
	if c.folder != "" {
		dir, err := t.in(folder).canonical(c.folder)
		if err != nil {
			return nil, fmt.Errorf("cd: %w", err)
		}
		if mode, err := t.files.Lstat(dir); err != nil || !mode.IsDir() {
			return nil, fmt.Errorf("cd: there is no folder %s", t.show(dir))
		}
		folder = dir
	}
	planned, err := (&applyPatchTool{t.paths}).planIn(c.patch, folder, w.Justification)
	if err != nil {
		return nil, err
	}
	run := planned.run
	planned.run = func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error) {
		r, err := run(ctx, p, s)
		r.Text += "\n(apply_patch is a tool of its own: call it directly.)"
		return r, err
	}
	return planned, nil
}
