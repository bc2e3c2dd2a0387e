package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// endlessPage starts a server whose page never ends, and returns its address.
func endlessPage(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for line := "-"; strings.TrimSpace(line) != ""; {
					if line, err = r.ReadString('\n'); err != nil {
						return
					}
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nthe page begins\n")
				_, _ = io.Copy(io.Discard, r)
			}()
		}
	}()
	return l.Addr().String()
}

// sessionKey is the key next to the answer for the session.
var sessionKey = regexp.MustCompile(`(?m)(\d)\W+this session\b`)

// TestRevokeOnTheScreen: an answer for the session is listed with its origin, and revoked while
// curl reads from the host. The transfer is cut, the host cannot be reached again, and the next
// command asks again.
func TestRevokeOnTheScreen(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	need(t, "curl")
	if r := u.sandboxed(t, "true", "--allow-host", "127.0.0.1:1"); r.code == 125 {
		t.Skipf("single hosts cannot be opened here: %s", r.stderr)
	}
	at := endlessPage(t)
	get := "curl -sN http://" + at + "/; echo curl ended with $?"
	srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall(get + "; " + get)}},
		scripted.Reply{Calls: []scripted.Call{shellCall(get + " # again")}}, scripted.Reply{Text: "That was it."})
	cmd := u.codeagent("--model", "test", "run it")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	term := golden.Start(t, cmd, 120, 50)
	term.WaitFor("wants to reach " + at + " · the command waits")
	key := sessionKey.FindStringSubmatch(term.Screen())
	if key == nil {
		t.Fatalf("no answer for the session:\n%s", term.Screen())
	}
	term.Write("\x19" + key[1])
	term.WaitFor("the page begins")
	term.Write("/permissions\r")
	term.WaitFor("What is open beyond the policy")
	term.WaitFor("network " + at)
	term.WaitFor("you answered · this session")
	term.Write("\x18")
	term.WaitFor("nothing beyond the policy is open")
	term.Write("\x1b")
	term.WaitGone("What is open beyond the policy")
	term.WaitFor("revoked: network " + at)
	term.WaitFor("1 open connection ended")
	term.WaitFor("wants to reach " + at + " · the command waits") // the second command
	term.Write("\x19n")
	term.WaitFor("no, because:")
	term.Write("\r")
	term.WaitFor("That was it.")
	requests := srv.Requests()
	told := requests[1].Messages[len(requests[1].Messages)-1].Text
	// 56: the transfer was cut; 7: the connection was refused.
	for _, want := range []string{"the page begins\n", "curl ended with 56\n", "curl ended with 7\n"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model is not told %q:\n%s", want, told)
		}
	}
	if r := run1(t, u.codeagent("permissions")); r.code != 0 || !strings.Contains(r.stdout, "nothing beyond the policy is open") {
		t.Errorf("after the session: %v", r)
	}
}

// TestAnswerIsExported: an answer for the session on the screen is listed afterwards. Its export
// opens the same and no more in a run without a screen.
func TestAnswerIsExported(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		term, _ := heldOnScreen(t, u)
		term.WaitFor("wants to write ~/a · the command waits")
		key := sessionKey.FindStringSubmatch(term.Screen())
		if key == nil {
			t.Fatalf("no answer for the session:\n%s", term.Screen())
		}
		term.Write("\x19" + key[1])
		term.WaitFor("wants to write ~/b · the command waits")
		term.Write("\x19n")
		term.WaitFor("no, because:")
		term.Write("\r")
		term.WaitFor("That was it.")
		term.Write("/quit\r")
		if err := term.WaitExit(); err != nil {
			t.Fatal(err)
		}
		if r := run1(t, u.codeagent("permissions", "list")); !strings.Contains(r.stdout, "g1  write "+u.home+"/a  (question, session ") || strings.Contains(r.stdout, u.home+"/b") {
			t.Errorf("listed: %v", r)
		}
		file := u.home + "/approvals.toml"
		if r := run1(t, u.codeagent("permissions", "export", file)); r.code != 0 {
			t.Fatalf("export: %v", r)
		}
		if err := os.Remove(u.home + "/a"); err != nil {
			t.Fatal(err)
		}
		srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall("for f in a b; do echo x > $HOME/$f; done")}}, scripted.Reply{Text: "over"})
		cmd := u.codeagent("exec", "--model", "test", "--approvals", file, "run it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		r := run1(t, cmd)
		_, a := os.Lstat(u.home + "/a")
		_, b := os.Lstat(u.home + "/b")
		if a != nil || b == nil {
			t.Errorf("a: %v, b: %v after %v", a, b, r)
		}
	})
}
