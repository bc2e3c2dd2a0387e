package git

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/sandbox/protect"
)

// Threat: git continues what it has begun (rebase, am, cherry-pick, rerere) as files in the git directory
// say, whoever wrote them. At the owner's "git rebase --continue" the step "exec evil" runs, and of a strategy
// x/y the program git-merge-x/y; by an option git writes to any file, and by a path in MERGE_RR it copies any
// file to where commands read.

// state is such a file, relative to the git directory and folded, and what it may say.
type state struct {
	name  string
	check func(text, before string) error
}

var states = []state{
	{"rebase-merge/git-rebase-todo", checkSteps},
	{"rebase-merge/strategy", func(text, _ string) error { return checkStrategy(strings.TrimSpace(text)) }},
	{"rebase-apply/apply-opt", func(text, _ string) error { return checkApply(text) }},
	{"sequencer/opts", func(text, _ string) error { return checkOptions(text) }},
	{"merge_rr", func(text, _ string) error { return checkConflicts(text) }},
}

// steps are what a rebase does without a program, with their short names (git-rebase(1)).
var steps = strings.Fields("pick p revert edit e reword r fixup f squash s break b label l reset t merge m noop drop d update-ref u")

var errState = errors.New("not what git writes to such a file")

// State returns the git directory in which path would be such a file, or a folder of them.
func State(path string) (dir string, file bool) {
	if dir, s := stateAt(path, ""); s != nil {
		return dir, true
	}
	above, name := split(path)
	if slices.ContainsFunc(states, func(s state) bool { return strings.HasPrefix(s.name, protect.Fold(name)+"/") }) {
		return above, false
	}
	return "", false
}

func split(path string) (above, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// stateAt returns the state in whose place, with end after it, path would be in the git directory dir.
func stateAt(path, end string) (dir string, s *state) {
	folds := protect.Fold(path)
	i := slices.IndexFunc(states, func(s state) bool { return strings.HasSuffix(folds, "/"+s.name+end) })
	if i < 0 {
		return "", nil
	}
	for dir, s = path, &states[i]; strings.Count(path, "/")-strings.Count(dir, "/") <= strings.Count(s.name, "/"); {
		dir, _ = split(dir)
	}
	return dir, s
}

// Copy returns text as the index, the commondir of a worktree or the file of State at path gets it. It is an
// error if a state names what before, the text until then, did not.
func Copy(path string, text, before []byte) ([]byte, error) {
	_, name := split(path)
	_, s := stateAt(path, "")
	switch {
	case IsIndex(name):
		return copyIndex(text)
	case name == Commondir && string(text) == common:
		return text, nil
	case s == nil || s.name != "merge_rr" && bytes.ContainsRune(bytes.TrimRight(text, "\x00"), 0):
		return nil, errState
	}
	return text, s.check(string(text), string(before))
}

func checkSteps(text, before string) error {
	old := strings.Split(before, "\n")
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		if len(words) > 0 && letter(words[0][0]) && !slices.Contains(steps, words[0]) && !slices.Contains(old, line) {
			return fmt.Errorf("git runs a program by the step %.64q when somebody continues; take such steps in a clone in $TMPDIR, or run the program yourself", line)
		}
	}
	return nil
}

func checkStrategy(name string) error {
	if name == "ort" || name == "recursive" {
		return nil
	}
	return fmt.Errorf("git runs the program git-merge-%.64s when somebody continues; only ort and recursive are part of git itself", name)
}

// checkApply allows what git am passes on to git apply.
func checkApply(text string) error {
	for i, part := range strings.Split(strings.TrimSpace(text), "'") {
		name, _, _ := strings.Cut(part, "=")
		known := slices.Contains([]string{"--whitespace", "--directory", "--exclude", "--include", "--ignore-space-change", "--ignore-whitespace", "--reject"}, name)
		if quoted := i%2 == 1; quoted && !known && strings.Trim(part, "-Cp0123456789") != "" || !quoted && strings.TrimSpace(part) != "" {
			return errState
		}
	}
	return nil
}

func checkOptions(text string) error {
	options, err := Parse("", text)
	for _, o := range options {
		switch {
		case o.Name == "strategy" && checkStrategy(o.Value) != nil:
			return checkStrategy(o.Value)
		case o.Name == "strategy-option" && strings.Contains(o.Value, "="): // an option of read-tree, if the settings name a strategy
			return errState
		}
	}
	return err
}

// checkConflicts allows paths that git adds: the hash of a conflict, a tab and the path, each with a zero.
func checkConflicts(text string) error {
	for entry := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		if _, path, ok := strings.Cut(entry, "\t"); entry != "" && !(ok && added(path)) {
			return errState
		}
	}
	return nil
}
