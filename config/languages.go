package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codeagent/config/server"
)

// diagnostics is the [diagnostics] table.
type diagnostics struct {
	Enabled bool `toml:"enabled"`
	// Switches says by name whether a server may be started; absent means that it may.
	Switches map[string]*bool `toml:"servers.NAME.enabled"`
	// Tables are the [diagnostics.servers.NAME] tables as written.
	Tables map[string]*LanguageServer `toml:"servers.NAME"`
}

// LanguageServer is a program that speaks the Language Server Protocol over its stdin and stdout.
type LanguageServer struct {
	Name       string
	Command    string   `toml:"command"`
	Args       []string `toml:"args"`
	Extensions []string `toml:"extensions"`
	// Language is that of all Extensions; empty: see Languages.
	Language string `toml:"language"`
	// Read are paths, absolute or with ~/ in front, and programs in PATH that the server starts.
	Read []string `toml:"read"`
	// Languages are the protocol's names of languages by extension.
	Languages map[string]string
	// Env are variables for it, and Inherited those of the user's that it gets.
	Env       map[string]string
	Inherited []string
	// Set: the settings name it.
	Set bool
}

// languageServers are the built-in ones.
var languageServers = []LanguageServer{
	{Name: "clangd", Command: "clangd", Args: []string{"--background-index=false", "--log=error", "-j=2"},
		Languages: map[string]string{".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp"}},
	// It has a cache of its own, and finds the modules that commands have fetched.
	{Name: "gopls", Command: "gopls", Read: []string{"go", "~/go/pkg/mod"}, Languages: map[string]string{".go": "go"},
		Env: map[string]string{"GOPROXY": "off"}, Inherited: []string{"GOPATH", "GOMODCACHE", "GOROOT", "GOFLAGS"}},
	{Name: "pyright", Command: "pyright-langserver", Args: []string{"--stdio"}, Read: []string{"node", "python3", "python"},
		Languages: map[string]string{".py": "python", ".pyi": "python"}, Inherited: []string{"VIRTUAL_ENV", "PYTHONPATH"}},
	{Name: "rust-analyzer", Command: "rust-analyzer", Read: []string{"cargo", "~/.cargo/registry", "~/.cargo/git", "~/.rustup"},
		Languages: map[string]string{".rs": "rust"}, Env: map[string]string{"CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": "$CODEAGENT_SERVER_DIR/target"}},
	{Name: "typescript", Command: "typescript-language-server", Args: []string{"--stdio"}, Read: []string{"node"},
		Languages: map[string]string{".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
			".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact"}},
}

// LanguageServers returns those that may be started, by name.
func (c Config) LanguageServers() []LanguageServer {
	if !c.Diagnostics.Enabled {
		return nil
	}
	all, off := map[string]LanguageServer{}, disabled(c.Diagnostics.Switches)
	for _, s := range languageServers {
		all[s.Name] = s
	}
	for name, own := range c.Diagnostics.Tables {
		s := all[name]
		s.Name = name
		all[name] = s.changed(*own)
	}
	maps.DeleteFunc(all, func(name string, s LanguageServer) bool { return off[name] || s.Command == "" })
	var out []LanguageServer
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

// changed returns s with what own sets.
func (s LanguageServer) changed(own LanguageServer) LanguageServer {
	if own.Command != "" {
		s.Command, s.Args = own.Command, nil
	}
	if own.Args != nil {
		s.Args = own.Args
	}
	if own.Extensions != nil || own.Language != "" {
		ends := own.Extensions
		if ends == nil {
			ends = slices.Collect(maps.Keys(s.Languages))
		}
		s.Languages = map[string]string{}
		for _, end := range ends {
			s.Languages[end] = cmp.Or(own.Language, s.Name)
		}
	}
	s.Read, s.Set = slices.Concat(s.Read, own.Read), true
	return s
}

// checkLanguages checks the tables of language servers that codeagent does not know.
func (c *Config) checkLanguages() error {
	var errs []error
	for name, own := range c.Diagnostics.Tables {
		table := "diagnostics.servers." + name
		known := slices.ContainsFunc(languageServers, func(s LanguageServer) bool { return s.Name == name })
		switch {
		case server.BadName(name) != "":
			errs = append(errs, &Error{c.under(table), "the name of a language server has letters, digits, - and single _, at most 32"})
		case !known && (own.Command == "" || own.Extensions == nil):
			errs = append(errs, &Error{c.under(table), fmt.Sprintf("[%s] needs a command and extensions: command = \"PROGRAM\", extensions = [\".end\"]", table)})
		}
	}
	return errors.Join(errs...)
}

func checkExtensions(list []string) error {
	for i, end := range list {
		if len(end) < 2 || !strings.HasPrefix(end, ".") || strings.Contains(end[1:], ".") || strings.Contains(end, "/") {
			return fmt.Errorf("element %d: %s is not the end of a file name; use one such as \".go\"", i+1, quoted(end))
		}
	}
	return nil
}
