package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/undo"
)

// Undoing writes what the policy of its own run lets it write, and not what a question
// or a flag opened while the turn ran: what is kept of the rest is named, with the
// command that puts it back.

const (
	outsideUndo = "it lies outside of what undoing may write"
	folderShut  = "the folder it lies in is outside of what undoing may write"
)

// mayChange says of a step why the policy does not let it be taken, "" if it does.
func mayChange(p sandbox.Policy) func(undo.Step) string {
	return func(s undo.Step) string {
		switch j := p.JudgeWrite(s.Path); {
		case j.Allowed && s.InFolder() && !nameSuffices && !p.JudgeWrite(filepath.Dir(s.Path)).Allowed:
			return folderShut
		case j.Allowed:
			return ""
		case j.Kind == sandbox.KindWrite:
			return outsideUndo
		default:
			return "it is protected (" + j.Rule + ")"
		}
	}
}

// nameSuffices: the permission for a file is one to remove it, too.
const nameSuffices = runtime.GOOS == "darwin"

// leaveProtected moves what no folder given to undo would open out of what one would.
func leaveProtected(p *undo.Plan) {
	p.Closed = slices.DeleteFunc(p.Closed, func(c undo.Closed) bool {
		protected := c.Why != outsideUndo && c.Why != folderShut
		if protected {
			p.NotKept = append(p.NotKept, undo.Left{Path: c.Path, Why: c.Why})
		}
		return protected
	})
	slices.SortFunc(p.NotKept, func(a, b undo.Left) int { return strings.Compare(a.Path, b.Path) })
}

// maxOpened is how many folders or files a command names that is to be typed.
const maxOpened = 4

// opening are the flags with which undo can put back all that is closed in p, "" where
// there are none. They are tried on the policy: the settings may refuse a folder, and
// what is protected in it stays that.
func (b *box) opening(p *undo.Plan) string {
	var dirs, files []string
	for _, c := range p.Closed {
		dir := filepath.Dir(c.Path)
		if c.Type == "folder" && !c.InFolder() {
			dir = c.Path
		}
		if dir = standing(dir); !slices.ContainsFunc(dirs, func(d string) bool { return sandbox.Covers(d, dir) }) {
			dirs = slices.DeleteFunc(dirs, func(d string) bool { return sandbox.Covers(dir, d) })
			dirs = append(dirs, dir)
		}
		if files = append(files, c.Path); len(dirs) > maxOpened {
			return ""
		}
	}
	cfg := b.cfg
	cfg.Sandbox.AddDirs = slices.Concat(b.cfg.Sandbox.AddDirs, dirs)
	if b.opensAll(cfg, p) {
		return flagged("--add-dir", dirs)
	}
	if len(files) > maxOpened {
		return ""
	}
	cfg = b.cfg
	cfg.Sandbox.AddFiles = slices.Concat(b.cfg.Sandbox.AddFiles, files)
	if b.opensAll(cfg, p) {
		return flagged("--add-file", files)
	}
	return ""
}

// opensAll reports whether nothing that is closed in p would be under cfg.
func (b *box) opensAll(cfg config.Config, p *undo.Plan) bool {
	policy, err := config.Policy(cfg, b.place)
	if err != nil || len(p.Closed) == 0 {
		return false
	}
	may := mayChange(policy)
	return !slices.ContainsFunc(p.Closed, func(c undo.Closed) bool { return may(c.Step) != "" })
}

// standing is the folder dir, or the nearest above it that is there.
func standing(dir string) string {
	for dir != "/" {
		if info, err := hostfile.Lstat(dir); err == nil && info.IsDir() {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// flagged writes a flag for each value, as a shell reads it.
func flagged(flag string, values []string) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, " %s %s", flag, approvals.ShellWord(v))
	}
	return b.String()
}

// whyClosed says of a step that no command of codeagent takes what else does.
func whyClosed(c undo.Closed, opening string) string {
	if opening == "" && c.Do == undo.Remove && c.Type == "file" {
		return c.Why + "; rm removes it"
	}
	return c.Why
}
