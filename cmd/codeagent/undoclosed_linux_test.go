package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// opened runs one command with further flags for codeagent.
func (u user) opened(t *testing.T, command string, flags ...string) {
	t.Helper()
	srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall(command)}}, scripted.Reply{Text: "done"})
	cmd := u.codeagent(append(append([]string{"exec", "--model", "test"}, flags...), "change it")...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	if r := run1(t, cmd); r.code != 0 {
		t.Fatalf("the turn: %v", r)
	}
}

// TestUndoTellsWhatOpens: changes that a flag allowed are recorded, and undo without the flag
// names the command that restores them. Restoring the rest does not finish the turn.
func TestUndoTellsWhatOpens(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		for _, dir := range []string{u.work, u.out} {
			own(t, u, filepath.Join(dir, "a"), "old\n")
		}
		was, inside := treeOf(t, u.out), treeOf(t, u.work)
		u.opened(t, "echo new > a; echo new > "+u.out+"/a; mkdir "+u.out+"/d; echo new > "+u.out+"/d/made", "--add-dir", u.out)
		r := run1(t, u.codeagent("undo"))
		if r.code != 0 || !strings.Contains(r.stdout, u.work+"/a") {
			t.Errorf("the workspace's: %v", r)
		}
		if d := differences(inside, treeOf(t, u.work)); d != "" {
			t.Errorf("the workspace is not as it was:\n%s", d)
		}
		for range 2 { // the turn stays
			r = run1(t, u.codeagent("undo"))
			tells(t, r, 1, "saved, but not restored: "+u.out+"/a: undo may not write it",
				"to restore it: codeagent undo --add-dir "+u.out+"\n", "nothing was restored")
			if strings.Contains(r.stderr, "not kept") {
				t.Errorf("it is kept: %s", r.stderr)
			}
		}
		putsBack(t, u, was)
	})
}

// TestUndoOffersNoRemovalByName: the permission for one file does not allow its removal, so
// that is not offered; it does allow restoring its content.
func TestUndoOffersNoRemovalByName(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		old, made := filepath.Join(u.out, "old"), filepath.Join(u.out, "made")
		own(t, u, old, "old\n")
		was := treeOf(t, u.out)
		u.opened(t, "echo new > "+old, "--add-file", old)
		if r := run1(t, u.codeagent("undo", "--add-file", old)); r.code != 0 {
			t.Errorf("a content: %v", r)
		}
		u.opened(t, "echo new > "+made, "--add-file", made)
		r := run1(t, u.codeagent("undo", "--add-file", made))
		tells(t, r, 1, "saved, but not restored: "+made+": undo may not write in its folder", "to restore it: codeagent undo --add-dir "+u.out+"\n")
		if strings.Contains(r.stderr, "failed: ") {
			t.Errorf("it was tried: %s", r.stderr)
		}
		putsBack(t, u, was)
		// No flag opens the home folder: the person removes it.
		home := filepath.Join(u.home, "made")
		u.opened(t, "echo new > "+home, "--add-file", home)
		r = run1(t, u.codeagent("undo"))
		tells(t, r, 1, home+": undo may not write it; remove it with rm")
		if strings.Contains(r.stderr, "to restore it") {
			t.Errorf("no such command works: %s", r.stderr)
		}
	})
}

// own makes a file of the user's.
func own(t *testing.T, u user, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(path, u.uid, u.uid); err != nil {
		t.Fatal(err)
	}
}

// tells wants a status and texts on the error output.
func tells(t *testing.T, r result, code int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("it does not say %q", text)
		}
	}
	if r.code != code || t.Failed() {
		t.Errorf("status %d, want %d: %v", r.code, code, r)
	}
}

// TestUndoTellsWhatOpensOnTheScreen: a patch outside the workspace that was allowed once is
// recorded, and /undo names the command that restores it after the session.
func TestUndoTellsWhatOpensOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		f := filepath.Join(u.out, "f")
		own(t, u, f, "old\n")
		srv := serve(t, scripted.Reply{Calls: []scripted.Call{{Name: "apply_patch", Arguments: arguments("patch",
			"*** Begin Patch\n*** Update File: "+f+"\n@@\n-old\n+new\n*** End Patch")}}}, scripted.Reply{Text: "All changed."})
		cmd := u.codeagent("--model", "test", "change it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 160, 40)
		term.WaitFor("this once")
		term.Write("\x19") // Ctrl+Y
		term.Write("1")
		term.WaitFor("All changed.")
		term.WaitGone(working) // otherwise it is not accepted
		term.Write("/undo\r")
		term.WaitFor("Saved, but not writable now: 1")
		term.WaitFor("undo may not write it")
		term.WaitFor("once this session has ended: codeagent undo ")
		term.WaitFor("--add-dir " + u.out)
		term.Write("\x1b")
		term.WaitGone("Saved, but not writable now")
		term.Write("/quit\r")
		if err := term.WaitExit(); err != nil {
			t.Errorf("it ends with %v", err)
		}
		if r := run1(t, u.codeagent("undo", "--add-dir", u.out)); r.code != 0 {
			t.Errorf("the suggested command: %v", r)
		}
		if is, err := os.ReadFile(f); err != nil || string(is) != "old\n" {
			t.Errorf("%s is %q, %v", f, is, err)
		}
	})
}

// putsBack runs the suggested command and checks that the files outside are restored.
func putsBack(t *testing.T, u user, was map[string]string) {
	t.Helper()
	if r := run1(t, u.codeagent("undo", "--add-dir", u.out)); r.code != 0 {
		t.Errorf("the suggested command: %v", r)
	}
	if d := differences(was, treeOf(t, u.out)); d != "" {
		t.Errorf("not as it was:\n%s", d)
	}
}
