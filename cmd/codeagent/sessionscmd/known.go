package sessionscmd

import (
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	sessions "codeagent/session"
)

// mostKnown bounds the sessions that are offered.
const mostKnown = 100

// Known returns the sessions that were last used, those of this folder first: each as its ID, a
// tab and what it is about.
func Known(s cli.Stdio, f cli.Flags) ([]string, error) {
	store, err := Store(s)
	if err != nil {
		return nil, err
	}
	folder, err := workspace.Enter(s, f)
	if err != nil {
		return nil, err
	}
	var here, elsewhere []string
	seen := 0
	for sum, err := range store.List() {
		if seen++; err != nil || seen > mostKnown {
			break
		}
		if IsHere(sum, folder) {
			here = append(here, offered(sum, ""))
		} else {
			elsewhere = append(elsewhere, offered(sum, " in "+sum.Folder))
		}
	}
	return append(here, elsewhere...), nil
}

func offered(sum sessions.Summary, where string) string {
	return sum.ID + "\t" + visible.Line(short.Cut(sum.Name(), 50)+where)
}
