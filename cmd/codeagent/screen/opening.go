package screen

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/instructions"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/tui/home"
	"codeagent/tui/lists"
	"codeagent/tui/paint"
)

// mostLooked is how many sessions are looked at for the last one of the folder.
const mostLooked = 100

// firstEntry is what the first entry of the transcript shows.
func firstEntry(ses *conversation.Session, kept *sessionList, resumed bool) home.Facts {
	ws := ses.Workspace
	facts := home.Facts{Sandbox: commands.SandboxInShort(ses.Gate.Base(), len(ws.Config.Sandbox.AddDirs)+len(ws.Config.Sandbox.AddFiles))}
	if ses.Tour != nil {
		return facts
	}
	if ses.Servers != nil {
		for _, one := range ses.Servers.Status() {
			facts.Servers = append(facts.Servers, one.Name)
		}
	}
	if resumed {
		return facts
	}
	facts.Look = func(ctx context.Context) (found home.Found) {
		looked := 0
		for sum, err := range kept.store.List() {
			if looked++; err != nil || ctx.Err() != nil || looked > mostLooked {
				break
			}
			if sessionscmd.IsHere(sum, ws.Folder) && sum.Damaged == "" && !kept.isCurrent(sum.ID) {
				found.Last, found.Age = sum.Name(), lists.Ago(time.Since(sum.Used))
				break
			}
		}
		for _, at := range instructions.New(ws, nil, nil).Places() {
			if !at.New { // whether it is trusted is decided when it is read
				found.Instructions = append(found.Instructions, readable(ws, at.Path))
			}
		}
		return found
	}
	return facts
}

// readable is a path as the person reads it: from the workspace, or from home.
func readable(ws *workspace.Workspace, name string) string {
	if rel, err := filepath.Rel(ws.Folder, name); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return paint.Tilde(name, ws.Stdio.Env("HOME"))
}
