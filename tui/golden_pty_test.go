package tui

import (
	"errors"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
)

// everySituation is all of them, by subject.
func everySituation() []situation {
	var all []situation
	for _, some := range [][]situation{beginnings(), questions()} {
		all = append(all, some...)
	}
	return all
}

// beginnings are screens without a turn, and those of the message.
func beginnings() []situation {
	plain := session()
	plain.ID, plain.Enforcement.Weaknesses = "s2", nil
	danger := plain
	danger.ID, danger.Policy, danger.Approval = "s3", "danger-full-access", "never"
	danger.Enforcement = sandbox.Enforcement{Backend: "none"}
	tour := plain
	tour.ID, tour.Tour = "s4", true
	long := plain
	long.ID, long.Model = "s5", "a-seller-of-models/with-a-maker/and-a-name-of-many-words-and-more:free"
	long.Folder = "/home/ada/src/a-monorepo/packages/services/billing/internal/ledger"
	return []situation{
		{name: "empty", steps: []do{sees("workspace-write")}},
		{name: "start-danger", steps: []do{emits(danger), sees("danger")}},
		{name: "start-tour", steps: []do{emits(tour), sees("No model")}},
		{name: "start-long-names", steps: []do{emits(long), sees("workspace-write")}},
		{name: "typing", steps: []do{types("make the tests pass"), sees("tests pass")}},
		{name: "typing-lines", steps: []do{types("first"), presses("ctrl+j"), types("second"), presses("ctrl+j"), types("third"), sees("third")}},
		{name: "typing-wraps", steps: []do{types(strings.Repeat("a long message ", 12) + "ends."), sees("ends.")}},
		{name: "paste-chip", steps: []do{types("see "), pastes(strings.Repeat("line\n", 40)), sees("[pasted")}},
		{name: "slash-menu", steps: []do{types("/"), sees("/help")}},
		{name: "slash-unknown", steps: []do{types("/nothing"), loses("/help"), presses("enter"), sees("no command")}},
		{name: "help", steps: []do{types("/help"), presses("enter"), sees("── Help")}},
		{name: "help-end", steps: []do{types("/help"), presses("enter"), sees("── Help"), presses("end"), sees("one page down")}},
		{name: "status", steps: []do{types("/status"), presses("enter"), sees("── Status")}},
		{name: "permissions-empty", steps: []do{types("/permissions"), presses("enter"), sees("── Perm")}},
		{name: "quit-again", steps: []do{presses("ctrl+c")}},
		{name: "quit-again-jobs", steps: []do{emits(event.BackgroundChanged{Running: 2}), sees("2 running"), presses("ctrl+c")}},
	}
}

// working are the steps up to a command that runs.
func working(command string, rest ...do) []do {
	return append([]do{says("go"), emits(event.RequestStarted{}, event.ToolStarted{CallID: "c", Tool: "shell", Kind: word.KindCommand, Title: "$ " + command, Command: command, Folder: "/home/ada/src/app"})}, rest...)
}

// questions are requests for permissions, one of each kind, in each of their states.
func questions() []situation {
	npm := npmRequest("q")
	asked := func(q approvals.Request, rest ...do) []do {
		return append(working("npm install leftpad", asks(q), sees("sandbox")), rest...)
	}
	return []situation{
		{name: "question", steps: asked(npm, sees("Ctrl+Y"))},
		{name: "question-armed", steps: asked(npm, sees("Ctrl+Y"), presses("ctrl+y"), sees("stop"))},
		{name: "question-typing", steps: asked(npm, sees("Ctrl+Y"), types("wait"), sees("› wait"))},
		{name: "question-page", steps: asked(npm, sees("Ctrl+Y"), presses("ctrl+o"))},
		{name: "retrying", steps: []do{says("go"), emits(event.RequestStarted{}, event.Retrying{Message: "too many requests", Delay: 75 * time.Second, Attempt: 2, Most: 5}), sees("retry 2/5")}},
		{name: "failed", steps: []do{says("go"), emits(event.UsageUpdated{Last: model.Usage{Input: 10}}), ends(word.TurnFailed, errors.New("the provider rejected the API key (401)")), sees("401")}},
	}
}
