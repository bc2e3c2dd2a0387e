package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// turnsOnDraft is how many turns the session of TestSessionOnDraft has.
const turnsOnDraft = 40

// TestSessionOnDraft: a session works on a draft for many turns, by commands and patches. The person keeps every second
// hunk at its end; the workspace then has exactly these, and undo takes them back. What somebody else changed stays.
func TestSessionOnDraft(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		var old, now, half strings.Builder
		for i := range turnsOnDraft {
			fmt.Fprintf(&old, "line %d\nkept %d\n", i, i)
			fmt.Fprintf(&now, "turn %d\nkept %d\n", i, i)
			fmt.Fprintf(&half, "%s %d\nkept %d\n", []string{"turn", "line"}[i%2], i, i)
		}
		u.put(t, map[string]string{"work/f": old.String(), "work/theirs": "old\n", "work/gone": "gone\n"})
		turn := 0
		srv := answering(t, func(r scripted.Request) scripted.Reply {
			last := r.Messages[len(r.Messages)-1]
			if last.Role == "tool" {
				if strings.Contains(last.Text, "failed") || strings.Contains(last.Text, "exit 1") {
					t.Errorf("turn %d: %s", turn, last.Text)
				}
				turn++
				return scripted.Reply{Text: fmt.Sprintf("Done %d.", turn)}
			}
			patch := fmt.Sprintf(`*** Begin Patch\n*** Update File: f\n@@\n-line %d\n+turn %d\n*** End Patch`, turn, turn)
			if turn%2 == 0 {
				return scripted.Reply{Calls: []scripted.Call{{Name: "apply_patch", Arguments: `{"patch":"` + patch + `"}`}}}
			}
			return scripted.Reply{Calls: []scripted.Call{shellCall(fmt.Sprintf("grep -qx 'turn %d' f && sed -i 's/^line %d$/turn %d/' f; echo x >theirs; rm -f gone; mkdir -p new; echo %d >new/n", turn-1, turn, turn, turn))}}
		})
		at := func(name string) string { return filepath.Join(u.work, name) }
		is := func(name, want string) {
			t.Helper()
			if got, _ := os.ReadFile(at(name)); string(got) != want {
				t.Errorf("%s is %.300q, want %.300q", name, got, want)
			}
		}
		cmd := u.codeagent("--model", "first", "--ask-for-approval", "never", "--draft")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 40)
		term.WaitFor("Ask codeagent")
		for i := range turnsOnDraft {
			term.Write("go on\r")
			term.WaitFor(fmt.Sprintf("Done %d.", i+1))
		}
		is("f", old.String())
		is("gone", "gone\n")
		if _, err := os.Lstat(at("new")); err == nil {
			t.Error("the workspace has what is on the draft")
		}
		if err := os.WriteFile(at("theirs"), []byte("mine\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		enter(term, "/undo")
		term.WaitFor("nothing of this session is in your files yet")
		enter(term, "/draft")
		term.WaitFor("1 deleted, 2 changed, 1 new")
		term.Write("\x1b")
		term.WaitFor("Done 40.")
		enter(term, "/quit")
		term.WaitFor("decide [l]ater")
		term.Write("s\r")
		term.WaitFor("- gone: ")
		term.Write("y\r")
		term.WaitFor("by [h]unk")
		term.Write("h\r")
		for i := range turnsOnDraft {
			term.WaitFor(fmt.Sprintf("Keep this hunk (%d of %d)", i+1, turnsOnDraft))
			term.Write([]string{"y\r", "n\r"}[i%2])
		}
		term.WaitFor("new/n: ")
		term.Write("n\r")
		term.WaitFor("theirs: ")
		term.Write("y\r")
		if err := term.WaitExit(); err != nil {
			t.Error(err, term.Screen())
		}
		is("f", half.String())
		is("theirs", "mine\n")
		is("gone", "")
		if out, err := u.codeagent("undo").CombinedOutput(); err != nil {
			t.Errorf("undo: %v\n%s", err, out)
		}
		is("f", old.String())
		is("gone", "gone\n")
	})
}

// enter types a line, and sends it once the screen shows it.
func enter(term *golden.Terminal, line string) {
	term.Write(line)
	term.WaitFor("› " + line)
	term.Write("\r")
}

// TestMoveToDraft: /draft moves a session to a draft, and /draft keep brings it back to the files, where /undo works.
func TestMoveToDraft(t *testing.T) {
	t.Parallel()
	turn := 0
	srv := answering(t, func(r scripted.Request) scripted.Reply {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == "tool" {
			turn++
			return scripted.Reply{Text: fmt.Sprintf("Written %d.", turn)}
		}
		return scripted.Reply{Calls: []scripted.Call{shellCall("cat made; echo on >>made")}}
	})
	u := newUser(t, "self", -1)
	made := func() string { data, _ := os.ReadFile(filepath.Join(u.work, "made")); return string(data) }
	cmd := u.codeagent("--model", "first", "--ask-for-approval", "never")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	term := golden.Start(t, cmd, 100, 30)
	term.WaitFor("Ask codeagent")
	term.Write("write it\r")
	term.WaitFor("Written 1.")
	enter(term, "/draft")
	term.WaitFor("resumed session")
	for i := range 2 {
		enter(term, "again")
		term.WaitFor(fmt.Sprintf("Written %d.", i+2))
	}
	if made() != "on\n" {
		t.Errorf("the file is %q", made())
	}
	enter(term, "/draft keep")
	term.WaitFor("kept 1 of 1 change; /undo takes it back")
	if made() != "on\non\non\n" {
		t.Errorf("the file is %q", made())
	}
	enter(term, "/undo")
	term.WaitFor("Enter undoes")
	term.Write("\r")
	term.WaitFor("/redo takes it back")
	if made() != "on\n" {
		t.Errorf("the file is %q", made())
	}
	enter(term, "/draft")
	term.WaitFor("this session works on a draft")
	term.WaitFor("resumed session")
	enter(term, "/draft drop")
	term.WaitFor("your files are as they were")
	enter(term, "/quit")
	if err := term.WaitExit(); err != nil {
		t.Error(err)
	}
}

// TestNoDraftToMoveTo: where no session can work on a draft, /draft says why, and the session stays on the files.
func TestNoDraftToMoveTo(t *testing.T) {
	t.Parallel()
	srv := answering(t, func(r scripted.Request) scripted.Reply { return scripted.Reply{Text: fmt.Sprintf("Answer %d.", r.N)} })
	u := newUser(t, "self", -1)
	cmd := u.codeagent("--model", "first", "--sandbox", "read-only")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	term := golden.Start(t, cmd, 100, 30)
	term.WaitFor("Ask codeagent")
	enter(term, "hello")
	term.WaitFor("Answer ")
	enter(term, "/draft")
	term.WaitFor("no draft: commands may write no folder here")
	term.WaitFor("resumed session")
	enter(term, "/quit")
	if err := term.WaitExit(); err != nil {
		t.Error(err)
	}
}

// TestDraftContinues: a draft outlives its session, also one that was killed, and is one session's at a time.
func TestDraftContinues(t *testing.T) {
	t.Parallel()
	srv := answering(t, func(r scripted.Request) scripted.Reply {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == "tool" {
			return scripted.Reply{Text: last.Text}
		}
		return scripted.Reply{Calls: []scripted.Call{shellCall(last.Text)}}
	})
	u := newUser(t, "self", -1)
	run := func(args ...string) result {
		cmd := u.codeagent(args...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		return run1(t, cmd)
	}
	first := run("exec", "-m", "first", "--draft", "echo 1 >>made")
	_, id, _ := strings.Cut(first.stderr, "codeagent try --draft ")
	id = strings.TrimSpace(id)
	if id == "" {
		t.Fatal(first)
	}
	killed := u.codeagent("exec", "-m", "first", "--draft="+id, "echo 2 >>made; echo >begun; sleep 100")
	killed.Env = append(killed.Env, "OPENAI_BASE_URL="+srv.URL)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(u.home, ".local/state/codeagent/drafts", id, "*/upper/begun")
	for range 500 {
		if found, _ := filepath.Glob(begun); len(found) > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if r := run("try", "--draft", id, "--keep"); r.code != 1 || !strings.Contains(r.stderr, "locked") {
		t.Errorf("while a session works on it: %+v", r)
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()
	if r := run("exec", "-m", "first", "--draft="+id, "cat made; echo 3 >>made; rm begun"); !strings.Contains(r.stdout, "1\n2\n") {
		t.Errorf("the draft continues: %+v", r)
	}
	if r := run("try", "--draft", id, "--keep"); r.code != 0 {
		t.Error(r)
	}
	if data, _ := os.ReadFile(filepath.Join(u.work, "made")); string(data) != "1\n2\n3\n" {
		t.Errorf("kept %q", data)
	}
}
