package extensions

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"codeagent/config/server"
	"codeagent/internal/short"
)

// serverFile is where a project names MCP servers, for codeagent and other agents. Commands cannot
// write it: see sandbox.ProtectedNames.
const serverFile = ".mcp.json"

// servers adds the MCP servers of a trusted project's file. One in a folder closer to the workspace
// replaces one of the same name, but none replaces one of the settings.
func (r *reader) servers(file string) {
	data, err := r.projectFile(file, maxFile)
	if err == nil && int64(len(data)) == maxFile {
		err = fmt.Errorf("it is larger than %s", short.Size(maxFile))
	}
	if err != nil {
		r.leave("the MCP servers of %s are left out: %v", file, err)
		return
	}
	list, err := server.OfFile(file, data)
	for _, fault := range each(err) {
		r.leave("an MCP server is left out: %v", fault)
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if _, own := r.ws.Config.MCP.Servers[name]; own {
			r.leave("the MCP server %s of %s is left out: your settings have one of this name", name, file)
			continue
		}
		if r.out.Servers == nil {
			r.out.Servers = map[string]server.Settings{}
		}
		r.out.Servers[name] = list[name]
	}
}

// each returns the errors that err joins.
func each(err error) []error {
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &joined):
		return joined.Unwrap()
	}
	return []error{err}
}
