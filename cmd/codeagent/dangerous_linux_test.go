package main

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// gone are ways to lose files, with the words of their results. The sandbox reports each change
// before it is made, for every program and every form of the command.
var gone = []struct{ name, command, deleted, needs string }{
	{"rm", "rm -rf data", "deleted 500 files", ""},
	{"substituted", `sh -c "$(echo rm -rf data)"`, "deleted 500 files", ""},
	{"find", "find data -type f -delete", "deleted 500 files", "find"},
	{"python", `python3 -c 'import shutil; shutil.rmtree("data")'`, "deleted 500 files", "python3"},
	{"git clean", "git clean -qfdx data", "deleted 500 files", "git"},
	{"git reset", "git reset -q --hard", "overwrote 3 files", "git"},
	{"moved first", "mv data elsewhere && rm -rf elsewhere", "deleted 500 files", ""},
	{"replaced", "for f in data/1*; do echo x > $f; done", "overwrote 111 files", ""},
}

// dangerousTree fills the workspace with 500 files that git ignores and three changed tracked
// files.
func dangerousTree(t *testing.T, u user) {
	t.Helper()
	script := `mkdir data && i=0 && while [ $i -lt 500 ]; do echo $i > data/$i; i=$((i+1)); done
if command -v git > /dev/null; then
	echo data > .gitignore && echo bin >> .gitignore && git init -q . && for f in a b c; do echo old > $f; done &&
	git add a b c .gitignore && git -c user.name=a -c user.email=a@b commit -qm a && for f in a b c; do echo changed > $f; done
fi`
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = u.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	u.owns(t)
}

// owns makes u the owner of everything in the workspace.
func (u user) owns(t *testing.T) {
	t.Helper()
	if u.uid < 0 {
		return
	}
	err := filepath.WalkDir(u.work, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, u.uid, u.uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// worktree is treeOf without git's own files.
func worktree(t *testing.T, u user) map[string]string {
	t.Helper()
	all := treeOf(t, u.work)
	for name := range all {
		if name == "/.git" || strings.HasPrefix(name, "/.git/") {
			delete(all, name)
		}
	}
	return all
}

// TestDangerousInside: the result says once which files a command deleted or overwrote, except
// files that the session had made. Undo restores them.
func TestDangerousInside(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		dangerousTree(t, u)
		was := worktree(t, u)
		for _, g := range machine.Pick(t, t.Name(), 1, len(gone), gone) {
			t.Run(g.name, func(t *testing.T) {
				if g.needs != "" {
					need(t, g.needs)
				}
				srv, err := scripted.Start(context.Background(), scripted.InOrder(
					scripted.Reply{Calls: []scripted.Call{{Name: "shell", Arguments: arguments("command", "echo x > own && "+g.command+"; rm own")}}}, scripted.Reply{Text: "done"}))
				if err != nil {
					t.Fatal(err)
				}
				defer srv.Close()
				cmd := u.codeagent("exec", "--model", "test", "go")
				cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
				r := run1(t, cmd)
				line := g.deleted + " that this session had not made; /undo can restore all of it"
				if r.code != 0 || strings.Count(r.stderr, line) != 1 {
					t.Errorf("the user does not read %q: %v", line, r)
				}
				requests := srv.Requests()
				messages := requests[len(requests)-1].Messages
				if got := messages[len(messages)-1].Text; strings.Count(got, "[undo] The command "+line+".") != 1 {
					t.Errorf("the model does not read %q:\n%s", line, got)
				}
				if d := differences(was, worktree(t, u)); d == "" {
					t.Error("the command lost nothing")
				}
				if r := run1(t, u.codeagent("undo")); r.code != 0 {
					t.Errorf("undo: %v", r)
				}
				if d := differences(was, worktree(t, u)); d != "" {
					t.Errorf("not as it was:\n%s", d)
				}
			})
		}
	})
}

// TestOwnFilesAreNotDangerous: files that the session itself made, in this command or an earlier
// one, are not reported.
func TestOwnFilesAreNotDangerous(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	r := u.play(t, "go", scripted.Reply{Calls: []scripted.Call{shellCall("mkdir a b; for i in 1 2 3 4; do echo > a/$i; echo > b/$i; done; rm -r a")}},
		scripted.Reply{Calls: []scripted.Call{shellCall("for i in 1 2 3 4; do echo x > b/$i; done; rm -r b")}}, scripted.Reply{Text: "done"})
	if r.code != 0 || strings.Contains(r.stdout+r.stderr, "/undo") {
		t.Errorf("%v", r)
	}
	if _, err := os.Lstat(u.work + "/b"); err == nil {
		t.Error("b was not deleted")
	}
}

// tooLarge is a file that is too large for undo and uses no disk space.
func tooLarge(t *testing.T, u user, name string) string {
	t.Helper()
	p := filepath.Join(u.work, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, size := range map[string]int64{p: 65 << 20, filepath.Join(filepath.Dir(p), "small"): 5} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	u.owns(t)
	return p
}

// TestLossIsAsked: before a file is lost that undo could not restore, the person is asked, once per
// command, also under untrusted. After a no the file stays. Nobody is asked about files that the
// session itself made, in this command or an earlier one.
func TestLossIsAsked(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		big, other := tooLarge(t, u, "data/big"), tooLarge(t, u, "more/other")
		moved := tooLarge(t, u, "moved/big")
		srv := serve(t,
			scripted.Reply{Calls: []scripted.Call{shellCall("truncate -s 65M own own2 && rm own && echo made > note && rm note && echo one done")}},
			scripted.Reply{Calls: []scripted.Call{shellCall("rm own2 && rm -rf data more; echo two done")}},
			scripted.Reply{Calls: []scripted.Call{shellCall("echo > data/big && rm -rf data more && echo three done")}},
			scripted.Reply{Calls: []scripted.Call{shellCall("mv moved away && truncate -s 66M new && mv new away/big && echo four done")}},
			scripted.Reply{Text: "That was it."})
		cmd := u.codeagent("--model", "test", "clean up")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 160, 45)
		const title = "wants to delete or replace what /undo cannot bring back"
		term.WaitFor(title + " · the command waits")
		term.WaitFor("the first file: " + big + "; undo could not bring it back: over 64 MiB")
		term.WaitFor("a yes covers everything that this command deletes or replaces")
		term.Write("\x19n")
		term.WaitFor("no, because:")
		term.Write("I need it\r")
		term.WaitUntil("the second question", func(s string) bool { return strings.Contains(s, "three done") && strings.Contains(s, title) })
		for _, p := range []string{big, other} {
			if info, err := os.Lstat(p); err != nil || info.Size() != 65<<20 {
				t.Errorf("after a no: %v, %v", info, err)
			}
		}
		if _, err := os.Lstat(filepath.Dir(big) + "/small"); err == nil {
			t.Error("what undo holds was not deleted")
		}
		term.Write("\x191")
		term.WaitUntil("the third question", func(s string) bool { return strings.Contains(s, "four done") && strings.Contains(s, title) })
		for _, p := range []string{big, other} {
			if _, err := os.Lstat(p); err == nil {
				t.Errorf("%s is still there after a yes", p)
			}
		}
		term.Write("\x19n")
		term.WaitFor("no, because:")
		term.Write("\r")
		term.WaitFor("That was it.")
		if info, err := os.Lstat(filepath.Join(u.work, "away/big")); err != nil || info.Size() != 65<<20 {
			t.Errorf("%s, moved, was replaced after a no: %v, %v", moved, info, err)
		}
		requests := srv.Requests()
		var told []string
		for _, m := range requests[len(requests)-1].Messages {
			told = append(told, m.Text)
		}
		text := strings.Join(told, "\n----\n")
		for _, want := range []string{
			"one done", "two done", "three done",
			"the user was asked and did not open: " + big + " (the user said no: I need it)",
			"the user opened for it: deleting and replacing files that /undo cannot bring back.",
			"deleted 2 files that this session had not made; /undo can restore all of it",
			"; /undo cannot restore this",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the model does not read %q", want)
			}
		}
		if t.Failed() {
			t.Log(text)
		}
	})
}

// TestLossIsRefused: in a run without a person the file stays, and the model reads the reason. With
// the setting undo.unkept the file is deleted.
func TestLossIsRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--ask-for-approval", "never"}} {
		u := newUser(t, "self", -1)
		big := tooLarge(t, u, "data/big")
		for _, setting := range []string{"ask", "allow"} {
			srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall("rm -rf data")}}, scripted.Reply{Text: "done"})
			cmd := u.codeagent(append([]string{"exec", "--model", "test", "-c", "undo.unkept=" + setting}, append(args, "go")...)...)
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			r := run1(t, cmd)
			_, err := os.Lstat(big)
			requests := srv.Requests()
			messages := requests[len(requests)-1].Messages
			told := messages[len(messages)-1].Text
			refused := strings.Contains(told, "- delete or replace "+big) && strings.Contains(told, "undo could not bring it back: over 64 MiB") &&
				strings.Contains(told, "Only the user may allow what undo cannot reverse")
			if (err == nil) != (setting == "ask") || refused != (setting == "ask") || setting == "ask" && (r.code != 3 || !strings.Contains(r.stderr, "-c undo.unkept=allow")) || setting == "allow" && r.code != 0 {
				t.Errorf("%v %s: %v, %v\n%s", args, setting, err, r, told)
			}
		}
	}
}

// TestOverwritingPushIsRefused: in a run without a person, no push overwrites or deletes a branch
// of a remote repository, in any form of the command. The setting undo.unkept allows it. Other
// pushes run.
func TestOverwritingPushIsRefused(t *testing.T) {
	t.Parallel()
	need(t, "git")
	u := newUser(t, "self", -1)
	script := `git init -q -b main . && git init -q --bare remote.git && git remote add origin ./remote.git &&
echo remote.git > .gitignore && echo bin >> .gitignore && git add .gitignore && git commit -qm one && git push -q origin main main:old &&
git commit -q --amend -m two`
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = u.work
	cmd.Env = append(os.Environ(), "HOME="+u.home, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	refs := func() string {
		out, err := exec.Command("git", "-C", u.work+"/remote.git", "for-each-ref", "--format=%(refname:short) %(subject)").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	const before = "main one\nold one\n"
	for _, c := range []struct{ command, setting, after string }{
		{"git push -f origin main", "ask", before},
		{"sh -c 'git push origin :old'", "ask", before},
		{"git push origin main:new", "ask", "main one\nnew two\nold one\n"},
		{"git push -f origin main && git push -d origin old", "allow", "main two\nnew two\n"},
	} {
		srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall(c.command)}}, scripted.Reply{Text: "done"})
		cmd := u.codeagent("exec", "--model", "test", "-c", "undo.unkept="+c.setting, "go")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		r := run1(t, cmd)
		requests := srv.Requests()
		messages := requests[len(requests)-1].Messages
		told := messages[len(messages)-1].Text
		refused := c.after == before
		if after := refs(); after != c.after {
			t.Errorf("%s: the remote has %q, not %q", c.command, after, c.after)
		}
		if refused && (r.code != 3 || !strings.Contains(r.stderr, "-c undo.unkept=allow") || !strings.Contains(told, "nothing on this machine can restore")) || !refused && r.code != 0 {
			t.Errorf("%s: %v\n%s", c.command, r, told)
		}
	}
}
