package servers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/config/server"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// box is where a server runs.
type box struct {
	policy sandbox.Policy // by the settings, without answers of the user
	argv   []string
	dir    string
	own    string // its private folder
	loads  bool   // commands can change what it loads
}

// ownFolder is the variable that names the private folder of a server.
const ownFolder = "CODEAGENT_SERVER_DIR"

// homeFolders are the variables that name folders of a home, and where they are in that of a server.
//
// Threat: what a server puts into the caches of the user, other programs would run outside of its sandbox.
var homeFolders = map[string]string{
	"HOME": "", "XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state",
}

// folder is the private folder of a server. Servers that a project or an editor names do not share
// one with the user's: names of servers have no dot.
//
// Threat: what one editor calls "files", another one calls another program, and each workspace has its
// own. A server would find what another one of its name keeps there, such as keys and caches of
// programs. So a server of an editor is known by its workspace and its command line.
func (s *Servers) folder(name string, of server.Settings) string {
	dir, workspace := s.options.Workspace.Paths.Servers, s.options.Workspace.Folder
	switch of.Origin {
	case server.OfProject:
		name += "." + digest(workspace)
	case server.OfEditor:
		return filepath.Join(dir, name+".editor", digest(append([]string{workspace, of.Command}, of.Args...)...))
	}
	return filepath.Join(dir, name)
}

// digest names a list of words.
func digest(words ...string) string {
	h := sha256.New()
	for i, w := range words {
		if i > 0 {
			h.Write([]byte{0}) // no path and no argument has one
		}
		h.Write([]byte(w))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// others are the homes of all servers but own: what lies beside it, and beside each folder that it lies in.
func (s *Servers) others(own string) (out []string, err error) {
	for dir := filepath.Dir(own); sandbox.Covers(s.options.Workspace.Paths.Servers, dir); dir = filepath.Dir(dir) {
		entries, err := hostfile.ReadDir(dir, -1)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); !sandbox.Covers(path, own) {
				out = append(out, path)
			}
		}
	}
	return out, nil
}

// prepare replaces the variables of the settings, and finds out what the server runs and may do.
func (m *member) prepare() error {
	ws := m.all.options.Workspace
	own := m.all.folder(m.name, m.configured)
	settings, err := ws.Config.Resolved(m.configured, func(name string) string {
		switch {
		case name == ownFolder:
			return own
		case name == "workspaceFolder" && m.configured.Origin == server.OfProject: // as VS Code has it
			return ws.Folder
		}
		return ws.Stdio.Env(name)
	})
	if err != nil {
		return err
	}
	var b box
	if !m.remote() {
		if !ws.Confines() {
			return errors.New("no sandbox works here, and MCP servers run in one")
		}
		if err = hostfile.MkdirAll(own, 0o700); err != nil {
			return fmt.Errorf("its private folder: %w", err)
		}
		if b, err = m.all.boxOf(settings, own); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.box, m.settings = b, settings
	return nil
}

// boxOf returns where a server with the settings s runs.
func (s *Servers) boxOf(set server.Settings, own string) (box, error) {
	ws := s.options.Workspace
	b := box{own: own, dir: own}
	if set.InWorkspace() {
		b.dir = ws.Folder
	}
	program, err := programOf(ws, set.Command)
	if err != nil {
		return b, err
	}
	b.argv = append([]string{program}, set.Args...)
	home, err := sandbox.Canonical(ws.Files, "/", cmp.Or(ws.Place.Home, "/"))
	if err == nil {
		err = showIn(own, home, ws.Files, set)
	}
	if err != nil {
		return b, err
	}
	reads := runtime(s.life, ws, home, set, program)
	b.loads = set.InWorkspace() || slices.ContainsFunc(reads, ws.Ground().Covers)
	set.Env = maps.Clone(set.Env)
	if set.Env == nil {
		set.Env = map[string]string{}
	}
	set.Env[ownFolder] = own
	for name, folder := range homeFolders {
		if _, ok := set.Env[name]; !ok && !slices.Contains(set.Sandbox.Env, name) {
			set.Env[name] = filepath.Join(own, folder)
		}
	}
	place := ws.Place
	place.Temp = "" // each start has one of its own
	if b.policy, err = config.ServerPolicy(ws.Config, place, set, own, reads); err != nil {
		return b, err
	}
	if s.options.Learn != nil { // which reads what no rule closes
		others, err := s.others(own)
		if err != nil {
			return b, err
		}
		b.policy.DenyRead = append(b.policy.DenyRead, others...)
	}
	if s.options.Trusted != nil {
		b.policy = s.options.Trusted(b.policy)
	}
	return b, nil
}

// programOf finds the program of a server. One in PATH must be where no command can have put it,
// because it gets the variables and hosts of the server. One with a folder in its name is what the
// user chose; Protect keeps commands from changing it. Its last link is not followed: the python of a
// virtual environment is a link, and finds its packages beside the link.
func programOf(ws *workspace.Workspace, command string) (string, error) {
	command = expanded(ws.Stdio.Env("HOME"), command)
	if strings.Contains(command, "/") {
		if !filepath.IsAbs(command) {
			command = filepath.Join(ws.Folder, command)
		}
		dir, err := sandbox.Canonical(ws.Files, ws.Folder, filepath.Dir(command))
		return filepath.Join(dir, filepath.Base(command)), err
	}
	program, err := ws.Ground().Program(ws.Stdio.Env("PATH"), command)
	var ground *hostfile.GroundError
	switch {
	case err != nil && strings.Contains(command, " "):
		err = fmt.Errorf("%w; arguments belong into args", err)
	case errors.As(err, &ground):
		err = fmt.Errorf("%w, so %s in PATH may be theirs; its whole path in command starts it all the same", err, short.Quote(command, 60))
	}
	return program, err
}

// Protect protects in p the files in write roots that the command lines of servers name, also behind
// the "=" of an option, and the links that lead to them: otherwise a command could change what a server
// does. What such files load in turn is not known.
func Protect(ws *workspace.Workspace, p sandbox.Policy, list map[string]server.Settings) sandbox.Policy {
	if len(list) == 0 || p.Unconfined {
		return p
	}
	p = p.Clone()
	for _, s := range list {
		resolved, err := ws.Config.Resolved(s, func(name string) string {
			if name == ownFolder {
				return ws.Paths.Servers // commands write nothing there anyway
			}
			return ws.Stdio.Env(name)
		})
		if err == nil { // else it does not start
			s = resolved
		}
		for _, name := range words(s) {
			p.ProtectFile(ws.Files, "the command of an MCP server names it", ws.Folder, expanded(ws.Stdio.Env("HOME"), name))
		}
	}
	return p
}

// words are the words of a command line, and the values of its options.
func words(s server.Settings) []string {
	out := append([]string{s.Command}, s.Args...)
	for _, arg := range s.Args {
		if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "-") {
			out = append(out, value)
		}
	}
	return out
}

// program says in one line what the server is.
func (m *member) program() string { return Program(m.configured) }

// Program says in one line what a server is: its command line, or its URL.
func Program(of server.Settings) string {
	if of.URL != "" {
		return visible.Line(of.URL)
	}
	words := []string{short.ShellWord(of.Command)}
	for _, arg := range of.Args {
		words = append(words, short.ShellWord(arg))
	}
	return visible.Line(short.Bound(strings.Join(words, " "), 2<<10))
}
