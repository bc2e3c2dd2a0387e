package workspace

import (
	"context"

	"codeagent/config"
)

// Branch returns what is checked out in the folder, or "".
func (ws *Workspace) Branch(ctx context.Context) string {
	if !inRepository(ws.Folder) {
		return "" // no git needs to be started to learn that
	}
	name, err := ws.git.Branch(ctx, ws.Folder)
	if err != nil {
		return ""
	}
	return name
}

// inRepository reports whether git could find a repository that holds folder.
func inRepository(folder string) bool {
	_, is := config.TopOf(folder)
	return is
}
