package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
)

// Place is what a policy depends on beside the settings.
type Place struct {
	// Workspace is the folder the session works in.
	Workspace string
	// Home is the user's home folder; may be empty.
	Home  string
	Paths Paths
	// Own are codeagent's own binaries, absolute.
	Own []string
	// Temp is the session's private folder for temporary files; empty: none.
	Temp string
	// Program returns the file of the first of names that is installed, or "".
	Program func(names ...string) string
	// Files gives access to file metadata.
	Files sandbox.FileSystem
	// Ground is where commands of earlier sessions could change names: a path that gives
	// permissions must not lead through a link there.
	Ground hostfile.Ground
}

// Policy builds the policy that every command of a session starts from. All its paths are
// canonical. An error names the setting and says what to do.
func Policy(c Config, at Place) (sandbox.Policy, error) {
	b := newBuilder(c, at)
	temp, err := b.places()
	if err != nil {
		return sandbox.Policy{}, err
	}
	p, err := b.preset(temp)
	if err != nil {
		return sandbox.Policy{}, err
	}
	if p, err = b.complete(p); err != nil {
		return p, err
	}
	return p, cmp.Or(b.workdirs(&p), b.programs(&p))
}

// workdirs adds sandbox.allowed_workdirs, one of which must have the workspace.
func (b *builder) workdirs(p *sandbox.Policy) error {
	const key = "sandbox.allowed_workdirs"
	for _, name := range b.config.Sandbox.AllowedWorkdirs {
		dir, err := b.opened(name)
		if err != nil {
			return fmt.Errorf("%s (%s): %w", key, b.config.Origin(key), err)
		}
		p.Workdirs = append(p.Workdirs, dir)
	}
	if len(p.Workdirs) > 0 && !sandbox.CoveredBy(p.Workdirs, b.workspace) {
		return &WorkspaceError{fmt.Errorf("%s (%s) does not list the workspace %s", key, b.config.Origin(key), b.workspace)}
	}
	return nil
}

// allowedPrograms is the key of the programs that commands may start.
const allowedPrograms = "sandbox.allowed_programs"

// programs adds sandbox.allowed_programs. A file that commands can write may not be listed.
func (b *builder) programs(p *sandbox.Policy) error {
	files, err := b.listed()
	if err == nil && len(files) > 0 && p.Unconfined {
		err = fmt.Errorf("nothing enforces it with sandbox.mode = %q", FullAccess)
	}
	for _, file := range files {
		if err == nil && p.JudgeWrite(file).Allowed {
			err = fmt.Errorf("commands can write %s, and so choose what it does", file)
		}
	}
	if err != nil {
		return fmt.Errorf("%s (%s): %w", allowedPrograms, b.config.Origin(allowedPrograms), err)
	}
	p.Programs = files
	return nil
}

// listed returns the files of sandbox.allowed_programs, with the shell that runs the model's commands; nil without a list.
// A name that is not installed opens nothing.
func (b *builder) listed() (files []string, err error) {
	names := b.config.Sandbox.AllowedPrograms
	if len(names) == 0 {
		return nil, nil
	}
	for _, name := range append([]string{cmp.Or(b.at.Program("bash", "sh"), "/bin/sh")}, names...) {
		if path.Base(name) == name {
			name = b.at.Program(name)
		}
		if name == "" {
			continue
		}
		file, err := b.opened(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files, nil
}

type builder struct {
	config    Config
	at        Place
	workspace string
	home      string
}

func newBuilder(c Config, at Place) *builder {
	at.Files = newSnapshot(at.Files)
	return &builder{config: c, at: at}
}

// places resolves the folders that every policy depends on.
func (b *builder) places() (temp string, err error) {
	if b.workspace, err = b.folder("the workspace", b.at.Workspace); err != nil {
		return "", err
	}
	if b.at.Home != "" {
		if b.home, err = b.canonical(b.at.Home); err != nil {
			return "", fmt.Errorf("home folder: %w", err)
		}
	}
	if b.at.Temp == "" {
		return "", nil
	}
	return b.folder("the folder for temporary files", b.at.Temp)
}

// complete adds to the roots of p all else that the settings say, and what is always protected.
func (b *builder) complete(p sandbox.Policy) (sandbox.Policy, error) {
	s := b.config.Sandbox
	b.limits(&p.Limits, s.Limits)
	p.Env = environmentPolicy(s.Env, b.config.keyVariables())
	denied, err := b.config.hosts(denyHosts, s.DenyHosts)
	if err != nil {
		return sandbox.Policy{}, err
	}
	if p.Network.Deny = denied; p.Unconfined {
		return p, nil // fetch_url still refuses them
	}
	p.SharedTemp = s.Temp == "shared" && len(p.Write) > 0
	if p.Network, p.Sockets, err = b.network(); err != nil {
		return sandbox.Policy{}, err
	}
	if p.Network.Deny = denied; len(denied) > 0 && p.Network.Mode == sandbox.NetworkFull {
		return sandbox.Policy{}, fmt.Errorf("%s (%s): sandbox.network = \"full\" gives commands every host, and nothing denies one of them there; "+
			"list hosts in sandbox.allow_hosts in its place, or leave %s empty", denyHosts, b.config.Origin(denyHosts), denyHosts)
	}
	if err = b.denyRead(&p); err != nil {
		return sandbox.Policy{}, err
	}
	if err = b.protect(&p); err != nil {
		return sandbox.Policy{}, err
	}
	for _, root := range p.Write {
		top := root.Path
		if top == b.workspace {
			top, _ = TopOf(top)
		}
		p, _ = OpenWorktree(p, top) // the caller that reports the error calls OpenWorktree too
	}
	if err := p.Validate(); err != nil {
		return sandbox.Policy{}, fmt.Errorf("sandbox: %w", err)
	}
	return p, nil
}

func (b *builder) preset(temp string) (sandbox.Policy, error) {
	var p sandbox.Policy
	switch b.config.Sandbox.Mode {
	case FullAccess:
		return sandbox.FullAccess(), nil
	case ReadOnly:
		return sandbox.ReadOnly(), b.refuseDirs()
	case Strict:
		if temp == "" {
			return p, fmt.Errorf("sandbox.mode %q needs a folder for temporary files", Strict)
		}
		p = sandbox.Strict(b.workspace, temp)
		p.Protected.Names = protect.Names()
	case WorkspaceWrite:
		if err := b.checkRoot("the workspace", b.workspace); err != nil {
			return p, &WorkspaceError{err}
		}
		p = sandbox.WorkspaceWrite(b.workspace)
	default:
		return p, fmt.Errorf("bug: sandbox.mode is %q", b.config.Sandbox.Mode)
	}
	p.Temp = temp
	for _, dir := range b.config.Sandbox.AddDirs {
		root, err := b.addedDir(dir)
		if err != nil {
			return p, err
		}
		if err := b.checkRoot("sandbox.add_dirs", root.Path); err != nil {
			return p, err
		}
		if !slices.Contains(p.Write, root) {
			p.Write = append(p.Write, root)
		}
	}
	return p, b.addFiles(&p)
}

// addedDir resolves a folder of sandbox.add_dirs. One named in the file may be missing
// (`make clean`): it becomes an optional root that a command may create. One given on the
// command line must exist.
func (b *builder) addedDir(name string) (sandbox.Root, error) {
	root, err := b.folder("sandbox.add_dirs ("+b.config.Origin("sandbox.add_dirs").String()+")", name)
	if errors.Is(err, fs.ErrNotExist) && slices.Contains(b.config.fileDirs, name) {
		root, err = b.opened(name)
		return sandbox.Root{Path: root, Optional: true}, err
	}
	return sandbox.Root{Path: root}, err
}

// addFiles adds the single files of sandbox.add_files as optional roots: a file may be
// absent, and a backend leaves out what it cannot create. Of an absent one a command may make a
// folder, and the same setting must do afterwards: it then opens that folder.
func (b *builder) addFiles(p *sandbox.Policy) error {
	for _, name := range b.config.Sandbox.AddFiles {
		what := "sandbox.add_files (" + b.config.Origin("sandbox.add_files").String() + ")"
		file, err := b.opened(name)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		mode, err := b.at.Files.Lstat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if _, err := b.folder(what+": the folder of "+quoted(name), path.Dir(file)); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		case !mode.IsRegular() && !mode.IsDir():
			return fmt.Errorf("%s: %s is neither a file nor a folder", what, quoted(name))
		}
		if err := b.checkRoot("sandbox.add_files", file); err != nil {
			return err
		}
		for _, own := range b.at.Own {
			if made, err := b.canonical(own); err == nil && made == file {
				return fmt.Errorf("sandbox.add_files: %s belongs to codeagent itself and is never opened", quoted(name))
			}
		}
		if root := (sandbox.Root{Path: file, Optional: !mode.IsDir()}); !slices.Contains(p.Write, root) {
			p.Write = append(p.Write, root)
		}
	}
	return nil
}

// refuseDirs refuses added folders together with read-only. A settings file may list folders
// for later use with workspace-write, but both on one command line is a mistake.
func (b *builder) refuseDirs() error {
	for key, list := range map[string][]string{"sandbox.add_dirs": b.config.Sandbox.AddDirs, "sandbox.add_files": b.config.Sandbox.AddFiles} {
		if o := b.config.Origin(key); len(list) > 0 && o.typed() {
			return fmt.Errorf("%s: sandbox.mode %q writes nothing; leave %s out or use %q", o, ReadOnly, key, WorkspaceWrite)
		}
	}
	return nil
}

// folder resolves a folder that must exist.
func (b *builder) folder(what, name string) (string, error) {
	dir, err := b.opened(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	mode, err := b.at.Files.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if !mode.IsDir() {
		return "", fmt.Errorf("%s: %s is not a folder", what, quoted(name))
	}
	return dir, nil
}

// canonical resolves name: "~/x" is in the home folder, a relative path in the workspace.
func (b *builder) canonical(name string) (string, error) {
	name, err := b.expand(name)
	if err != nil {
		return "", err
	}
	return sandbox.Canonical(b.at.Files, cmp.Or(b.workspace, "/"), name)
}

// way is canonical with each link on the way.
func (b *builder) way(name string) ([]string, error) {
	name, err := b.expand(name)
	if err != nil {
		return nil, err
	}
	return sandbox.Way(b.at.Files, cmp.Or(b.workspace, "/"), name)
}

// opened resolves a path to which the settings or flags give access: a folder, a file or a
// socket. A link that a command made in an earlier session must not choose it.
func (b *builder) opened(name string) (string, error) {
	name, err := b.expand(name)
	if err != nil {
		return "", err
	}
	return b.at.Ground.Resolve(cmp.Or(b.workspace, "/"), name)
}

func (b *builder) expand(name string) (string, error) {
	rest, ok := strings.CutPrefix(name, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return name, nil
	}
	if b.at.Home == "" {
		return "", fmt.Errorf("%s: no home folder is known", quoted(name))
	}
	return b.at.Home + rest, nil
}

// secretPlaces are the usual paths of keys.
var secretPlaces = []string{
	"~/.ssh", "~/.aws", "~/.gnupg", "~/.azure", "~/.kube", "~/.docker/config.json", "~/.config/gcloud", "~/.config/gh/hosts.yml",
	"~/.netrc", "~/.git-credentials", "~/.config/git/credentials", "~/.npmrc", "~/.pypirc", "~/.cargo/credentials.toml", "~/.password-store",
	"**/.env", "**/.env.local", "**/.env.production",
}

func (b *builder) network() (n sandbox.Network, sockets []string, err error) {
	s := b.config.Sandbox
	if n.Hosts, err = b.config.hosts("sandbox.allow_hosts", s.AllowHosts); err != nil {
		return n, nil, err
	}
	if len(n.Hosts) > 0 {
		n.Mode = sandbox.NetworkAllow
	}
	for _, name := range s.AllowSockets {
		socket, err := b.opened(name)
		if err != nil {
			return n, nil, fmt.Errorf("sandbox.allow_sockets (%s): %w", b.config.Origin("sandbox.allow_sockets"), err)
		}
		if !slices.Contains(sockets, socket) {
			sockets = append(sockets, socket)
		}
	}
	if s.Network == "full" {
		n = sandbox.Network{Mode: sandbox.NetworkFull}
	}
	return n, sockets, nil
}

// denyRead makes the entries canonical, of a glob the part before its first component with a
// wildcard. Whether an entry is a glob depends on how it is written, not on the name of the
// workspace or of a link's target.
func (b *builder) denyRead(p *sandbox.Policy) error {
	entries := slices.Clone(b.config.Sandbox.DenyRead)
	if b.config.Sandbox.DenySecrets {
		for _, place := range secretPlaces {
			if b.at.Home != "" || !strings.HasPrefix(place, "~") {
				entries = append(entries, place)
			}
		}
	}
	for _, entry := range entries {
		make, list := b.canonical, &p.DenyRead
		if sandbox.IsGlob(entry) {
			make, list = b.glob, &p.DenyGlobs
		}
		made, err := make(entry)
		if err != nil {
			return fmt.Errorf("sandbox.deny_read (%s): %w", b.config.Origin("sandbox.deny_read"), err)
		}
		if !slices.Contains(*list, made) {
			*list = append(*list, made)
		}
	}
	return nil
}

func (b *builder) glob(entry string) (string, error) {
	full, err := b.expand(entry)
	if err != nil {
		return "", err
	}
	full = path.Clean(full)
	if !strings.HasPrefix(full, "/") {
		if strings.HasPrefix(full, "../") {
			return "", fmt.Errorf("glob %s leads out of the workspace: write it from / or ~/", quoted(entry))
		}
		return full, nil // matches at any depth
	}
	parts := strings.Split(full, "/")
	first := slices.IndexFunc(parts, sandbox.IsGlob)
	prefix := strings.Join(parts[:first], "/")
	if prefix == "" {
		return full, nil
	}
	if prefix, err = b.canonical(prefix); err != nil {
		return "", err
	}
	if sandbox.IsGlob(prefix) {
		return "", fmt.Errorf("glob %s cannot be used: the name of its folder %s contains wildcards", quoted(entry), quoted(prefix))
	}
	return path.Join(prefix, strings.Join(parts[first:], "/")), nil
}

// protect adds what stays read-only: the names and paths of the settings, the git directories
// of the roots, and codeagent's own files.
func (b *builder) protect(p *sandbox.Policy) error {
	if err := b.protectOwn(p); err != nil {
		return err
	}
	if err := b.hide(p); err != nil {
		return err
	}
	if len(p.Write) == 0 {
		return nil
	}
	if err := b.protectNamed(p); err != nil {
		return err
	}
	for _, root := range p.Write {
		if root.Optional {
			continue // a file, or absent: it contains no git directory
		}
		paths, err := gitPaths(b.at.Files, root.Path)
		if err != nil {
			return fmt.Errorf("the git directory of %s: %w", quoted(root.Path), err)
		}
		protectGit(p, paths)
	}
	return nil
}

// protectNamed adds the names and paths of the settings.
func (b *builder) protectNamed(p *sandbox.Policy) error {
	for _, name := range b.config.Sandbox.Protected {
		if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "~") {
			clean := path.Clean(name)
			if clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
				return fmt.Errorf("sandbox.protected (%s): %s: use a name inside the workspace, or a path from / or ~/", b.config.Origin("sandbox.protected"), quoted(name))
			}
			p.Protected.Names = append(p.Protected.Names, clean)
			continue
		}
		way, err := b.way(name)
		if err != nil {
			return fmt.Errorf("sandbox.protected (%s): %w", b.config.Origin("sandbox.protected"), err)
		}
		p.Protect("sandbox.protected names it", way...)
	}
	return nil
}

func (b *builder) limits(l *sandbox.Limits, set Limits) {
	for _, one := range []struct {
		to   *int64
		from int64
		unit int64
	}{
		{&l.WallMillis, set.WallSeconds, 1000}, {&l.CPUSeconds, set.CPUSeconds, 1}, {&l.CPUPercent, set.CPUPercent, 1}, {&l.Memory, set.MemoryMB, 1 << 20},
		{&l.Processes, set.Processes, 1}, {&l.OpenFiles, set.OpenFiles, 1}, {&l.FileSize, set.FileSizeMB, 1 << 20},
		{&l.Output, set.OutputMB, 1 << 20},
	} {
		if one.from != 0 {
			*one.to = one.from * one.unit
		}
	}
}

// EvidenceLevel returns the setting in the sandbox's type.
func (s Sandbox) EvidenceLevel() sandbox.EvidenceLevel {
	less := map[string]sandbox.EvidenceLevel{"network": sandbox.EvidenceNetworkOnly, "off": sandbox.EvidenceNothing}
	return cmp.Or(less[s.Evidence], sandbox.EvidenceFull)
}

// environmentPolicy returns the environment policy of commands. It excludes variables with the
// keys of providers, whatever their names, unless include names them.
func environmentPolicy(e Env, keys []string) sandbox.Env {
	keys = slices.DeleteFunc(keys, func(k string) bool { return slices.Contains(e.Include, k) })
	inherit := map[string]sandbox.EnvInherit{"core": sandbox.EnvCore, "all": sandbox.EnvAll, "none": sandbox.EnvNone}
	return sandbox.Env{Inherit: inherit[e.Inherit], Include: e.Include, Exclude: append(keys, e.Exclude...), Set: e.Set}
}

// MissingLayers lists the required layers that are not active.
func (s Sandbox) MissingLayers(e sandbox.Enforcement) []string {
	return slices.DeleteFunc(slices.Clone(s.RequiredLayers), func(layer string) bool { return slices.Contains(e.Active(), layer) })
}
