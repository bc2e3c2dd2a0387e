package agent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/event"
	codeexec "codeagent/exec"
	"codeagent/internal/scripted"
	"codeagent/linuxsandbox"
	"codeagent/tools"
	"codeagent/undo"
)

// trier tries what it is asked about, changes something, and answers.
type trier struct {
	answerer
	meanwhile func(outside string)
	outside   string
	tried     []approvals.Tried
	failed    error
	late      chan error // if set, the person does not wait for the preview
}

func (f *trier) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	if r.Preview != nil && f.late != nil {
		go func() { _, err := r.Preview(); f.late <- err }()
		time.Sleep(500 * time.Millisecond)
		f.meanwhile(f.outside)
	} else if r.Preview != nil {
		tried, err := r.Preview()
		f.tried, f.failed = append(f.tried, tried), err
		if f.meanwhile != nil {
			f.meanwhile(f.outside)
		}
	}
	return f.answerer.Ask(ctx, r)
}

// previewed has a model run a command that asks to write outside, and a person who tries it and then answers.
func previewed(t *testing.T, script string, more string, answer approvals.Decision, meanwhile func(outside string), late ...chan error) (f field, face *trier, drafts string) {
	t.Helper()
	drafts, err := os.MkdirTemp("/var/tmp", "drafts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(drafts) })
	if err := os.Mkdir(filepath.Join(drafts, "undo"), 0o700); err != nil {
		t.Fatal(err)
	}
	history, err := undo.New(filepath.Join(drafts, "undo")).Open("0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { history.Close() })
	face = &trier{meanwhile: meanwhile}
	if face.say.Decision = answer; len(late) > 0 {
		face.late = late[0]
	}
	f = newField(t, approvals.OnRequest, approvals.Answer{Decision: answer}, func(outside string) []scripted.Reply {
		face.outside = outside
		for name, text := range map[string]string{"in": "in", "gone": "gone", "over": "over"} {
			if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(outside, "prog"), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		arguments := fmt.Sprintf(`{"command":%q%s,"sandbox_permissions":"with_additional_permissions","additional_permissions":{"write":[%q]},"justification":"it writes there"}`,
			"cd "+outside+" && "+script, more, outside)
		return []scripted.Reply{{Calls: []scripted.Call{{ID: "c", Name: "shell", Arguments: arguments}}}, {Text: "done"}}
	}, func(c *agent.Config) {
		c.Frontend, c.Stage.Undo = face, history
		c.Stage.Drafts = &tools.Drafts{Folder: drafts, Can: func() bool { return true }, Runner: func() (*codeexec.Runner, func(), error) {
			backend, err := linuxsandbox.New(linuxsandbox.Options{Helper: helper})
			return codeexec.New(codeexec.Options{Backend: backend, Environ: os.Environ(), Files: codeexec.OS{}}), func() { backend.Close() }, err
		}}
	})
	time.Sleep(30 * time.Millisecond) // else what was made just now looks as if it changed during the run
	history.Begin("t")
	defer history.End()
	if err := f.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if face.failed != nil {
		t.Skipf("no drafts here: %v", face.failed)
	}
	return f, face, drafts
}

// each run leaves something that no other run would.
const mark = `head -c 9 /dev/urandom | od -An -tx1 >once; `

// leftIn lists the drafts.
func leftIn(drafts string) []string {
	left, _ := filepath.Glob(filepath.Join(drafts, "2*"))
	return left
}

func warned(f *trier) (out string) {
	for _, e := range f.person.events {
		if n, ok := e.(event.Notice); ok {
			out += n.Text
		}
	}
	return out
}

// TestPreviewIsKept: a yes keeps what was shown, and the command does not run again.
func TestPreviewIsKept(t *testing.T) {
	var shown string
	f, face, drafts := previewed(t, mark+`cat in; rm gone; sed -i s/over/new/ over; touch touched; rm touched; mkdir -p d/e; ln -s in d/link; ls absent 2>/dev/null || echo to say`, "", approvals.Once, func(outside string) {
		for _, name := range []string{"in", "gone", "over"} {
			if data, err := os.ReadFile(filepath.Join(outside, name)); err != nil || string(data) != name {
				t.Errorf("before the yes %s is %q, %v", name, data, err)
			}
		}
		if exists(t, filepath.Join(outside, "once")) {
			t.Error("the preview changed files")
		}
	})
	if len(face.tried) != 1 || face.tried[0].Again != "" || !strings.HasPrefix(face.tried[0].Said, "exit status 0 after") {
		t.Fatalf("tried %+v", face.tried)
	}
	changes := face.tried[0].Changes
	if len(changes) != 5 || changes[0].Path != f.outside+"/gone" || changes[0].Kind != "delete" {
		t.Errorf("changes %+v", changes)
	}
	for _, c := range changes {
		if strings.HasSuffix(c.Path, "/once") {
			shown = c.Diff
		}
	}
	data, err := os.ReadFile(filepath.Join(f.outside, "once"))
	if err != nil || !strings.Contains(shown, strings.TrimSpace(string(data))) {
		t.Errorf("kept %q, %v, shown %q: it ran again", data, err, shown)
	}
	over, _ := os.ReadFile(filepath.Join(f.outside, "over"))
	link, _ := os.Readlink(filepath.Join(f.outside, "d/link"))
	if string(over) != "new" || link != "in" || !exists(t, filepath.Join(f.outside, "d/e")) || exists(t, filepath.Join(f.outside, "gone")) {
		t.Errorf("kept %q, %q", over, link)
	}
	result := f.results()["c"]
	if !strings.HasPrefix(result, "exit status 0 after") || !strings.Contains(result, "into say") || !strings.Contains(result, "[undo]") {
		t.Errorf("result %q", result)
	}
	if left := leftIn(drafts); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if w := warned(face); w != "" {
		t.Errorf("said %q", w)
	}
}

// TestPreviewRunsAgain: on each doubt the command runs, and the person reads why.
func TestPreviewRunsAgain(t *testing.T) {
	write := func(name, text string) func(string) {
		return func(outside string) {
			if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o755); err != nil {
				t.Error(err)
			}
		}
	}
	for _, row := range []struct {
		what, script, more string
		meanwhile          func(string)
		why                string
	}{
		{"content", `cat in`, "", write("in", "other"), "in has changed since"},
		{"an entry of a folder", `ls`, "", write("other", ""), "has changed since"},
		{"an absent name", `test -e absent`, "", write("absent", ""), "absent has changed since"},
		{"a program", `./prog`, "", write("prog", "#!/bin/sh\nexit 1\n"), "prog has changed since"},
		{"a file that it writes", `echo x >over`, "", write("over", "other"), "over"},
		{"the network", `(exec 3<>/dev/tcp/127.0.0.1/9) 2>/dev/null`, "", nil, "refused it"},
		{"a refusal", `echo x 2>/dev/null >../elsewhere`, "", nil, "refused it to write"},
		{"what no draft keeps", `mkfifo pipe`, "", nil, "it is a pipe"},
		{"times", `touch -d yesterday over`, "", nil, "times"},
		{"the same content once more", `printf over >over`, "", nil, "another time"},
		{"a mode that no draft keeps", `mkdir d; chmod +t .`, "", nil, "another time or mode"},
		{"an attribute", `python3 -c 'import os; os.setxattr("over", "user.a", b"1")'`, "", nil, "attributes"},
		{"a time limit", `test -e slow || sleep 20`, `,"timeout_ms":1500`, write("slow", ""), "limit"},
	} {
		t.Run(row.what, func(t *testing.T) {
			if _, err := exec.LookPath("python3"); err != nil && strings.Contains(row.script, "python3") {
				t.Skip(err)
			}
			f, face, drafts := previewed(t, mark+row.script+`; cat once`, row.more, approvals.Once, row.meanwhile)
			if len(face.tried) != 1 {
				t.Fatalf("tried %+v", face.tried)
			}
			data, err := os.ReadFile(filepath.Join(f.outside, "once"))
			if err != nil || len(data) < 20 {
				t.Fatalf("%q, %v", data, err)
			}
			for _, c := range face.tried[0].Changes {
				if strings.Contains(c.Diff, strings.TrimSpace(string(data))) {
					t.Error("the result of the preview was kept")
				}
			}
			if !strings.Contains(f.results()["c"], strings.TrimSpace(string(data))) {
				t.Errorf("result %q, want %q", f.results()["c"], data)
			}
			if w := warned(face); !strings.Contains(w, "ran again after the preview, because") || !strings.Contains(w, row.why) {
				t.Errorf("said %q, want %q", w, row.why)
			}
			if left := leftIn(drafts); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// TestPreviewIsDropped: a no leaves nothing.
func TestPreviewIsDropped(t *testing.T) {
	f, face, drafts := previewed(t, mark+`rm gone`, "", approvals.Deny, nil)
	if left := leftIn(drafts); len(left) > 0 || len(face.tried) != 1 || exists(t, f.outside+"/once") || !exists(t, f.outside+"/gone") {
		t.Errorf("left %v", left)
	}
}

// TestPreviewForTheSession: a yes for longer is a yes.
func TestPreviewForTheSession(t *testing.T) {
	_, face, _ := previewed(t, mark, "", approvals.Session, nil)
	if w := warned(face); w != "" || len(face.tried) != 1 {
		t.Errorf("said %q, tried %v", w, face.tried)
	}
}

// TestPreviewIsCutShort: an answer ends the preview. After a yes the command runs.
func TestPreviewIsCutShort(t *testing.T) {
	for _, answer := range []approvals.Decision{approvals.Once, approvals.Deny} {
		late, began := make(chan error, 1), time.Now()
		f, _, drafts := previewed(t, `test -e second || sleep 30; echo ran >ran`, "", answer, func(outside string) {
			if err := os.WriteFile(filepath.Join(outside, "second"), nil, 0o644); err != nil {
				t.Error(err)
			}
		}, late)
		if err := <-late; err == nil || time.Since(began) > 20*time.Second || len(leftIn(drafts)) > 0 || exists(t, f.outside+"/ran") != (answer == approvals.Once) {
			t.Errorf("%q: %v after %s, left %v", answer, err, time.Since(began), leftIn(drafts))
		}
	}
}
