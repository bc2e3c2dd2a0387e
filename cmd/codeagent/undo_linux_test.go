package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/golden"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// formatted is how many files the formatter rewrites.
const formatted = 500

// makeTree fills the workspace with files of all sorts, as u's own.
func makeTree(t *testing.T, u user) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string {
		p := filepath.Join(u.work, name)
		must(os.MkdirAll(filepath.Dir(p), 0o755))
		return p
	}
	for i := range formatted {
		name, text := fmt.Sprintf("src/d%d/f%03d.txt", i%9, i), fmt.Sprintf("line one  \nnumber %d\t\n", i)
		switch i % 7 {
		case 1:
			text = strings.ReplaceAll(text, "\n", "\r\n")
		case 2:
			text = strings.TrimSuffix(text, "\n")
		case 3:
			name = strings.Replace(name, "/f", "/with space\n and more", 1)
		case 4:
			name = strings.Replace(name, "/f", "/\xff\xfe", 1)
		case 5:
			text = strings.Repeat(text, 20_000) // too large for the shared file of contents
		}
		must(os.WriteFile(at(name), []byte(text), 0o644))
		if i%5 == 0 {
			must(os.Chmod(at(name), 0o755))
		}
	}
	must(os.WriteFile(at("patched.txt"), []byte("one\ntwo\nthree\n"), 0o640))
	must(os.WriteFile(at("deleted.txt"), []byte("delete me"), 0o600))
	must(os.WriteFile(at("readonly"), []byte("read only\n"), 0o444))
	must(os.WriteFile(at("tool/run.sh"), []byte("#!/bin/sh\n"), 0o644))
	must(os.WriteFile(at("old/deep/er/f"), []byte("moved\n"), 0o644))
	must(os.WriteFile(at("two names"), []byte("two\n"), 0o644))
	must(os.Link(at("two names"), at("other name")))
	must(os.Symlink("patched.txt", at("link")))
	must(os.Symlink("nowhere \xff", at("dangling")))
	must(os.Mkdir(at("empty"), 0o750))
	must(os.WriteFile(at("shut/changed"), []byte("old\n"), 0o444))
	must(os.WriteFile(at("shut/gone"), []byte("gone\n"), 0o444))
	must(os.Chmod(at("shut"), 0o555))
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwx", u.work).Run() }) // so that it can be removed
	must(syscall.Mkfifo(at("pipe"), 0o600))
	repo := exec.Command("sh", "-c", "git init -q repo && cd repo && echo a > a && git add a && git -c user.name=a -c user.email=a@b commit -qm a")
	repo.Dir = u.work
	must(repo.Run())
	if u.uid >= 0 {
		must(filepath.WalkDir(u.work, func(p string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(p, u.uid, u.uid)
		}))
	}
}

// treeOf is all of a folder: type, permissions, owner and content of each entry.
func treeOf(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		is := fmt.Sprintf("%v %d", info.Mode(), info.Sys().(*syscall.Stat_t).Uid)
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			is += fmt.Sprintf(" %d names, %d bytes, %x", info.Sys().(*syscall.Stat_t).Nlink, len(data), sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			is = "link to " + to
		}
		out[strings.TrimPrefix(p, root)] = is
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// differences lists at most ten.
func differences(was, is map[string]string) string {
	var b strings.Builder
	n := 0
	say := func(format string, args ...any) {
		if n++; n <= 10 {
			fmt.Fprintf(&b, format+"\n", args...)
		}
	}
	for name, w := range was {
		if is[name] != w {
			say("%q is %q, was %q", name, is[name], w)
		}
	}
	for name, i := range is {
		if _, ok := was[name]; !ok {
			say("%q is new: %s", name, i)
		}
	}
	if n > 10 {
		fmt.Fprintf(&b, "and %d more\n", n-10)
	}
	return b.String()
}

// formatter removes blanks from line ends, alternately by a new file in place of the old one
// and by writing into the file.
const formatter = `find src -type f -print0 | sort -z > $TMPDIR/list
xargs -0 sed -i 's/[[:space:]]*$//' < $TMPDIR/list
while IFS= read -r -d '' f && IFS= read -r -d '' _; do printf 'formatted\n' >> "$f"; done < $TMPDIR/list`

// everything is one turn with every kind of file change.
var everything = []scripted.Reply{
	{Calls: []scripted.Call{{Name: "apply_patch", Arguments: arguments("patch", "*** Begin Patch\n*** Update File: patched.txt\n@@\n one\n-two\n+2\n three\n"+
		"*** Add File: added/by/patch.txt\n+added\n*** Delete File: deleted.txt\n*** Update File: tool/run.sh\n*** Move to: tool/moved.sh\n@@\n-#!/bin/sh\n+#!/bin/bash\n*** End Patch")}}},
	{Calls: []scripted.Call{{Name: "shell", Arguments: arguments("command", formatter)}}},
	{Calls: []scripted.Call{
		{Name: "shell", Arguments: arguments("command", `chmod +x patched.txt; chmod 0700 tool; mv old new; echo changed > new/deep/er/f; rm -r src/d3; mkdir -p made/tree; date > made/tree/now; ln -s / made/root`)},
		{Name: "shell", Arguments: arguments("command", `chmod u+w readonly; echo x >> readonly; chmod 0444 readonly; ln -sfn elsewhere link; rm dangling; rmdir empty; echo file > empty; ln readonly third`)},
		{Name: "shell", Arguments: arguments("command", `chmod u+w shut; rm -f shut/gone; chmod u+w shut/changed; echo new > shut/changed; chmod u-w shut/changed; mkdir shut/made; echo > shut/made/f; chmod 0555 shut/made shut`)},
	}},
	{Calls: []scripted.Call{{Name: "shell", Arguments: arguments("command", `cd repo && echo b > b && git rm -q a && git add b && git -c user.name=a -c user.email=a@b commit -qm b && git switch -qc other && git gc -q; tar cf - b | (mkdir ../copy && cd ../copy && tar xf -)`)}}},
	{Text: "done"},
}

func arguments(name, value string) string {
	data, _ := json.Marshal(map[string]string{name: value}) // strings do not fail
	return string(data)
}

// play runs one prompt against a model that plays replies.
func (u user) play(t *testing.T, prompt string, replies ...scripted.Reply) result {
	t.Helper()
	srv, err := scripted.Start(context.Background(), scripted.InOrder(replies...))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	cmd := u.codeagent("exec", "--model", "test", prompt)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	return run1(t, cmd)
}

// TestUndoEverything: after a turn that patched, made, removed and moved files, changed
// permissions and ran a formatter over 500 files, undo restores everything, byte for byte.
func TestUndoEverything(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		need(t, "git")
		makeTree(t, u)
		was := treeOf(t, u.work)
		if r := u.play(t, "do it all", everything...); r.code != 0 || !strings.Contains(r.stdout, "done") {
			t.Fatalf("%v", r)
		}
		changed := treeOf(t, u.work)
		for _, name := range []string{"/added/by/patch.txt", "/tool/moved.sh", "/new/deep/er/f", "/made/root", "/copy/b"} {
			if changed[name] == "" {
				t.Errorf("the turn did not make %s", name)
			}
		}
		n := 0
		for name, w := range was {
			if strings.HasPrefix(name, "/src/d") && changed[name] != w {
				n++
			}
		}
		if n < formatted {
			t.Errorf("the turn changed %d files of %d", n, formatted)
		}
		begun := time.Now()
		r := run1(t, u.codeagent("undo"))
		t.Logf("undone in %s", time.Since(begun))
		if r.code != 0 || strings.Contains(r.stderr, "left alone") || strings.Contains(r.stderr, "not kept") {
			t.Errorf("undo: status %d, %s", r.code, r.stderr)
		}
		if d := differences(was, treeOf(t, u.work)); d != "" {
			t.Errorf("not as it was:\n%s", d)
		}
	})
}

var staying = regexp.MustCompile(`left alone: (.*): it contains files that stay`)

// TestUndoAfterKill: the changes of a codeagent that was killed at any moment can be undone by
// the next one.
func TestUndoAfterKill(t *testing.T) {
	t.Parallel()
	kills := machine.Times(3, 10)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	need(t, "git")
	u := newUser(t, "self", -1)
	makeTree(t, u)
	was := treeOf(t, u.work)
	begun := time.Now()
	if r := u.play(t, "do it all", everything...); r.code != 0 {
		t.Fatalf("without a kill: %v", r)
	}
	whole := time.Since(begun)
	if r := run1(t, u.codeagent("undo")); r.code != 0 {
		t.Fatalf("without a kill: %v", r)
	}
	cut := 0
	for range kills {
		srv, err := scripted.Start(context.Background(), scripted.InOrder(everything...))
		if err != nil {
			t.Fatal(err)
		}
		cmd := u.codeagent("exec", "--model", "test", "do it all")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(random.Int64N(int64(whole))), func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		_ = cmd.Wait()
		kill.Stop()
		srv.Close()
		r := run1(t, u.codeagent("undo"))
		// It may have been killed before it changed anything.
		early := strings.Contains(r.stderr, "no session in this folder changed anything") || strings.Contains(r.stderr, "nothing to undo in session")
		if strings.Contains(r.stderr, "cut off") {
			cut++
		}
		now := treeOf(t, u.work)
		// What a call put into a folder that it made is not known before the call is over. It stays, and undo says so.
		for _, m := range staying.FindAllStringSubmatch(r.stderr, -1) {
			dir := strings.TrimPrefix(m[1], u.work)
			maps.DeleteFunc(now, func(name, _ string) bool { return was[name] == "" && (name == dir || strings.HasPrefix(name, dir+"/")) })
		}
		if d := differences(was, now); d != "" || r.code != 0 && !early {
			t.Fatalf("seed %d: not as it was:\n%s%v\n%s", seed, d, r, out.String())
		}
	}
	t.Logf("%d turns of %d were cut off and undone", cut, kills)
}

// TestUndoWaitsForCommands: after a kill, undo waits until the commands of the session have ended.
func TestUndoWaitsForCommands(t *testing.T) {
	t.Parallel() // waits a second
	u := newUser(t, "self", -1)
	was := treeOf(t, u.work)
	srv, err := scripted.Start(context.Background(), scripted.InOrder(scripted.Reply{Calls: []scripted.Call{shellCall("echo made > made; exec sleep 1000")}}))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	cmd := u.codeagent("exec", "--model", "test", "sleep")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(u.work, "made")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the command made nothing")
		}
	}
	keepers := childrenOf(t, cmd.Process.Pid)
	for _, pid := range keepers {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // so it ends no command
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	undone := make(chan result)
	go func() { undone <- run1(t, u.codeagent("undo")) }()
	select {
	case r := <-undone:
		t.Errorf("undone before the command had ended: %v", r)
	case <-time.After(time.Second):
	}
	for _, pid := range keepers {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	if !t.Failed() {
		if r := <-undone; r.code != 0 {
			t.Errorf("%v", r)
		}
	}
	if d := differences(was, treeOf(t, u.work)); d != "" {
		t.Errorf("not as it was:\n%s", d)
	}
}

// TestUndoLeavesHardLinks: a file with several names that a command wrote into is reported
// as a conflict and left alone; the rest of the turn is undone.
func TestUndoLeavesHardLinks(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	at := func(name string) string { return filepath.Join(u.work, name) }
	for _, name := range []string{"two", "c"} {
		if err := os.WriteFile(at(name), []byte("old\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(at("two"), at("names")); err != nil {
		t.Fatal(err)
	}
	if r := u.play(t, "change it", scripted.Reply{Calls: []scripted.Call{shellCall("echo new >> two; echo new >> c")}}, scripted.Reply{Text: "done"}); r.code != 0 {
		t.Fatalf("%v", r)
	}
	r := run1(t, u.codeagent("undo"))
	if !strings.Contains(r.stdout+r.stderr, at("two")+": it has several names (hard links)") {
		t.Errorf("the conflict is not reported: %v", r)
	}
	for name, want := range map[string]string{"two": "old\nnew\n", "names": "old\nnew\n", "c": "old\n"} {
		if data, err := os.ReadFile(at(name)); err != nil || string(data) != want {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
}

// TestUndoOnTheScreen: /undo shows its plan, and executes it on Enter; the model is informed
// with the next message. A repository that the session made is removed too.
func TestUndoOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		need(t, "git")
		for _, name := range []string{"a.txt", "mine.txt"} {
			if err := os.WriteFile(filepath.Join(u.work, name), []byte("old\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Lchown(filepath.Join(u.work, name), u.uid, u.uid); err != nil {
				t.Fatal(err)
			}
		}
		was := treeOf(t, u.work)
		srv := serve(t,
			scripted.Reply{Calls: []scripted.Call{shellCall("echo new > a.txt; echo new > mine.txt; git init -q repo && echo x > repo/x")}},
			scripted.Reply{Text: "All changed."}, scripted.Reply{Text: "I see."})
		cmd := u.codeagent("--model", "test", "change it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 40)
		term.WaitFor("All changed.")
		term.WaitGone(working) // otherwise it is not accepted
		if err := os.WriteFile(filepath.Join(u.work, "mine.txt"), []byte("mine\n"), 0); err != nil {
			t.Fatal(err)
		}
		term.Write("/undo\r")
		term.WaitFor("Will be undone")
		term.WaitFor("Changed by somebody else, left as they are: 1")
		term.WaitFor("it was changed after the turn")
		term.Write("\r")
		term.WaitFor("↶ undone: ")
		is := treeOf(t, u.work)
		was["/mine.txt"] = is["/mine.txt"]
		if d := differences(was, is); d != "" {
			t.Errorf("not as it was:\n%s", d)
		}
		if data, err := os.ReadFile(filepath.Join(u.work, "mine.txt")); err != nil || string(data) != "mine\n" {
			t.Errorf("the user's own is %q, %v", data, err)
		}
		term.Write("and now?\r")
		term.WaitFor("I see.")
		requests := srv.Requests()
		messages := requests[len(requests)-1].Messages
		if told := messages[len(messages)-1].Text; !strings.Contains(told, "The user undid what was changed after the message \"change it\"") || !strings.Contains(told, u.work+"/a.txt (restore)") {
			t.Errorf("the model got %q", told)
		}
	})
}

// TestUndoLeavesRepositories: a later undo leaves a repository that a session made complete,
// with one line, also bare ones and worktrees; files around it are removed.
func TestUndoLeavesRepositories(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		need(t, "git")
		setup := exec.Command("sh", "-c", "git init -q old && cd old && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a && mkdir ../r && echo keep > ../r/HEAD && chown -R "+fmt.Sprint(max(u.uid, 0))+" . ../r || true")
		setup.Dir = u.work
		if out, err := setup.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		was := treeOf(t, u.work)
		r := u.play(t, "make them", scripted.Reply{Calls: []scripted.Call{shellCall(
			"git init -q --bare d/bare.git; git init -q --separate-git-dir apart normal; git -C old worktree add -q ../tree; rm -r r; git init -q --bare r; echo x > around; echo x > d/around")}},
			scripted.Reply{Text: "done"})
		made := treeOf(t, u.work)
		repositories := []string{"/d/bare.git", "/apart", "/normal/.git", "/tree/.git", "/old/.git", "/r"}
		for _, name := range repositories {
			if made[name] == was[name] && name != "/old/.git" && name != "/r" {
				t.Fatalf("the turn did not make %s: %v", name, r)
			}
		}
		r = run1(t, u.codeagent("undo"))
		if n := strings.Count(r.stderr, "left alone"); r.code != 0 || n != len(repositories) || strings.Contains(r.stderr, "failed") {
			t.Errorf("%d lines for %d repositories: %v", n, len(repositories), r)
		}
		is := treeOf(t, u.work)
		for _, name := range []string{"/around", "/d/around"} {
			if is[name] != "" {
				t.Errorf("%s stays", name)
			}
		}
		for name, w := range made {
			whole := false
			for _, repository := range repositories {
				whole = whole || name == repository || strings.HasPrefix(name, repository+"/")
			}
			if whole && is[name] != w {
				t.Errorf("%s is %q, was %q", name, is[name], w)
			}
		}
	})
}
