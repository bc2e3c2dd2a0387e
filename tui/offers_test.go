package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/model"
	"codeagent/prompts"
	"codeagent/sandbox"
	"codeagent/tui/clipboard"
	"codeagent/tui/fill"
	"codeagent/tui/lists"
	"codeagent/tui/memory"
	"codeagent/tui/picker"
	"codeagent/tui/settings"
	"codeagent/tui/tuitest"
	"codeagent/tui/undoing"
)

// offered stands for everything that can be handed in.
type offered struct {
	front    int // commands in the foreground
	now      time.Time
	models   []picker.Row
	kept     []lists.Session
	commands []lists.Job
	preview  undoing.Preview
	earlier  undoing.Preview
	report   undoing.Report
	images   map[string]model.Image
	err      error // of what changes something

	used, opened, deleted, killed, focus string
	renamed                              [2]string
	all                                  bool
	applied                              int
}

type (
	fakeModels     struct{ *offered }
	fakeSessions   struct{ *offered }
	fakeUndo       struct{ *offered }
	fakeBackground struct{ *offered }
	fakeImages     struct{ *offered }
)

func (f fakeModels) List(context.Context) ([]picker.Row, error) { return f.models, nil }
func (f fakeModels) Use(_ context.Context, name string) error {
	f.used = name
	return f.err
}

func (f fakeSessions) List(_ context.Context, all bool) ([]lists.Session, error) {
	f.all = all
	return slices.DeleteFunc(slices.Clone(f.kept), func(s lists.Session) bool { return !all && s.Folder != "/home/ada/src/app" }), nil
}
func (f fakeSessions) Rename(_ context.Context, id, title string) error {
	f.renamed = [2]string{id, title}
	return f.err
}
func (f fakeSessions) Delete(_ context.Context, id string) error {
	f.deleted = id
	f.kept = slices.DeleteFunc(f.kept, func(s lists.Session) bool { return s.ID == id })
	return f.err
}
func (f fakeSessions) Open(_ context.Context, id string) error {
	f.opened = id
	return f.err
}

func (f fakeUndo) Preview(context.Context) (undoing.Preview, error) { return f.preview, f.err }
func (f fakeUndo) Earlier(context.Context) (undoing.Preview, error) { return f.earlier, f.err }
func (f fakeUndo) Apply(context.Context) (undoing.Report, error) {
	f.applied++
	return f.report, f.err
}

func (f fakeBackground) List() []lists.Job { return f.commands }
func (f fakeBackground) Output(id string, _ int) ([]byte, error) {
	return []byte(strings.Repeat("line of "+id+"\n", 60) + "the end of " + id + "\x1b[2J\n"), nil
}
func (f fakeBackground) File(context.Context, string, []byte, int64) (int, int64, error) {
	return 0, 0, nil
}

func (f fakeBackground) SendBack() (int, error) { return f.front, f.err }

func (f fakeBackground) Kill(_ context.Context, id string) error {
	f.killed = id
	return f.err
}

func (f fakeImages) Load(_ context.Context, path string) (model.Image, error) {
	i, ok := f.images[path]
	if !ok {
		return model.Image{}, cmp.Or(f.err, clipboard.ErrNoImage)
	}
	return i, nil
}

// offeredAt is what is there to choose from at a time.
func offeredAt(now time.Time) *offered {
	f := &offered{
		now:    now,
		models: []picker.Row{{Id: "openai/gpt-5", Text: "openai/gpt-5", About: "400k · images"}, {Id: "scripted-1", Text: "scripted-1", About: "configured", Mark: true}, {Id: "ollama/qwen3:8b", Text: "ollama/qwen3:8b", About: "Ollama"}},
		kept: []lists.Session{
			{ID: "s1", Name: "the one on the screen", Folder: "/home/ada/src/app", Used: now, Size: 900, Current: true},
			{ID: "s2", Name: "mend the parser's third branch, it loses the last token of a line", First: "mend the parser", Branch: "topic/parser", Said: "and run the tests of the parser once more", Answer: "All 41 tests pass; the third branch now keeps its last token.", Folder: "/home/ada/src/app", Used: now.Add(-3 * time.Hour), Size: 182 << 10},
			{ID: "s3", Name: "write the release notes", Folder: "/home/ada/src/app", Used: now.Add(-9 * 24 * time.Hour), Size: 3 << 20},
			{ID: "s4", Name: "somewhere else", Folder: "/home/ada/src/other", Used: now.Add(-72 * time.Hour), Size: 4 << 10},
		},
		commands: []lists.Job{
			{ID: "b2", Command: "npm run dev", Started: now.Add(-95 * time.Second), Running: true, Last: "ready in 312 ms"},
			{ID: "b1", Command: "go test ./...", Started: now.Add(-time.Hour), Ended: now.Add(-50 * time.Minute), End: "exit 1", Last: "FAIL codeagent/tui"},
		},
		preview: undoing.Preview{
			Message: "rename the type everywhere", At: now.Add(-4 * time.Minute),
			Files: []undoing.File{{Path: "/home/ada/src/app/main.go", Does: "restore"}, {Path: "/home/ada/src/app/new.go", Does: "remove"}},
			Changes: []event.FileChange{
				{Path: "/home/ada/src/app/main.go", Kind: sandbox.Updated, Added: 1, Removed: 1, Diff: "--- a/main.go\n+++ b/main.go\n@@ -11,2 +11,2 @@\n type (\n-\tNewName int // changed\n+\tOldName int\n"},
				{Path: "/home/ada/src/app/new.go", Kind: sandbox.Deleted, Removed: 30},
			},
			Conflicts: []undoing.File{{Path: "/home/ada/src/app/go.mod", Does: "restore", Why: "changed 1 min ago"}},
			NotKept:   []undoing.File{{Path: "/home/ada/src/app/big.bin", Does: "restore", Why: "210 MiB"}},
		},
		images: map[string]model.Image{"/tmp/shot.png": {Name: "/tmp/shot.png", Width: 1280, Height: 720, MediaType: "image/png"}, "/tmp/a b.jpg": {Name: "a b.jpg", Width: 10, Height: 20}},
	}
	f.report = undoing.Report{Done: f.preview.Files, Conflicts: f.preview.Conflicts}
	return f
}

// offers is a rig with all of it.
func offers(t *testing.T, w, h int) (*rig, *offered) {
	r := newRig(t, w, h)
	f := offeredAt(r.clock)
	r.app.offer(Options{
		Still: true, Home: "/home/ada",
		Models: fakeModels{f}, Sessions: fakeSessions{f}, Undo: fakeUndo{f}, Background: fakeBackground{f}, Images: fakeImages{f},
		Compact: func(_ context.Context, focus string) error { f.focus = focus; return f.err },
	})
	r.emit(session())
	return r, f
}

// everythingOffered is a screen with every command.
func everythingOffered(t *testing.T) *app {
	r, _ := offers(t, 80, 24)
	page := func(context.Context) (string, error) { return "", nil }
	words := func(context.Context, string) (string, error) { return "", nil }
	deed := func(context.Context) error { return nil }
	r.app.offers.Rewind = &pastMessages{}
	r.app.offers.Extras = Extras{
		Diff: page, Sandbox: page, Doctor: page, Skills: page, Feedback: words, Export: words, Keep: words, Fresh: deed, Fork: deed, Draft: deed,
		Review: func(context.Context, string) (prompts.Prompt, error) { return prompts.Prompt{}, nil }, Servers: &fakeServers{}, Effort: func(context.Context, string) error { return nil }, Context: func(context.Context) (fill.Context, error) { return fill.Context{}, nil },
		Settings: func(context.Context) ([]settings.Setting, error) { return nil, nil }, Setting: func(context.Context, string, string) (string, error) { return "", nil },
		Memory: memory.List{Add: func(context.Context, string, string) (string, error) { return "", nil }},
	}
	return r.app
}

// do sends what a command's work leads to, as the program does.
func (r *rig) do(cmd tea.Cmd) {
	r.t.Helper()
	settle(cmd, func(msg tea.Msg) tea.Cmd {
		switch msg.(type) {
		case then, turnDoneMsg:
			return r.send(msg)
		}
		return nil
	})
}

// settle runs a command, and those that take returns for its messages.
func settle(cmd tea.Cmd, take func(tea.Msg) tea.Cmd) {
	if cmd == nil {
		return
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, c := range batch {
			settle(c, take)
		}
		return
	}
	settle(take(msg), take)
}

// slash types a command and runs it with what it leads to.
func (r *rig) slash(command string) {
	r.typeText(command)
	r.do(r.press("enter"))
}

// What was not handed in is not offered.
func TestOnlyWhatIsThereIsOffered(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("/")
	for _, name := range []string{"/model", "/compact", "/undo", "/ps", "/sessions"} {
		r.lacks(name)
	}
	r.typeText("undo")
	r.press("enter")
	r.has("no command /undo")
	r, _ = offers(t, 80, 24)
	r.typeText("/")
	r.has("/model [name]", "/compact [focus]", "/undo", "/ps", "/sessions")
}

func TestModelPicker(t *testing.T) {
	for _, w := range []int{40, 80} {
		r, _ := offers(t, w, 20)
		r.slash("/model")
		golden.Check(t, map[int]string{40: "models-40.txt", 80: "models-80.txt"}[w], r.screen())
	}
	r, f := offers(t, 80, 20)
	r.slash("/model")
	r.typeText("qwen")
	r.has("1 of 3")
	r.lacks("gpt-5")
	r.do(r.press("enter"))
	if f.used != "ollama/qwen3:8b" || r.app.panel != nil || r.app.work.running {
		t.Errorf("used %q, panel %v, working %v", f.used, r.app.panel, r.app.work.running)
	}
	r.emit(event.UsageUpdated{Last: model.Usage{Input: 24000}, Context: 24000, Limit: 200_000})
	r.has("ctx 24k/200k")
	s := session()
	s.Model, s.Window = "ollama/qwen3:8b", 32000
	r.emit(s)
	r.has("now using ollama/qwen3:8b", "ctx 24k/32k")
	r.emit(event.UsageUpdated{Context: 16000, Limit: 32000}) // the last request was not the conversation's
	s.Model, s.Window = "a-seller-of-models/with-a-maker/and-a-name-of-many-words:free", 64000
	r.emit(s)
	r.has("  and-a-name-of-many-words:free · workspace-write · accept edits", "ctx 25%")
	r.slash("/model gpt-5-mini")
	if f.used != "gpt-5-mini" {
		t.Errorf("used %q", f.used)
	}
	f.err = errors.New("no key for the provider groq")
	r.slash("/model groq/x")
	r.has("✗ no key for the provider groq")
}

// While a turn runs the model stays, and the list can be read.
func TestModelWaitsForTheTurn(t *testing.T) {
	r, f := offers(t, 80, 20)
	r.typeText("go")
	r.press("enter")
	r.slash("/model gpt-5-mini")
	r.has("Esc interrupts the turn; /model works only between turns")
	r.slash("/model")
	r.has("openai/gpt-5")
	r.do(r.press("enter"))
	if f.used != "" {
		t.Errorf("used %q", f.used)
	}
}

func TestSessionPicker(t *testing.T) {
	for _, size := range [][2]int{{40, 15}, {80, 24}, {120, 40}} {
		r, _ := offers(t, size[0], size[1])
		r.slash("/sessions")
		r.press("down")
		golden.Check(t, fmt.Sprintf("sessions-%d.txt", size[0]), r.screen())
	}
	r, f := offers(t, 80, 20)
	r.slash("/sessions")
	r.lacks("somewhere else")
	r.do(r.press("tab"))
	r.has("Sessions of all folders", "somewhere else")
	r.typeText("release notes")
	r.press("ctrl+r")
	r.has("title write the release notes")
	r.press("ctrl+u")
	r.typeText("notes, at last")
	r.do(r.press("enter"))
	if f.renamed != [2]string{"s3", "notes, at last"} {
		t.Errorf("renamed %q", f.renamed)
	}
	r.press("ctrl+x")
	r.has("Delete “write the release notes” permanently?")
	r.do(r.press("x")) // no yes
	if f.deleted != "" {
		t.Errorf("deleted %q without a yes", f.deleted)
	}
	r.press("ctrl+x")
	r.do(r.press("enter"))
	if f.deleted != "s3" {
		t.Errorf("deleted %q", f.deleted)
	}
	r.has("no match")
}

// The session on the screen is not offered for deletion.
func TestOpenSessionStays(t *testing.T) {
	r, f := offers(t, 80, 20)
	r.slash("/sessions")
	r.has("› the one on the screen ✓", "Ctrl+R renames")
	r.lacks("Ctrl+X deletes")
	r.press("ctrl+x")
	r.lacks("Delete")
	r.press("down")
	r.has("Ctrl+X deletes")
	r.press("ctrl+x")
	r.has("Delete")
	r.do(r.press("y"))
	if f.deleted != "s2" {
		t.Errorf("deleted %q", f.deleted)
	}
}

// Nothing that says what to do is cut off where the screen is narrow.
func TestNarrowHints(t *testing.T) {
	r, f := offers(t, 40, 20)
	f.commands = nil
	r.slash("/ps")
	r.has("  no command was started in the\n  background\n")
	r.press("esc")
	r.typeText("go")
	r.press("enter")
	r.slash("/model gpt-5-mini")
	r.has("Esc interrupts the turn; /model")
}

// TestCommandsWait: a command that needs no turn running is queued by Enter, with its words or chosen in the menu, and can
// be taken back.
func TestCommandsWait(t *testing.T) {
	for _, typed := range []string{"/compact", "/compact the tests", "/comp", "/new", "/fork"} {
		r, _ := offers(t, 80, 20)
		leave := func(context.Context) error { return nil }
		r.app.offers.Extras.Fresh, r.app.offers.Extras.Fork = leave, leave
		r.typeText("go")
		r.press("enter")
		r.typeText(typed)
		r.press("enter")
		want := typed
		if typed == "/comp" {
			want = "/compact"
		}
		if queued := r.app.work.queued; len(queued) != 1 || queued[0].Text != want || !r.app.composer.Empty() {
			t.Errorf("%s: queued %v, and %q is written", typed, queued, r.app.composer.Value())
		}
		r.has("after the turn  " + want)
		r.press("up")
		if got := r.app.composer.Value(); got != want {
			t.Errorf("%s: taken back as %q", typed, got)
		}
	}
}

func TestSessionIsOpened(t *testing.T) {
	r, f := offers(t, 80, 20)
	f.err = errors.New("session s2 is in use by process 7")
	r.slash("/sessions")
	r.press("down")
	r.do(r.press("enter"))
	r.has("▲ session s2 is in use by process 7")
	f.err = nil
	cmd := r.press("enter")
	msg := cmd().(then)
	if !isQuit(r.send(msg), time.Minute) || f.opened != "s2" {
		t.Errorf("the screen does not end for %q", f.opened)
	}
}

func TestUndoPreview(t *testing.T) {
	for _, w := range []int{40, 80} {
		r, _ := offers(t, w, 24)
		r.slash("/undo")
		golden.Check(t, map[int]string{40: "undo-40.txt", 80: "undo-80.txt"}[w], r.screen())
		r.press("end")
		golden.Check(t, map[int]string{40: "undo-end-40.txt", 80: "undo-end-80.txt"}[w], r.screen())
	}
	r, f := offers(t, 80, 24)
	r.slash("/undo")
	r.press("esc")
	r.lacks("cannot be taken back")
	r.slash("/undo")
	r.do(r.press("enter"))
	if f.applied != 1 {
		t.Errorf("applied %d times", f.applied)
	}
	r.has("↶ undone: 2 files · 1 changed by somebody else, left as they are", "go.mod  changed 1 min ago")
	f.preview = undoing.Preview{}
	r.slash("/undo")
	r.has("nothing to undo")
	f.preview.NotKept = []undoing.File{{Path: "/x", Does: "restore", Why: "too big"}}
	r.slash("/undo")
	r.do(r.press("enter"))
	if f.applied != 1 {
		t.Error("Enter applied a preview with nothing to take back")
	}
	r.has("no earlier turn has changes to undo")
	f.preview = undoing.Preview{Closed: []undoing.File{{Path: "/x", Does: "remove", Why: "outside"}}, Opens: "codeagent undo s1 --add-dir /"}
	r.slash("/undo")
	r.has("Saved, but not writable now: 1", "/x  outside", "codeagent undo s1 --add-dir /", "Enter shows the previous turn")
}

// A turn in which nothing can be undone does not block the undo of those
// before it.
func TestUndoGoesOn(t *testing.T) {
	r, f := offers(t, 80, 24)
	f.earlier = f.preview
	f.preview = undoing.Preview{Message: "select the last one", Conflicts: f.earlier.Conflicts}
	f.report = undoing.Report{Failed: f.earlier.Files}
	r.slash("/undo")
	r.has("select the last one", "Enter shows the previous turn")
	r.do(r.press("enter"))
	r.has("rename the type everywhere", "Enter undoes these changes")
	r.do(r.press("enter"))
	if f.applied != 1 {
		t.Errorf("applied %d times", f.applied)
	}
	r.has("nothing was undone · 2 failed")
	f.err = errors.New("it cannot be read")
	r.slash("/undo")
	r.has("it cannot be read")
}

// What a key does is said whole or not at all, on the narrowest screen too.
func TestNarrowKeys(t *testing.T) {
	for w, want := range map[int][]string{
		40: {"Enter shows the previous turn", "Working   Esc interrupts"},
		80: {"Enter shows the previous turn  Esc closes", "Working   Esc interrupts  Enter steers  Tab queues"},
	} {
		r, f := offers(t, w, 24)
		f.preview = undoing.Preview{Message: "select the last one", Conflicts: f.preview.Conflicts}
		r.slash("/undo")
		r.has("── Undo", want[0])
		r.press("esc")
		r.typeText("hello")
		r.press("enter")
		r.typeText("more")
		r.has(want[1])
		for _, l := range strings.Split(r.screen(), "\n") {
			if strings.Contains(l, "Working") && (strings.Contains(l, "…") || w == 40 && strings.Contains(l, "Tab")) {
				t.Errorf("%d columns: %q", w, l)
			}
		}
	}
}

// What goes on in the background may be who changed files after the turn.
func TestUndoWhileCommandsRun(t *testing.T) {
	r, f := offers(t, 80, 24)
	r.emit(event.BackgroundChanged{Running: 2})
	r.slash("/undo")
	r.has("2 jobs may still write, and may have written these; /ps ends jobs")
	r.press("esc")
	r.emit(event.BackgroundChanged{Running: 1})
	r.slash("/undo")
	r.has("1 job may still write, and may have written these; /ps ends jobs")
	r.press("esc")
	f.preview.Conflicts = nil
	r.slash("/undo")
	r.lacks("may have written")
}

func TestBackgroundCommands(t *testing.T) {
	for _, w := range []int{40, 80} {
		r, _ := offers(t, w, 20)
		r.emit(event.BackgroundChanged{Running: 1})
		r.slash("/ps")
		golden.Check(t, map[int]string{40: "ps-40.txt", 80: "ps-80.txt"}[w], r.screen())
	}
	r, f := offers(t, 80, 20)
	r.emit(event.BackgroundChanged{Running: 1})
	r.has("1 running")
	r.slash("/ps")
	r.do(r.press("enter"))
	r.has("npm run dev", "the end of b2␛[2J")
	r.press("pgup")
	r.lacks("the end of b2")
	r.do(r.app.do(r.app.panel.Load())) // more output leaves the place alone
	r.lacks("the end of b2")
	r.press("end")
	r.has("the end of b2")
	r.press("esc")
	r.has("Jobs in the background", "ready in 312 ms")
	r.press("ctrl+x")
	r.has("End “npm run dev” and all it started?")
	r.do(r.press("enter"))
	if f.killed != "b2" {
		t.Errorf("killed %q", f.killed)
	}
	f.commands[0].Running, f.commands[0].End, f.commands[0].Ended = false, "killed by SIGTERM", r.clock
	r.do(r.cmdOf(event.BackgroundChanged{}))
	r.has("killed by SIGTERM · just now")
	r.lacks("1 running")
}

// The end of a background command is shown at once where no turn runs, else with
// the turn, or after a turn that did not show it; and once.
func TestEndOfABackgroundCommandIsSaid(t *testing.T) {
	for w, said := range map[int]string{
		40: "· job b2 ended: exit 3 · 1m 35s  $ npm…",
		80: "· job b2 ended: exit 3 · 1m 35s  $ npm run dev",
	} {
		r, f := offers(t, w, 20)
		r.emit(event.BackgroundChanged{Running: 1})
		saysOnce := func(when string) {
			t.Helper()
			if n := strings.Count(r.screen(), said); n != 1 {
				t.Errorf("%d columns, %s: said %d times:\n%s", w, when, n, r.screen())
			}
		}
		end := func() {
			c := &f.commands[0]
			c.Running, c.End, c.Ended, c.News, c.Command = false, "exit 3", r.clock, true, "npm\n run dev"
		}
		end()
		r.do(r.cmdOf(event.BackgroundChanged{}))
		saysOnce("at once")
		r.do(r.cmdOf(event.BackgroundChanged{}))
		saysOnce("with the next change")
		r.typeText("hello")
		r.do(r.press("enter"))
		r.do(r.send(turnDoneMsg{}))
		saysOnce("after a turn")

		r, f = offers(t, w, 20)
		r.typeText("hello")
		r.do(r.press("enter"))
		end()
		r.do(r.cmdOf(event.BackgroundChanged{}))
		r.lacks("ended")
		r.do(r.send(turnDoneMsg{}))
		saysOnce("after a turn that did not show it")

		r, f = offers(t, w, 20)
		r.typeText("hello")
		r.do(r.press("enter"))
		end()
		f.commands[0].News = false
		r.do(r.cmdOf(event.BackgroundChanged{}))
		r.do(r.send(turnDoneMsg{}))
		r.lacks("ended")
	}
}

// An answer is for the row that was asked about, whatever the list does meanwhile.
func TestAnswerIsForTheRowThatWasAskedAbout(t *testing.T) {
	for what, meanwhile := range map[string]func(r *rig, f *offered){
		"it vanishes": func(r *rig, f *offered) { f.commands = f.commands[1:] },
		"another is above": func(r *rig, f *offered) {
			f.commands = append([]lists.Job{{ID: "b3", Command: "new"}}, f.commands...)
		},
		"the wheel turns": func(r *rig, f *offered) { r.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown}) },
		"text is pasted":  func(r *rig, f *offered) { r.send(tea.PasteMsg{Content: "test"}) },
	} {
		r, f := offers(t, 80, 20)
		f.commands[1].Running = true
		r.emit(event.BackgroundChanged{Running: 2})
		r.slash("/ps")
		r.press("ctrl+x")
		meanwhile(r, f)
		r.do(r.cmdOf(event.BackgroundChanged{Running: 1}))
		r.has("End “npm run dev” and all it started?")
		r.do(r.press("enter"))
		if f.killed != "b2" {
			t.Errorf("%s: killed %q", what, f.killed)
		}
	}
	r, f := offers(t, 80, 20)
	r.slash("/sessions")
	r.press("down", "ctrl+r")
	f.kept = slices.DeleteFunc(f.kept, func(s lists.Session) bool { return s.ID == "s2" })
	r.do(r.app.do(r.app.panel.(*picker.Picker).Deeds[0].Run(picker.Row{}, "")))
	r.typeText(" x")
	r.do(r.press("enter"))
	if f.renamed[0] != "s2" {
		t.Errorf("renamed %q", f.renamed)
	}
}

// cmdOf posts an event and returns what it leads to.
func (r *rig) cmdOf(e event.Event) tea.Cmd {
	r.app.box.post(e)
	return r.app.drain()
}

// Only what moves is looked at again, and only while it is on the screen.
func TestNothingIsWatchedInVain(t *testing.T) {
	r, _ := offers(t, 80, 20)
	r.app.offers.Still = false
	r.slash("/ps")
	if r.app.ticking {
		t.Error("a list in which nothing runs is watched")
	}
	r.emit(event.BackgroundChanged{Running: 1})
	if !r.app.ticking {
		t.Error("a list in which something runs is not watched")
	}
	r.press("esc")
	r.send(tickMsg{})
	if r.app.ticking {
		t.Error("the clock ticks on without the list")
	}
}

func TestCompactRunsAsATurn(t *testing.T) {
	r, f := offers(t, 80, 20)
	r.typeText("/compact the parser")
	cmd := r.press("enter")
	r.has("Compacting", "Esc interrupts")
	r.typeText("next")
	r.press("tab")
	r.do(cmd)
	if f.focus != "the parser" {
		t.Errorf("focus %q", f.focus)
	}
	if len(r.turns) != 1 || r.turns[0] != "next" {
		t.Errorf("what was typed meanwhile: %q", r.turns)
	}
	r.send(turnDoneMsg{})
	f.err = ErrInterrupted
	r.slash("/compact")
	r.has("Interrupted.")
	r.typeText("/compact") // alone, with a space to come
	r.press("tab")
	if r.app.composer.Value() != "/compact " {
		t.Errorf("completed to %q", r.app.composer.Value())
	}
}

// Whatever is listed, the screen holds visible characters in its rows and columns.
func TestHostileLists(t *testing.T) {
	for _, s := range tuitest.Nasty() {
		for _, size := range [][2]int{{9, 4}, {40, 12}, {100, 30}} {
			r, f := offers(t, size[0], size[1])
			f.models = []picker.Row{{Id: s, Text: s, About: s}, {Id: s, Text: s, About: s, Mark: true}}
			f.kept = []lists.Session{{ID: "1", Name: s, Folder: "/home/ada/src/app"}}
			f.commands = []lists.Job{{ID: s, Command: s, End: s, Last: s}}
			files := []undoing.File{{Path: s, Does: s, Why: s}}
			f.preview = undoing.Preview{Message: s, Files: files, Conflicts: files, NotKept: files, Closed: files, Opens: s}
			f.report = undoing.Report{Done: files, Conflicts: files, Failed: files}
			for _, c := range []string{"/model", "/sessions", "/ps", "/undo"} {
				r.slash(c)
				checkScreen(t, r)
				r.do(r.press("ctrl+x"))
				checkScreen(t, r)
				r.press("esc")
				r.do(r.press("ctrl+r"))
				checkScreen(t, r)
				r.press("esc")
				r.app.panel = nil
			}
			r.slash("/undo")
			r.do(r.press("enter"))
			checkScreen(t, r)
		}
	}
}

// A long list stays at hand: what is drawn of it does not grow with it.
func TestFiveThousandSessions(t *testing.T) {
	r, f := offers(t, 80, 20)
	f.kept = nil
	for range 5000 {
		f.kept = append(f.kept, lists.Session{ID: "x", Name: "a message of some length about the work at hand", Folder: "/home/ada/src/app"})
	}
	r.slash("/sessions")
	r.has("5000")
	r.press("end")
	r.has("›")
	p := r.app.panel.(*picker.Picker)
	if p.At != 4999 {
		t.Errorf("End goes to %d", p.At)
	}
	r.press("home")
	if p.At != 0 {
		t.Errorf("Home goes to %d", p.At)
	}
}

// A failed compaction is reported once.
func TestCompactionThatFailed(t *testing.T) {
	r, f := offers(t, 80, 20)
	f.err = errors.New("no answer came")
	r.typeText("/compact")
	cmd := r.press("enter")
	r.app.box.post(event.Compacting{Reason: word.CompactAsked})
	r.app.box.post(event.Compacted{Reason: word.CompactAsked, Err: "no answer came"})
	r.do(cmd)
	if n := strings.Count(r.screen(), "no answer came"); n != 1 {
		t.Errorf("the error is shown %d times:\n%s", n, r.screen())
	}
}
