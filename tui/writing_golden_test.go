package tui

import (
	"context"
	"errors"
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/prompts"
	"codeagent/tui/message"
	"codeagent/tui/tuitest"
)

// TestWritingScreens: what belongs to writing and to the commands, as it looks.
func TestWritingScreens(t *testing.T) {
	files := []string{"README.md", "docs/", "src/", "docs/writing.md", "src/a rather long folder name/with another one in it/and a file whose name is long too.go", "src/parser.go", "src/parser_test.go", "src/printer/parse.go"}
	typed := func(r *rig, s string) {
		for _, c := range s {
			r.settle(r.send(tea.KeyPressMsg{Code: c, Text: string(c)}))
		}
	}
	for name, play := range map[string]func(r *rig){
		"files":         func(r *rig) { typed(r, "see @par") },
		"files-any":     func(r *rig) { typed(r, "see @"); r.press("down") },
		"files-none":    func(r *rig) { typed(r, "see @qqq") },
		"files-lines":   func(r *rig) { typed(r, "see @src/parser.go#20-45") },
		"files-reading": func(r *rig) { r.typeText("see @par") },
		"command":       func(r *rig) { typed(r, "!go test ./... | tee out.txt") },
		"command-ran": func(r *rig) {
			typed(r, "!ls src")
			r.press("enter")
			r.emit(event.ToolStarted{CallID: "u", Tool: "shell", Kind: word.KindCommand, Title: "$ ls src", Command: "ls src", Folder: "/w"},
				event.ToolOutput{CallID: "u", Data: []byte("parser.go\n")},
				event.ToolFinished{CallID: "u", Tool: "shell", Kind: word.KindCommand, Title: "$ ls src", Outcome: word.OK, Output: "parser.go\n"})
			r.send(turnDoneMsg{})
		},
		"slash":        func(r *rig) { typed(r, "/"); r.press("down", "down") },
		"slash-own":    func(r *rig) { typed(r, "/fi"); r.press("down") },
		"earlier":      func(r *rig) { typed(r, "the"); r.settle(r.press("ctrl+r")) },
		"earlier-none": func(r *rig) { typed(r, "zzz"); r.settle(r.press("ctrl+r")) },
		"vim":          func(r *rig) { r.app.composer.UseVim(); typed(r, "one two\nthree"); r.press("esc") },
		"diff":         func(r *rig) { typed(r, "/diff"); r.settle(r.press("enter")) },
		"plan": func(r *rig) {
			r.emit(event.PlanUpdated{Steps: []event.PlanStep{{Step: "read the parser", Status: word.StepCompleted}, {Step: "write a test that fails, then mend what it shows, in src/parser.go", Status: word.StepInProgress}, {Step: "run all tests"}}})
			typed(r, "/plan")
			r.settle(r.press("enter"))
		},
		"keys":     func(r *rig) { typed(r, "/keys"); r.settle(r.press("enter")) },
		"feedback": func(r *rig) { typed(r, "/feedback"); r.settle(r.press("enter")) },
		"review-nothing": func(r *rig) {
			typed(r, "/review")
			r.settle(r.press("enter"))
		},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
			t.Run(fmt.Sprintf("%s-%d", name, size[0]), func(t *testing.T) {
				r := newRig(t, size[0], size[1])
				r.app.offer(everythingOffered(t).offers)
				r.app.offers.Still = true
				r.app.offers.Writing.Files = func(context.Context) ([]string, bool, error) { return files, false, nil }
				r.app.offers.Writing.Run = func(context.Context, string) error { return nil }
				r.app.offers.Writing.History = &keptMessages{all: []message.Message{{Text: "fix the parser\nand its tests"}, {Text: "what does the printer do with a very long line that does not fit into any terminal?"}, {Text: "/diff"}}}
				e := &r.app.offers.Extras
				e.Diff = func(context.Context) (string, error) {
					return "diff --git a/src/parser.go b/src/parser.go\n--- a/src/parser.go\n+++ b/src/parser.go\n@@ -1,2 +1,2 @@\n package x\n-\told := 1\n+\tchanged := 2 // with a comment that is long enough to need a second row on a narrow screen\n", nil
				}
				e.Feedback = func(context.Context, string) (string, error) {
					return "written to /home/ada/.local/state/codeagent/feedback-20260102-030405.md\nIt has no content of the conversation and no keys. Nothing was sent: read it, and send it yourself.", nil
				}
				e.Review = func(context.Context, string) (prompts.Prompt, error) {
					return prompts.Prompt{}, fmt.Errorf("the uncommitted changes: there is nothing to review")
				}
				r.app.templates.Load = func(context.Context) ([]prompts.Own, error) {
					return []prompts.Own{{Name: "fix", About: "fix an issue by its number", Text: "Fix issue $1."}}, nil
				}
				r.settle(r.app.do(r.app.templates.Begin()))
				r.settle(loadHistory(r.app))
				play(r)
				golden.Check(t, fmt.Sprintf("writing-%s-%d.txt", name, size[0]), r.screen())
			})
		}
	}
}

// TestHostileWriting: names of files, the project's commands, what was sent earlier and a diff
// are drawn harmlessly, and no row is too wide.
func TestHostileWriting(t *testing.T) {
	for _, nasty := range tuitest.Nasty() {
		for _, w := range []int{12, 40} {
			r := newRig(t, w, 12)
			r.app.offer(everythingOffered(t).offers)
			r.app.offers.Still = true
			r.app.offers.Writing.Files = func(context.Context) ([]string, bool, error) {
				return []string{nasty, "x" + nasty}, false, errors.New(nasty)
			}
			r.app.offers.Writing.History = &keptMessages{all: []message.Message{{Text: nasty + "x"}}, err: errors.New(nasty)}
			e := &r.app.offers.Extras
			e.Diff = func(context.Context) (string, error) { return "+" + nasty, errors.New(nasty) }
			r.app.templates.Load = func(context.Context) ([]prompts.Own, error) {
				return []prompts.Own{{Name: "fix", About: nasty, Text: nasty}}, nil
			}
			r.settle(r.app.do(r.app.templates.Begin()))
			r.settle(loadHistory(r.app))
			look := func() {
				t.Helper()
				r.app.fresh = false
				r.screen()
				for _, row := range r.app.rows {
					tuitest.Harmless(t, row)
				}
			}
			r.typeText("/fi")
			look()
			r.settle(r.press("enter"))
			r.send(turnDoneMsg{})
			look()
			r.settle(r.press("ctrl+r"))
			look()
			r.press("enter")
			look()
			r.app.composer.Set("/diff")
			r.settle(r.press("enter"))
			look()
			r.press("esc")
			r.app.composer.Set("")
			r.settle(r.send(tea.KeyPressMsg{Code: '@', Text: "@"}))
			look()
			r.app.menu.files.Problem = ""
			look()
		}
	}
}
