package servers

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// The home of a server is its private folder. Beside what the system has installed it reads what is
// found here, as far as config.ServerPolicy lets it:
//
//	its program            the target of each link on the way, its interpreter, and what these are installed in
//	words and variables    an existing path, with the package that a file belongs to, or a program in PATH
//
// Threat: a project names ~/.codex as an argument, or has a link or a first line that leads there. So
// words and variables of a project open nothing, and a program is a file that may be executed, which no
// key is.

// finder collects paths.
type finder struct {
	ws       *workspace.Workspace
	ctx      context.Context
	ground   hostfile.Ground
	home     string   // canonical, as all homes here
	packages bool     // with packages, and not only what a program is installed in
	folders  []string // those of PATH that neither the system nor a command made
	found    []string
	seen     map[string]bool // words, and programs behind "#!"
}

// runtime returns what a server reads beside its private folder.
func runtime(ctx context.Context, ws *workspace.Workspace, home string, set server.Settings, program string) []string {
	f := finder{ws: ws, ctx: ctx, ground: ws.Ground(), home: home, packages: set.Origin != server.OfProject, seen: map[string]bool{}}
	for _, dir := range filepath.SplitList(ws.Stdio.Env("PATH")) {
		if _, err := f.ground.Private(dir); err == nil && filepath.IsAbs(dir) && !sandbox.CoveredBy(sandbox.SystemFolders, dir) {
			f.folders = append(f.folders, dir)
		}
	}
	f.program(program)
	for _, name := range []string{"/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt"} { // which some systems keep elsewhere
		real, err := sandbox.Canonical(ws.Files, "/", name)
		if dir := filepath.Dir(real); err == nil && filepath.Dir(dir) != "/" {
			real = dir // the file is replaced as the network changes
		}
		f.add(real)
	}
	// Of the excluded ones a server has its own.
	env := sandbox.Env{Exclude: []string{"HOME", "PWD", "TMPDIR", "XDG_*"}}
	if f.packages {
		env.Include, env.Set = set.Sandbox.Env, set.Env
		for _, text := range slices.Concat(set.Args, set.Needs) {
			f.words(text, f.word)
		}
	}
	for _, text := range env.Apply(ws.Stdio.Environ) {
		f.words(text, f.path)
	}
	return f.found
}

// words calls find with a text, what stands behind its first "=", and its words.
func (f *finder) words(text string, find func(string)) {
	_, value, _ := strings.Cut(text, "=")
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`=:,;|&<>()", r) })
	for _, word := range append(parts, text, value) {
		if !f.seen[word] {
			f.seen[word] = true
			find(word)
		}
	}
}

// word finds a path, or a program in PATH.
func (f *finder) word(name string) {
	f.path(name)
	if name == "" || strings.Contains(name, "/") {
		return
	}
	for _, dir := range f.folders {
		if _, err := f.ws.Files.Lstat(filepath.Join(dir, name)); err == nil {
			f.program(filepath.Join(dir, name))
		}
	}
}

// path finds an existing file or folder. A link that a command can have made does not choose it.
func (f *finder) path(name string) {
	if name = expanded(f.home, name); !filepath.IsAbs(name) {
		return
	}
	real, err := f.ground.Resolve("/", name)
	if err != nil || slices.Contains(sandbox.SharedTempFolders, real) {
		return
	}
	switch mode, err := f.ws.Files.Lstat(real); {
	case err != nil:
	case mode.IsDir():
		f.add(real)
	case mode.IsRegular():
		f.program(real) // if it is one
		f.packageOf(real)
		f.add(real)
	}
}

// program finds a program, its interpreter, and what they are installed in.
func (f *finder) program(name string) {
	way, err := sandbox.Way(f.ws.Files, "/", name)
	if err != nil {
		return
	}
	target := way[len(way)-1]
	if mode, err := f.ws.Files.Lstat(target); err != nil || !mode.IsRegular() || mode&0o111 == 0 || f.seen["#!"+target] {
		return
	}
	f.seen["#!"+target] = true
	f.add(target)
	for _, entry := range way {
		f.prefixOf(entry)
		f.packageOf(entry)
	}
	start, _ := hostfile.ReadStart(f.ctx, target, 256) // BINPRM_BUF_SIZE
	line, _, _ := strings.Cut(string(start), "\n")
	line, script := strings.CutPrefix(line, "#!")
	interpreter := strings.Fields(line)
	if !script || len(interpreter) == 0 {
		return
	}
	defer func(before bool) { f.packages = before }(f.packages)
	f.packages = f.packages && !f.ground.Covers(target) // a command can have written the line
	f.program(interpreter[0])
	for _, word := range interpreter[1:] {
		if filepath.Base(interpreter[0]) == "env" && !strings.Contains(word, "/") { // which looks for it in PATH
			f.word(word)
		}
	}
}

// prefixOf finds the installation of a file in PREFIX/bin. A prefix below the home folder may hold more than
// programs (~/.cargo/credentials, ~/.local/share/keyrings): of that it is what programs consist of.
func (f *finder) prefixOf(file string) {
	bin := filepath.Dir(file)
	prefix, parts := filepath.Dir(bin), []string{""}
	if sandbox.Covers(f.home, prefix) || sandbox.Covers(prefix, f.home) || slices.Contains(sandbox.SharedTempFolders, prefix) {
		parts = []string{"bin", "lib", "lib64", "libexec", "pyvenv.cfg"}
		if _, err := f.ws.Files.Lstat(filepath.Join(prefix, "pkg/tool")); err == nil { // a toolchain of Go, and nothing else
			parts = []string{""}
		}
	}
	for _, part := range parts {
		if filepath.Base(bin) == "bin" {
			f.add(filepath.Join(prefix, part))
		}
	}
}

// packageOf finds the package that a file belongs to, and the folders in which node looks for others.
func (f *finder) packageOf(file string) {
	is := func(path string) bool {
		_, err := f.ws.Files.Lstat(path)
		return err == nil
	}
	found := false
	for at := filepath.Dir(file); f.packages && filepath.Dir(at) != at && !slices.Contains(sandbox.SharedTempFolders, at) && !sandbox.Covers(at, f.home); at = filepath.Dir(at) {
		if !found && (is(filepath.Join(at, "package.json")) || is(filepath.Join(at, "pyproject.toml"))) {
			found = true
			f.add(at)
		}
		if modules := filepath.Join(at, "node_modules"); is(modules) {
			f.add(modules)
		}
	}
}

// add adds what a path leads to, unless the system has installed it.
func (f *finder) add(name string) {
	if real, err := sandbox.Canonical(f.ws.Files, "/", name); err == nil && !sandbox.CoveredBy(sandbox.SystemFolders, real) && !slices.Contains(f.found, real) {
		f.found = append(f.found, real)
	}
}

// showIn makes links in own, the home of a server, to what its settings name in the user's: programs look
// for it there, as for ~/.aws. What the server has put in such a place stays.
func showIn(own, home string, files sandbox.FileSystem, set server.Settings) error {
	root, err := hostfile.OpenRoot(own)
	if err != nil {
		return fmt.Errorf("its private folder: %w", err)
	}
	defer root.Close()
	names := slices.Concat(set.Sandbox.Write, set.Sandbox.Read)
	if set.Origin != server.OfProject {
		names = slices.Concat(names, words(set), set.Needs)
	}
	for i, name := range names {
		place := filepath.Clean(expanded(home, name))
		below, ok := strings.CutPrefix(place, home+"/")
		if _, err := files.Lstat(place); ok && (err == nil || i < len(set.Sandbox.Write)) {
			_ = root.MkdirAll(filepath.Dir(below), 0o700)
			_ = root.Symlink(place, below)
		}
	}
	return nil
}

// expanded returns a name with home in place of "~".
func expanded(home, name string) string {
	if below, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(home, below)
	}
	return name
}
