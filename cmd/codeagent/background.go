package main

import (
	"fmt"

	"codeagent/event"
	"codeagent/exec"
	"codeagent/internal/visible"
	"codeagent/tools"
)

// runBeside makes the list of the session's background commands.
func (ses *session) runBeside(emit func(event.Event)) {
	ses.beside = exec.NewSessions(ses.runner, func(running int) { emit(event.BackgroundChanged{Running: running}) })
}

// news is the background commands that ended since it was last asked.
func (ses *session) news() []string {
	var lines []string
	for _, info := range ses.beside.News() {
		lines = append(lines, tools.Ended(info))
	}
	return lines
}

// endBeside ends what still runs in the background, and says so.
func (ses *session) endBeside() {
	if ses.beside == nil {
		return
	}
	for _, info := range ses.beside.Close() {
		fmt.Fprintf(ses.s.Err, "ended with codeagent: background command %d in %s: %s\n", info.ID, visible.Line(info.Dir), visible.Line(info.Text))
	}
}
