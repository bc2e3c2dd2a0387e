package extensions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/hostfile"
	"codeagent/internal/short"
)

// serverFile is where a project names MCP servers, for codeagent and other agents. Commands cannot
// write it: see sandbox.ProtectedNames.
const serverFile = ".mcp.json"

// ServerFiles lists the files of a project around folder that name MCP servers. They are not read.
func ServerFiles(folder string) (out []string) {
	for _, dir := range workspace.ProjectFolders(folder) {
		if place := filepath.Join(dir, serverFile); present(place) {
			out = append(out, place)
		}
	}
	return out
}

func present(place string) bool {
	_, err := hostfile.Seen(place)
	return err == nil
}

// ReadServers is Read for the MCP servers of a project alone.
func ReadServers(ctx context.Context, ws *workspace.Workspace) Found {
	r := &reader{ws: ws, only: serverFile}
	var end context.CancelFunc
	r.ctx, end = context.WithTimeout(ctx, timeLimit)
	defer end()
	r.project(nil)
	return r.out
}

// servers adds the MCP servers of a trusted project's file. One in a folder closer to the workspace
// replaces one of the same name, but none replaces one of the settings.
func (r *reader) servers(file string) {
	data, err := r.files.Read(file, maxFile)
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
			r.out.Servers, r.out.ServerFiles = map[string]server.Settings{}, map[string]string{}
		}
		r.out.Servers[name], r.out.ServerFiles[name] = list[name], file
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
