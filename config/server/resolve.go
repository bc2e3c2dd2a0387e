package server

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// reference is a variable in a value: $NAME, ${NAME} or ${NAME:-DEFAULT}; $$ is a dollar.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\$|\$([A-Za-z_][A-Za-z0-9_]*)|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)
})

// variablesIn returns the variables that a value names.
func variablesIn(value string) (out []string) {
	for _, m := range reference().FindAllStringSubmatch(value, -1) {
		if name := m[1] + m[2]; name != "" {
			out = append(out, name)
		}
	}
	return out
}

// WithoutVariables returns what a value holds beside the variables that it names.
func WithoutVariables(value string) string { return reference().ReplaceAllString(value, "") }

// Variables returns the variables that may hold keys of s: those of its URL and headers.
func (s Settings) Variables() []string {
	out := variablesIn(s.URL)
	for _, v := range s.Headers {
		out = append(out, variablesIn(v)...)
	}
	return out
}

// Resolve replaces the variables that Env, URL and Headers name, and for a server of a project
// also those of Command and Args. A variable that is not set is an error, unless a default stands
// beside it. closed are variables with the keys of model providers: what a project wrote may not
// name them.
func (s Settings) Resolve(getenv func(string) string, closed []string) (Settings, error) {
	r := resolver{getenv: getenv}
	if s.Origin == OfProject {
		r.closed = closed
		s.Command, s.Args = r.expand("command", s.Command), slices.Clone(s.Args)
		for i, arg := range s.Args {
			s.Args[i] = r.expand("args", arg)
		}
	}
	s.Env, s.URL, s.Headers = r.table("env", s.Env), r.expand("url", s.URL), r.table("headers", s.Headers)
	return s, errors.Join(r.errs...)
}

// resolver replaces variables in texts.
type resolver struct {
	getenv func(string) string
	closed []string
	errs   []error
}

func (r *resolver) table(where string, values map[string]string) map[string]string {
	out := maps.Clone(values)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out[key] = r.expand(where+"."+key, values[key])
	}
	return out
}

func (r *resolver) expand(where, value string) string {
	return reference().ReplaceAllStringFunc(value, func(ref string) string {
		m := reference().FindStringSubmatch(ref)
		name := m[1] + m[2]
		switch {
		case name == "":
			return "$"
		case slices.Contains(r.closed, name):
			r.errs = append(r.errs, fmt.Errorf("%s names %s, which holds the key of a model provider: a project's file may not", where, quoted(name)))
			return ""
		}
		set := r.getenv(name)
		if set == "" && m[3] == "" {
			r.errs = append(r.errs, fmt.Errorf("%s names the variable %s, which is not set", where, quoted(name)))
		}
		return cmp.Or(set, strings.TrimPrefix(m[3], ":-"))
	})
}
