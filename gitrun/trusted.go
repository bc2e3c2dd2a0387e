package gitrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"codeagent/sandbox"
)

// A repository's configuration names programs for git to run and further files to
// include: core.hooksPath=.husky, include.path=../team.config, a filter's driver.
// If such a name leads into a write root, its target is as dangerous as a hook, when the user
// runs git there. So git itself lists, in the sandbox, all settings that it reads (listing
// settings starts nothing), and every value is judged.

// Tree is a repository to examine.
type Tree struct {
	// Top is the top of the work tree, where git runs the programs of its settings. It
	// is empty for a submodule's git directory, whose settings name the work tree.
	Top string
	// Dir is the git directory; "" if git finds it from Top.
	Dir string
}

// Home locates the user's own settings.
type Home struct{ Dir, XDG string }

// trustTime bounds one answer: an included file may be a FIFO without a writer.
const trustTime = 2 * time.Second

// setting is one value of the configuration that git reads.
type setting struct {
	// file holds the setting; "" if the setting is not from a file.
	file string
	// key is in lower case, except its middle part; name is its last part.
	key, name, value string
}

// mostIncluded bounds the included files that are listed separately.
const mostIncluded = 32

// Trusted lists the paths inside the write roots of p from which git takes programs or
// settings in the tree t. r reads file metadata. A file that is included under a condition
// that does not hold now (another branch) counts as well, since a command could make it hold.
func (g *Git) Trusted(ctx context.Context, t Tree, p sandbox.Policy, home Home, r sandbox.FileSystem) ([]string, error) {
	settings, err := g.configuration(ctx, t, home)
	if err != nil {
		return nil, err
	}
	j := trustJudge{policy: p, files: r, home: home.Dir, tops: t.tops(settings)}
	read := map[string]bool{} // true: git has listed it
	for _, s := range settings {
		read[s.file] = true
	}
	var errs []error
	asked := 0
	for i := 0; i < len(settings); i++ {
		j.judge(settings[i])
		file := j.included(settings[i])
		if file == "" || read[file] {
			continue
		}
		read[file] = true
		if asked++; asked > mostIncluded {
			continue
		}
		more, err := g.configuration(ctx, t, home, "--file", file)
		settings = append(settings, more...)
		errs = append(errs, err)
	}
	if asked > mostIncluded {
		errs = append(errs, fmt.Errorf("git config: %d included files, the first %d were read", asked, mostIncluded))
	}
	return j.out, errors.Join(errs...)
}

// configuration returns all settings that git reads in t, including the user's and the
// system's, or those that args select instead. If git cannot read the user's and the system's
// files it fails, and is run again without them.
func (g *Git) configuration(ctx context.Context, t Tree, home Home, args ...string) ([]setting, error) {
	own := g.o.Policy.Clone()
	own.Env.Set = maps.Clone(environment)
	dir := t.Top
	if t.Dir != "" {
		dir = t.Dir
		own.Env.Set["GIT_DIR"] = t.Dir
	}
	all := own.Clone()
	for _, name := range []string{"GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"} {
		delete(all.Env.Set, name)
	}
	all.Env.Set["HOME"] = home.Dir
	if home.XDG != "" {
		all.Env.Set["XDG_CONFIG_HOME"] = home.XDG
	}
	var errs []error
	for _, p := range []sandbox.Policy{all, own} {
		one := *g
		one.o.Policy, one.o.Timeout = p, min(g.o.Timeout, trustTime)
		text, cut, err := one.run(ctx, dir, nil, append([]string{"config", "--list", "--show-origin", "--includes", "-z"}, args...)...)
		if err == nil && cut {
			err = errors.New("git config: too many settings")
		}
		if err == nil {
			return parseSettings(text, dir), nil
		}
		errs = append(errs, err)
		// A FIFO that a command left among the files would block the second run as well: each
		// start would wait twice as long for every repository that has one.
		if ctx.Err() != nil || errors.Is(err, ErrNoGit) || errors.Is(err, errTooLong) {
			break
		}
	}
	return nil, fmt.Errorf("%s: %w", dir, errs[len(errs)-1])
}

// parseSettings reads "origin NUL key LF value NUL"; relative origins are below dir.
func parseSettings(text, dir string) []setting {
	var out []setting
	fields := strings.Split(text, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		kind, name, _ := strings.Cut(fields[i], ":")
		if kind == "command line" {
			continue // our own
		}
		s := setting{}
		if kind == "file" {
			if s.file = name; !path.IsAbs(name) {
				s.file = path.Join(dir, name)
			}
		}
		s.key, s.value, _ = strings.Cut(fields[i+1], "\n")
		s.name = strings.ToLower(s.key[strings.LastIndexByte(s.key, '.')+1:])
		out = append(out, s)
	}
	return out
}

// tops returns the folders where relative values start.
func (t Tree) tops(settings []setting) []string {
	var out []string
	if t.Top != "" {
		out = append(out, t.Top)
	}
	for _, s := range settings {
		if s.key == "core.worktree" && t.Dir != "" {
			top := s.value
			if !path.IsAbs(top) {
				top = path.Join(t.Dir, top)
			}
			out = append(out, top)
		}
	}
	return out
}
