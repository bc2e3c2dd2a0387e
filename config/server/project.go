package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// projectServer is one entry of a .mcp.json. Unknown keys belong to other programs and
// are skipped: nothing in such a file opens anything in the sandbox.
type projectServer struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	// Disabled is written by some editors.
	Disabled bool `json:"disabled"`
}

// mostProjectServers bounds the servers of one .mcp.json.
const mostProjectServers = 64

// OfFile reads the .mcp.json called name: the format of Claude Code and others (mcpServers), or that of
// VS Code (servers). It returns the servers that can be used, and an error that joins what is wrong with
// the others.
func OfFile(name string, data []byte) (map[string]Settings, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	fault := func(problem string) error { return fmt.Errorf("%s: %s", name, problem) }
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
		VSCode  map[string]json.RawMessage `json:"servers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fault(inWords(err))
	}
	if file.Servers == nil {
		file.Servers = file.VSCode
	}
	if file.Servers == nil {
		return nil, fault(`it names no servers: "mcpServers" is missing`)
	}
	if len(file.Servers) > mostProjectServers {
		return nil, fault(fmt.Sprintf("%d servers; at most %d are read", len(file.Servers), mostProjectServers))
	}
	out := map[string]Settings{}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(file.Servers)) {
		s, problem := serverOf(key, file.Servers[key])
		if problem == disabled {
			continue
		}
		if problem != "" {
			errs = append(errs, fault(problem))
			continue
		}
		out[key] = s
	}
	return out, errors.Join(errs...)
}

// inWords is an error of package json, without the types of Go.
func inWords(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &kind):
		return "not valid JSON: " + err.Error()
	case kind.Field == "":
		return "this is a JSON " + kind.Value + " and must be an object"
	}
	return quoted(kind.Field) + " cannot be a JSON " + kind.Value
}

// disabled is the problem of a server that its file does not want.
const disabled = "disabled"

// serverOf converts one entry, or says what is wrong with it.
func serverOf(name string, raw json.RawMessage) (Settings, string) {
	if bad := BadName(name); bad != "" {
		return Settings{}, bad
	}
	var p projectServer
	table := "the server " + quoted(name)
	if err := json.Unmarshal(raw, &p); err != nil {
		return Settings{}, table + ": " + inWords(err)
	}
	if p.Disabled {
		return Settings{}, disabled
	}
	switch p.Type {
	case "", "stdio", "http", "streamable-http", "streamableHttp":
	default:
		return Settings{}, table + " has the type " + quoted(p.Type) + "; codeagent uses servers of the types \"stdio\" and \"http\""
	}
	s := Settings{Command: literal(p.Command), Args: p.Args, Env: p.Env, URL: literal(p.URL), Headers: p.Headers, Origin: OfProject}
	texts := append([]string{p.Command, p.URL}, p.Args...)
	for i, arg := range s.Args {
		s.Args[i] = literal(arg)
	}
	for _, table := range []map[string]string{s.Env, s.Headers} {
		for key, value := range table {
			texts = append(texts, key, value)
			table[key] = literal(value)
		}
	}
	for _, t := range texts {
		if strings.ContainsFunc(t, unicode.IsControl) {
			return Settings{}, table + " has control characters in " + quoted(t)
		}
	}
	for _, err := range []error{CheckEnv(s.Env), CheckHeaders(s.Headers)} {
		if err != nil {
			return Settings{}, table + ": " + err.Error()
		}
	}
	if s.URL != "" {
		if err := CheckURL(s.URL); err != nil {
			return Settings{}, table + ": url: " + err.Error()
		}
	}
	return s.Complete(table)
}

// inBraces is a variable as a .mcp.json names it, or a dollar that means itself there.
var inBraces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}|\$`) })

// literal converts a text of a .mcp.json, where only ${NAME} is a variable, to one for Resolve.
func literal(text string) string {
	return inBraces().ReplaceAllStringFunc(text, func(found string) string {
		if found == "$" {
			return "$$"
		}
		return found
	})
}
