// Package extensions reads what the user and trusted projects add to codeagent: hooks, skills, and
// the MCP servers of a project.
// It reads the user's own files through hostfile, and a project's through a file worker in the
// sandbox. A project's are read only where the user trusts its folder. Start reading at Read.
package extensions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/config/server"
	"codeagent/hooks"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/skills"
)

const (
	// timeLimit bounds the reading, so that a hanging file system does not block the start.
	timeLimit = 10 * time.Second
	// maxFile bounds a file of hooks, in bytes.
	maxFile = 1 << 20
	// mostEntries bounds the folder of skills, mostSkills and mostText what the model gets of it: every
	// request has these texts.
	mostEntries = 500
	mostSkills  = 100
	mostText    = 24 << 10
)

// Found is what was read.
type Found struct {
	Hooks  []hooks.Hook
	Skills []skills.Skill
	// Servers are the MCP servers of the project, by name. None has the name of one in the settings.
	// ServerFiles has the file of each.
	Servers     map[string]server.Settings
	ServerFiles map[string]string
	// Left says what is left out, and why. Untrusted is a sentence about what a project brings that is
	// not read; it may be empty.
	Left      []string
	Untrusted string
}

// Read reads the hooks and skills of a session in ws. They hold for the run: commands cannot write
// the folders of a project that bring them, and the user's own are outside every workspace.
func Read(ctx context.Context, ws *workspace.Workspace) Found {
	r := &reader{ws: ws}
	var end context.CancelFunc
	r.ctx, end = context.WithTimeout(ctx, timeLimit)
	defer end()
	r.configured(ws.Config)
	home := ws.Stdio.Env("HOME")
	own := []string{ws.Paths.Config}
	if filepath.IsAbs(home) {
		own = append(own, filepath.Join(home, ".agents"))
	}
	if filepath.IsAbs(home) && ws.Config.Extensions.Claude {
		claude := filepath.Join(home, ".claude")
		own = append(own, claude)
		r.hooks(filepath.Join(claude, "settings.json"), r.ownFile)
	}
	for _, dir := range own {
		r.skills(filepath.Join(dir, "skills"), r.ownFile)
	}
	r.project(own)
	r.out.Left = append(r.out.Left, r.bound()...)
	return r.out
}

type reader struct {
	only  string // the one name that is read of places; "": all
	ctx   context.Context
	ws    *workspace.Workspace
	out   Found
	files *workspace.ProjectFiles
}

func (r *reader) leave(format string, args ...any) {
	r.out.Left = append(r.out.Left, fmt.Sprintf(format, args...))
}

// configured adds the hooks of c: of config.toml and -c, or of a project's hooks.toml.
func (r *reader) configured(c config.Config) {
	for _, event := range hooks.Events() {
		list := c.Extensions.Hooks[string(event)]
		if list == nil {
			continue
		}
		place := c.Origin("hooks." + string(event)).String()
		for _, c := range *list {
			h, err := hooks.Hook{Event: event, Match: c.Match, Command: c.Command, Timeout: time.Duration(c.Seconds) * time.Second, Place: place}.Compile()
			if err != nil {
				r.leave("a hook of %s is left out: %v", place, err)
				continue
			}
			r.out.Hooks = append(r.out.Hooks, h)
		}
	}
}

// project adds what the project brings, from the root of its repository down to the workspace.
func (r *reader) project(own []string) {
	var present []string
	folders := workspace.ProjectFolders(r.ws.Folder)
	r.files = r.ws.ProjectFiles(r.ctx, r.ws.Policy, folders[0])
	defer r.files.Close()
	for _, dir := range folders {
		for _, name := range places(r.ws.Config.Extensions) {
			place := filepath.Join(dir, name)
			if r.only != "" && name != r.only {
				continue
			}
			if slices.ContainsFunc(own, func(o string) bool { return sandbox.Covers(o, place) }) {
				continue // the user's own, read already
			}
			if _, err := hostfile.Seen(place); err == nil {
				present = append(present, place)
			}
		}
	}
	if len(present) == 0 {
		return
	}
	trusted, err := r.trusts()
	if err != nil {
		r.leave("trusted_folders: %v", err)
	}
	var refused []string
	for _, place := range present {
		switch {
		case !trusted(place):
			refused = append(refused, place)
		case filepath.Base(place) == serverFile:
			r.servers(place)
		case filepath.Base(place) == "skills":
			r.skills(place, r.files.Read)
		default:
			r.hooks(place, r.files.Read)
		}
	}
	if len(refused) > 0 {
		servers := 0
		for _, place := range refused {
			if filepath.Base(place) == serverFile {
				servers++
			}
		}
		what := "hooks and skills"
		switch servers {
		case 0:
		case len(refused):
			what = "MCP servers"
		default:
			what = "hooks, skills and MCP servers"
		}
		r.out.Untrusted = fmt.Sprintf("%s of this project are not read: %s. To use them, name the folder in trusted_folders of config.toml", what, short.List(refused, 4))
	}
}

// places are the files and folders of a project that bring something.
func places(e config.Extensions) []string {
	out := []string{".codeagent/hooks.toml", ".codeagent/hooks.json", ".codeagent/skills", ".agents/skills", serverFile}
	if e.Claude {
		out = append(out, ".claude/settings.json", ".claude/settings.local.json", ".claude/skills")
	}
	return out
}

// trusts returns whether a path is in a trusted folder. No link that a command may have made gives
// trust.
func (r *reader) trusts() (func(string) bool, error) {
	var folders []string
	var errs error
	for _, name := range r.ws.Config.Extensions.Trusted {
		path := name
		if rest, ok := strings.CutPrefix(name, "~/"); ok || name == "~" {
			path = filepath.Join(r.ws.Stdio.Env("HOME"), strings.TrimPrefix(rest, "~"))
		}
		if !filepath.IsAbs(path) {
			errs = errors.Join(errs, fmt.Errorf("%s is not an absolute path", short.Quote(name, 80)))
			continue
		}
		made, err := r.ws.Ground().Resolve("/", path)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		folders = append(folders, made)
	}
	return func(place string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return sandbox.Covers(f, place) })
	}, errs
}

// hooks adds those of a file: hooks.toml has codeagent's format, any other that of Claude Code.
func (r *reader) hooks(file string, read func(string, int64) ([]byte, error)) {
	data, err := read(file, maxFile)
	switch {
	case absent(err):
		return
	case err == nil && int64(len(data)) == maxFile:
		err = fmt.Errorf("it is larger than %s", short.Size(maxFile))
	}
	if err != nil {
		r.leave("the hooks of %s do not apply: %v", file, err)
		return
	}
	if filepath.Ext(file) == ".toml" {
		c, err := r.ws.Config.HooksOf(file, data)
		if err != nil {
			r.leave("the hooks of this file do not apply: %v", err)
			return
		}
		r.configured(c)
		return
	}
	list, said, err := hooks.Claude(file, data)
	if err != nil {
		r.leave("the hooks of this file do not apply: %v", err)
		return
	}
	r.out.Hooks = append(r.out.Hooks, list...)
	for _, sentence := range said {
		r.leave("%s", sentence)
	}
}

// skills adds the skills of a folder. The folders of skills may be links where the file may be.
func (r *reader) skills(dir string, read func(string, int64) ([]byte, error)) {
	made, err := r.ws.Ground().Resolve("/", dir)
	if err != nil {
		r.leave("skills of %s: %v", dir, err)
		return
	}
	entries, err := hostfile.ReadDir(made, mostEntries+1)
	if absent(err) {
		return
	}
	if err != nil {
		r.leave("skills of %s: %v", dir, err)
		return
	}
	if len(entries) > mostEntries {
		r.leave("skills of %s: only %d of its entries are read", dir, mostEntries)
		entries = entries[:mostEntries]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		file := filepath.Join(dir, e.Name(), skills.FileName)
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if _, err := hostfile.Seen(file); absent(err) {
			continue
		}
		data, err := read(file, skills.MaxHead)
		if err != nil {
			r.leave("the skill %s is left out: %v", file, err)
			continue
		}
		s, err := skills.Parse(file, data)
		if err != nil {
			r.leave("a skill is left out: %v", err)
			continue
		}
		r.out.Skills = append(r.out.Skills, s)
	}
}

// bound keeps what the model can be given in every request. A skill of the project replaces one of
// the user's with the same name.
func (r *reader) bound() (left []string) {
	list := r.out.Skills
	r.out.Skills = nil
	for i, s := range list {
		after := slices.IndexFunc(list[i+1:], func(o skills.Skill) bool { return o.Name == s.Name })
		if after >= 0 {
			left = append(left, fmt.Sprintf("the skill %s is left out: %s has the same name", s.File, list[i+1+after].File))
			continue
		}
		r.out.Skills = append(r.out.Skills, s)
	}
	size := 0
	for i, s := range r.out.Skills {
		if size += len(s.Name) + len(s.Description) + len(s.File); i >= mostSkills || size > mostText {
			left = append(left, fmt.Sprintf("%s left out: together they may have %s, and there may be %d", short.Count(len(r.out.Skills)-i, "skill"), short.Size(mostText), mostSkills))
			r.out.Skills = r.out.Skills[:i]
			break
		}
	}
	return left
}

// ownFile reads the start of a file of the user's. The user's own links are followed, to a folder of
// dotfiles.
func (r *reader) ownFile(name string, most int64) ([]byte, error) {
	file, err := r.ws.Ground().Resolve("/", name)
	if err != nil {
		return nil, err
	}
	info, err := hostfile.Lstat(file)
	if err != nil {
		return nil, err
	}
	if err := workspace.OwnerTrusted(info, r.ws.Folder); err != nil {
		return nil, err
	}
	if filepath.Base(name) == skills.FileName {
		if err := workspace.MayRead(r.ws.Policy, file); err != nil { // the model reads a skill in the sandbox
			return nil, err
		}
	}
	return hostfile.ReadStart(r.ctx, file, most)
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
