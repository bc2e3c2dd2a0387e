package gitrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"codeagent/hostfile"
	"codeagent/internal/git"
	"codeagent/sandbox"
)

// A repository's configuration names programs for git to run and further files to
// include: core.hooksPath=.husky, include.path=../team.config, a filter's driver.
// If such a name leads into a write root, its target is as dangerous as a hook, when the user
// runs git there. So all settings are read, and every value is judged.
//
// Git itself is not asked: a command may have damaged the repository so that git does not
// recognise it, and may repair it in a later session. The files of the settings are enough.
// What cannot be read is an error, and the caller closes what it could name.

// Home locates the user's and the system's settings: the user's folder, the values of
// XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL and GIT_CONFIG_SYSTEM, and the program git.
type Home struct{ Dir, XDG, Global, System, Program string }

// Bounds of what is read of one repository. Beyond them it is closed.
const (
	readTime     = 2 * time.Second // /proc contains files that block
	mostSettings = 4 << 20         // bytes of one file
	mostFiles    = 200
	mostTrusted  = 1000    // paths
	mostValue    = 1 << 16 // bytes of one setting
	mostLooks    = 10_000  // components of names that are looked up
)

// Trusted lists the paths inside the write roots of p from which git takes programs or
// settings in the tree t. r reads file metadata. A file that is included under a condition
// that does not hold now (another branch) counts as well, since a command could make it hold.
func Trusted(ctx context.Context, t git.Tree, p sandbox.Policy, home Home, r sandbox.FileSystem) ([]string, error) {
	s := settingReader{ctx: ctx, files: r, home: home.Dir, seen: map[string]bool{}}
	for _, dir := range t.Dirs {
		for _, name := range git.Settings {
			if err := s.read(path.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	for _, file := range home.configFiles() {
		err := s.read(file)
		// Git ignores the user's settings if it may not read them. Commands can change
		// that only in a write root.
		if errors.Is(err, fs.ErrPermission) && !sandbox.CoveredBy(sandbox.PathsOf(p.Write), file) {
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	j := trustJudge{policy: p, files: r, home: home.Dir, tops: tops(t, s.settings)}
	for _, one := range s.settings {
		if len(one.Value) > mostValue {
			return nil, fmt.Errorf("%s: %s is longer than %d bytes", one.File, one.Name, mostValue)
		}
		switch j.judge(one); {
		case len(j.out) > mostTrusted:
			return nil, fmt.Errorf("git's settings name more than %d files", mostTrusted)
		case j.looks > mostLooks:
			return nil, fmt.Errorf("%s: git's settings name more than codeagent looks up", one.File)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return j.out, nil
}

// configFiles lists the files of the user's and the system's settings that git may read.
func (h Home) configFiles() []string {
	out := []string{h.System}
	if h.System == "" {
		out = []string{"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig", "/opt/local/etc/gitconfig",
			"/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig", "/Applications/Xcode.app/Contents/Developer/usr/share/git-core/gitconfig"}
		if h.Program != "" {
			out = append(out, path.Join(path.Dir(path.Dir(h.Program)), "etc/gitconfig"))
		}
	}
	switch {
	case h.Global != "":
		out = append(out, h.Global)
	case h.Dir != "":
		out = append(out, path.Join(h.Dir, ".gitconfig"), path.Join(h.Dir, ".config/git/config"))
	}
	if h.XDG != "" && h.Global == "" {
		out = append(out, path.Join(h.XDG, "git/config"))
	}
	return slices.DeleteFunc(out, func(file string) bool { return !path.IsAbs(file) })
}

// settingReader collects the settings of files and of those that they include.
type settingReader struct {
	ctx      context.Context
	files    sandbox.FileSystem
	home     string
	seen     map[string]bool // canonical paths
	settings []git.Setting
}

// read adds the settings of file; an absent one has none.
func (s *settingReader) read(file string) error {
	real, err := sandbox.Canonical(s.files, "/", file)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if s.seen[real] || real == "/dev/null" {
		return nil
	}
	if s.seen[real] = true; len(s.seen) > mostFiles {
		return fmt.Errorf("git's settings are in more than %d files", mostFiles)
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, readTime, fmt.Errorf("%s: %w", file, errTooLong))
	defer cancel()
	text, err := hostfile.Read(ctx, real, mostSettings)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	settings, err := git.Parse(file, string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	s.settings = append(s.settings, settings...)
	for _, one := range settings {
		if one.Includes() {
			if err := s.include(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// include reads the file that a setting includes, whatever the condition.
func (s *settingReader) include(one git.Setting) error {
	name := expand(strings.TrimPrefix(one.Value, ":(optional)"), s.home, "")
	switch {
	case name == "" || strings.HasPrefix(name, "%(prefix)/"):
		return nil // git's own folder, outside every write root
	case strings.HasPrefix(name, "~"):
		return fmt.Errorf("%s: codeagent cannot tell which file %q is", one.File, one.Value)
	case !path.IsAbs(name):
		// Not path.Join: a ".." after a link leads elsewhere.
		name = path.Dir(one.File) + "/" + name
	}
	return s.read(name)
}

// tops returns the folders where relative values start.
func tops(t git.Tree, settings []git.Setting) []string {
	var out []string
	if t.Top != "" {
		out = append(out, t.Top)
	}
	for _, s := range settings {
		if s.Key != "core.worktree" || len(t.Dirs) == 0 {
			continue
		}
		top := s.Value
		if !path.IsAbs(top) {
			top = path.Join(t.Dirs[0], top)
		}
		if !slices.Contains(out, top) {
			out = append(out, top)
		}
	}
	return out
}
