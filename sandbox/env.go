package sandbox

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// EnvInherit says which variables a command inherits from codeagent.
type EnvInherit string

const (
	// EnvCore inherits the variables in coreVariables. It is the zero value.
	EnvCore EnvInherit = ""
	// EnvAll inherits every variable that does not look like a secret.
	EnvAll EnvInherit = "all"
	// EnvNone inherits nothing.
	EnvNone EnvInherit = "none"
)

// Env is the policy for a command's environment. Variables whose names look like secrets are
// dropped unless Include names them exactly.
type Env struct {
	Inherit EnvInherit `json:"inherit,omitempty"`
	// Include adds variables by exact name, including secrets.
	Include []string `json:"include,omitempty"`
	// Exclude drops variables by glob, after Include.
	Exclude []string `json:"exclude,omitempty"`
	// Set are variables that the command always gets.
	Set map[string]string `json:"set,omitempty"`
}

// coreVariables are what programs need to find their files, user, language and terminal.
var coreVariables = []string{
	"HOME", "PATH", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "NO_COLOR", "USER", "LOGNAME",
	"SHELL", "TZ", "TMPDIR", "HOSTNAME", "PWD", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "CARGO_HOME", "RUSTUP_HOME",
	"NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV", "JAVA_HOME",
}

// secretPatterns match names whose values a command gets only if Include names them.
var secretPatterns = []string{"*KEY*", "*SECRET*", "*TOKEN*", "*PASSWORD*", "*PASSWD*", "*CREDENTIAL*", "*_HEADERS"}

// Apply computes the command's environment, sorted, from codeagent's own. It drops codeagent's own
// variables (CODEAGENT_*) and those that load foreign code into every program (LD_*, DYLD_*,
// BASH_ENV, ENV), unless Set has them.
func (e Env) Apply(environ []string) []string {
	vars := map[string]string{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && e.passes(name) {
			vars[name] = value
		}
	}
	maps.Copy(vars, e.Set)
	out := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

func (e Env) passes(name string) bool {
	switch {
	case matches([]string{"CODEAGENT_*", "LD_*", "DYLD_*", "BASH_ENV", "ENV", "BASH_FUNC_*"}, name), matches(e.Exclude, name):
		return false
	case slices.Contains(e.Include, name):
		return true
	case e.Inherit == EnvNone, SecretName(name):
		return false
	case e.Inherit == EnvAll:
		return true
	}
	return matches(coreVariables, name)
}

// SecretName reports whether the value of a variable of this name is probably a secret.
func SecretName(name string) bool { return matches(secretPatterns, strings.ToUpper(name)) }

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

func (e Env) validate() error {
	switch e.Inherit {
	case EnvCore, EnvAll, EnvNone:
	default:
		return fmt.Errorf("env inherit %q: want \"\" (core), \"all\" or \"none\"", e.Inherit)
	}
	for _, pattern := range e.Exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("env exclude %q: not a valid glob", pattern)
		}
	}
	for name, value := range e.Set {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) || !utf8.ValidString(name+value) {
			return fmt.Errorf("env set %q: not a variable that a program can be given", name)
		}
	}
	return nil
}

func (e Env) clone() Env {
	c := e
	c.Include = slices.Clone(e.Include)
	c.Exclude = slices.Clone(e.Exclude)
	c.Set = maps.Clone(e.Set)
	return c
}
