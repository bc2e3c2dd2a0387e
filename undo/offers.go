package undo

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"codeagent/hostfile"
	"codeagent/internal/git"
	"codeagent/sandbox"
)

// Undo writes what the policy of its own run allows, not what a question or a flag granted
// during the turn. Other recorded changes are listed as closed, with the flags with which
// another run can restore them.

const (
	outsideUndo = "undo may not write it"
	folderShut  = "undo may not write in its folder"
)

// nameSuffices: the permission to write a file includes the permission to remove it.
const nameSuffices = runtime.GOOS == "darwin"

// MayChange returns why a policy does not allow a step, "" if it does.
func MayChange(p sandbox.Policy) func(Step) string {
	return func(s Step) string {
		switch j := p.JudgeWrite(s.Path); {
		case j.Allowed && s.InFolder() && !nameSuffices && !p.JudgeWrite(filepath.Dir(s.Path)).Allowed:
			return folderShut
		case j.Allowed:
			return ""
		case j.Kind == sandbox.KindWrite:
			return outsideUndo
		default:
			return "it is protected (" + j.Why() + ")"
		}
	}
}

// LeaveProtected moves the steps that no flag can open from Closed to NotKept.
func (p *Plan) LeaveProtected() {
	p.Closed = slices.DeleteFunc(p.Closed, func(c Obstacle) bool {
		protected := c.Why != outsideUndo && c.Why != folderShut
		if protected {
			p.NotKept = append(p.NotKept, Skip{Path: c.Path, Why: c.Why})
		}
		return protected
	})
	sortByPath(p.NotKept)
}

// LeaveRepositories removes from a plan the git repositories that the turn made, bare
// repositories and worktrees included. The sandbox protects the parts of a repository that
// make git run programs from every session except the one that made them, so undo could
// remove only half of it. Files around the repository can be removed.
func (p *Plan) LeaveRepositories() {
	made := map[string]bool{} // made by the turn, or put in place of something else
	for _, s := range p.Steps {
		made[s.Path] = s.Do == Remove || s.Do == Restore
	}
	var left []string
	leave := func(path, why string) {
		left = append(left, path)
		p.Conflicts = append(p.Conflicts, Skip{Path: path, Why: why})
	}
	for _, s := range p.Steps {
		folder := filepath.Dir(s.Path)
		has := func(name string) bool { return made[filepath.Join(folder, name)] }
		switch {
		case slices.ContainsFunc(left, func(repository string) bool { return sandbox.Covers(repository, s.Path) }):
		case s.Do == Remove && git.IsEntry(filepath.Base(s.Path)):
			leave(s.Path, "a repository is protected once the session that made it is over; rm -r removes it")
		case !git.IsMark(filepath.Base(s.Path)) || !git.Marked(has):
		case !has(git.Commondir):
			leave(folder, "a repository is protected once the session that made it is over; rm -r removes it")
		default: // branches and worktrees depend on the repository, so all of it stays
			leave(filepath.Dir(filepath.Dir(folder)), "what belongs to a worktree is protected once the session that made it is over; git worktree remove removes it")
		}
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool {
		return slices.ContainsFunc(left, func(repository string) bool {
			return sandbox.Covers(repository, s.Path) || s.Do == Remove && sandbox.Covers(s.Path, repository)
		})
	})
	sortByPath(p.Conflicts)
}

// openingMost is how many folders or files a suggested command names.
const openingMost = 4

// Opening returns the folders, or else the files, that must be writable to restore everything
// in Closed; neither if nothing helps. with returns the policy that adds them: the settings
// may refuse a folder, and protected paths inside it stay protected.
func (p *Plan) Opening(with func(dirs, files []string) (sandbox.Policy, error)) (dirs, files []string) {
	for _, c := range p.Closed {
		dir := filepath.Dir(c.Path)
		if c.Type == "folder" && !c.InFolder() {
			dir = c.Path
		}
		if dir = existing(dir); !slices.ContainsFunc(dirs, func(d string) bool { return sandbox.Covers(d, dir) }) {
			dirs = slices.DeleteFunc(dirs, func(d string) bool { return sandbox.Covers(dir, d) })
			dirs = append(dirs, dir)
		}
		if files = append(files, c.Path); len(dirs) > openingMost {
			return nil, nil
		}
	}
	opens := func(dirs, files []string) bool {
		policy, err := with(dirs, files)
		if err != nil || len(p.Closed) == 0 {
			return false
		}
		may := MayChange(policy)
		return !slices.ContainsFunc(p.Closed, func(c Obstacle) bool { return may(c.Step) != "" })
	}
	switch {
	case opens(dirs, nil):
		return dirs, nil
	case len(files) <= openingMost && opens(nil, files):
		return nil, files
	}
	return nil, nil
}

// existing returns the folder dir, or the nearest folder above it that exists.
func existing(dir string) string {
	for dir != "/" {
		if info, err := hostfile.Lstat(dir); err == nil && info.IsDir() {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// Reason returns why the step is closed. opened: a command of codeagent can allow it;
// otherwise another program may still help.
func (c Obstacle) Reason(opened bool) string {
	if !opened && c.Do == Remove && c.Type == "file" {
		return c.Why + "; remove it with rm"
	}
	return c.Why
}

// notedMost is how many files the note for the model names.
const notedMost = 20

// Left is how many entries were left as they are.
func (p *Plan) Left(r Report) int {
	return len(p.Conflicts) + len(p.NotKept) + len(p.Closed) + len(r.Failed)
}

// Note returns the message for the model about the restored files, or "".
func (p *Plan) Note(r Report) string {
	if len(r.Done) == 0 {
		return ""
	}
	var b strings.Builder
	words := "[The user undid what was changed after the message %q. These are as they were before:"
	if p.redo {
		words = "[The user took back the undoing of what was changed after the message %q. These are as they were before that:"
	}
	fmt.Fprintf(&b, words, p.Title)
	for _, s := range r.Done[:min(notedMost, len(r.Done))] {
		fmt.Fprintf(&b, "\n%s (%s)", strings.ToValidUTF8(s.Path, "\uFFFD"), s.Do)
	}
	if more := len(r.Done) - notedMost; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	if n := p.Left(r); n > 0 {
		fmt.Fprintf(&b, "\n%d others of that turn were left as they are.", n)
	}
	b.WriteString("\nRead files again before you change them.]")
	return b.String()
}
