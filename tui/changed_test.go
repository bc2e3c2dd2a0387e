package tui

import (
	"fmt"
	"testing"

	"codeagent/event"
	"codeagent/internal/golden"
	"codeagent/sandbox"
)

// What a command changed is one quiet line below it, as long as the screen is wide;
// an open call has a line for each.
func TestWhatCommandsChangedIsShown(t *testing.T) {
	for _, w := range []int{40, 80} {
		r := newRig(t, w, 30)
		r.emit(event.SessionStarted{ID: "s1", Model: "m", Folder: "/home/ada/app"})
		run := func(command string, changed sandbox.Changes) {
			r.emit(event.ToolStarted{CallID: command, Kind: "command", Title: "$ " + command, Command: command, Folder: "/home/ada/app"})
			r.emit(event.ToolFinished{CallID: command, Kind: "command", Title: "$ " + command, Outcome: "ok", Output: "ok\n", Changed: changed})
		}
		run("true", sandbox.Changes{})
		run("make", sandbox.Changes{List: []sandbox.Change{
			{Path: "/home/ada/app/a.go", Kind: sandbox.Updated}, {Path: "/home/ada/app/b.go", Kind: sandbox.Deleted},
			{Path: "/home/ada/app/dir/", Kind: sandbox.Added}, {Path: "/srv/more/x", Kind: sandbox.Updated}, {Path: "/home/ada/notes/", Kind: sandbox.Added}}})
		run("touch", sandbox.Changes{List: []sandbox.Change{{Path: "/home/ada/app/\x1b[2J\n\u202exe", Kind: sandbox.Added}}})
		var much sandbox.Changes
		for n := range 400 {
			much.Add(sandbox.Change{Path: fmt.Sprintf("/home/ada/app/f%03d", n), Kind: sandbox.Updated})
		}
		run("gofmt -w .", much)
		golden.Check(t, fmt.Sprintf("changed-%d.txt", w), r.screen())
		r.press("ctrl+o", "ctrl+end")
		r.has("changed f299", "changed 100 more")
	}
}
