package conversation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// Temp is what commands of the session see as /tmp.
func Temp(ses *Session) workspace.Temp {
	private := slices.Contains(ses.Workspace.Enforcement.Active(), "mountns")
	return workspace.Temp{Policy: ses.Gate.Open, Private: private, Folder: ses.Workspace.Folder}
}

// Keep copies the files of the session's own /tmp to folder, or to the workspace if it is empty, and says so.
func Keep(ses *Session, folder string) (words string, err error) {
	folder = cmp.Or(folder, ses.Workspace.Folder)
	kept, err := Temp(ses).Keep(ses.Workspace.Ground(), folder)
	return "kept of the session's own /tmp in " + folder + ": " + visible.Line(cmp.Or(short.List(kept, mostLeft), "nothing")), err
}

// mostLeft bounds the files that are named.
const mostLeft = 8

// leftovers is a face that names at the end of a turn the files which the turn left in the session's own
// /tmp: the person would look for them in theirs.
type leftovers struct {
	Face
	ses   *Session
	known map[string]time.Time // when those that were named had been changed
}

func (l leftovers) Emit(e event.Event) {
	if _, over := e.(event.TurnFinished); over {
		var names []string
		for _, f := range Temp(l.ses).Files() {
			if !l.known[f.Name()].Equal(f.ModTime()) {
				names, l.known[f.Name()] = append(names, f.Name()), f.ModTime()
			}
		}
		if len(names) > 0 {
			l.Face.Emit(l.notice(names))
		}
	}
	l.Face.Emit(e)
}

func (l leftovers) notice(names []string) event.Notice {
	how := "--keep-temp FOLDER keeps them"
	if o := l.ses.Options; o.Attended {
		how = "/keep copies them to the workspace, from " + l.ses.Workspace.Policy.Temp
	} else if o.KeepTemp != "" {
		words, err := Keep(l.ses, o.KeepTemp)
		if err != nil {
			return event.Notice{Level: word.LevelError, Text: fmt.Sprintf("%s; not kept: %v", words, err)}
		}
		return event.Notice{Level: word.LevelInfo, Text: words}
	}
	list := visible.Line(short.List(names, mostLeft))
	return event.Notice{Level: word.LevelInfo, Text: "left in the session's own /tmp, which is removed at its end: " + list + " (" + how + ")"}
}
