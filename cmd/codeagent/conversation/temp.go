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
	"codeagent/sandbox"
)

// Temp is what commands of the session see as /tmp.
func Temp(ses *Session) workspace.Temp {
	private := slices.Contains(ses.Workspace.Enforcement.Active(), "mountns")
	still := func(do func()) { do() }
	if b, ok := ses.Workspace.Offered.(sandbox.Stiller); ok {
		still = b.Still
	}
	return workspace.Temp{Policy: ses.Gate.Open, Private: private, Folder: ses.Workspace.Folder, Still: still}
}

// Keep copies what is in the session's own /tmp to folder, or to the workspace if it is empty, and says so.
func Keep(ses *Session, folder string) (words string, err error) {
	folder = cmp.Or(folder, ses.Workspace.Folder)
	kept, err := Temp(ses).Keep(ses.Workspace.Ground(), folder)
	words = "kept of the session's own /tmp in " + folder + ": " + listed(kept)
	if err != nil {
		err = fmt.Errorf("%s; not kept: %w", words, err)
	}
	return words, err
}

// mostLeft bounds the files and folders that are named.
const mostLeft = 8

func listed(all []workspace.Left) string {
	var names []string
	for _, l := range all {
		names = append(names, l.String())
	}
	return visible.Line(cmp.Or(short.List(names, mostLeft), "nothing"))
}

// leftNow returns what the turn left in the session's own /tmp and was not named before; known is when
// what was named had been changed. The person would look for it in theirs.
func leftNow(ses *Session, known map[string]time.Time) (left []workspace.Left) {
	for _, f := range Temp(ses).Left() {
		if !known[f.Name].Equal(f.Changed) {
			left, known[f.Name] = append(left, f), f.Changed
		}
	}
	return left
}

func noticeOf(ses *Session, left []workspace.Left) event.Notice {
	how := "--keep-temp FOLDER keeps them"
	if o := ses.Options; o.Attended {
		how = "/keep copies them to the workspace, from " + ses.Workspace.Policy.Temp
	} else if o.KeepTemp != "" {
		words, err := Keep(ses, o.KeepTemp)
		if err != nil {
			return event.Notice{Level: word.LevelError, Text: err.Error()}
		}
		return event.Notice{Level: word.LevelInfo, Text: words}
	}
	return event.Notice{Level: word.LevelInfo, Text: "left in the session's own /tmp, which is removed at its end: " + listed(left) + " (" + how + ")"}
}
