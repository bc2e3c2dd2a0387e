package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// heldOnScreen is codeagent on a terminal whose model runs one command that
// writes two files outside.
func heldOnScreen(t *testing.T, u user, args ...string) (term *golden.Terminal, srv *scripted.Server) {
	t.Helper()
	srv = serve(t,
		scripted.Reply{Calls: []scripted.Call{shellCall("for f in a b; do echo x > $HOME/$f && echo wrote $f || echo no $f; done")}},
		scripted.Reply{Text: "That was it."})
	cmd := u.codeagent(append(args, "--model", "test", "run it")...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	return golden.Start(t, cmd, 160, 40), srv
}

// TestHeldOnTheScreen: the command waits, the person answers each question separately, and the
// same command continues; the model is informed.
func TestHeldOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		term, srv := heldOnScreen(t, u)
		term.WaitFor("wants to write ~/a · the command waits")
		term.WaitFor("waiting for your answer")
		term.WaitUntil("how long there is to answer", regexp.MustCompile(`auto-deny in [0-4]:[0-5]\d`).MatchString)
		term.Write("\x191") // Ctrl+Y, once
		term.WaitFor("wants to write ~/b · the command waits")
		term.WaitFor("allowed while it ran: write ~/a")
		term.Resize(60, 30)
		term.Write("\x19n")
		term.WaitFor("no, because:")
		term.Write("one will do\r")
		term.WaitFor("That was it.")
		term.WaitFor("denied while it ran: write ~/b")
		if data, err := os.ReadFile(u.home + "/a"); err != nil || string(data) != "x\n" {
			t.Errorf("a holds %q, %v", data, err)
		}
		if _, err := os.Lstat(u.home + "/b"); err == nil {
			t.Error("b was written after a no")
		}
		requests := srv.Requests()
		messages := requests[len(requests)-1].Messages
		told := messages[len(messages)-1].Text
		for _, want := range []string{"exit status 0", "wrote a\n", "no b\n", "the user opened for it: " + u.home + "/a.", "did not open: " + u.home + "/b (the user said no: one will do)"} {
			if !strings.Contains(told, want) {
				t.Errorf("the model is not told %q:\n%s", want, told)
			}
		}
	})
}

// TestEscWhileACallWaits: the question disappears, the command ends, and nothing was written.
func TestEscWhileACallWaits(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		term, _ := heldOnScreen(t, u)
		term.WaitFor("the command waits")
		term.Write("\x19") // armed, and
		term.WaitFor("Tab adds a note")
		term.Write("\x1b") // disarmed, in case the time had armed it
		term.WaitFor("Ctrl+Y to answer")
		term.Write("\x1b")
		term.WaitFor("Interrupted")
		term.WaitGone("the command waits")
		term.WaitFor("interrupted by the user")
		for _, name := range []string{"a", "b"} {
			if _, err := os.Lstat(filepath.Join(u.home, name)); err == nil {
				t.Errorf("%s was written", name)
			}
		}
	})
}

// TestHeldConnection: after a yes the refused command reaches a server of the host; another
// port is another question.
func TestHeldConnection(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	need(t, "bash")
	if r := u.sandboxed(t, "true", "--allow-host", "127.0.0.1:1"); r.code == 125 {
		t.Skipf("single hosts cannot be opened here: %s", r.stderr)
	}
	door, err := scripted.OpenDoor(t.Context(), "hello from outside\n")
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	other, err := scripted.OpenDoor(t.Context(), "not this one\n")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	knock := func(d *scripted.Door) string {
		return "exec 3<>/dev/tcp/" + strings.Replace(d.Addr, ":", "/", 1) + " && head -n 1 <&3"
	}
	srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall("(" + knock(door) + "); (" + knock(door) + "); (" + knock(other) + ") || echo refused")}}, scripted.Reply{Text: "That was it."})
	cmd := u.codeagent("--model", "test", "run it")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	term := golden.Start(t, cmd, 100, 40)
	term.WaitFor("wants to reach " + door.Addr + " · the command waits")
	if door.Knocks() != 0 {
		t.Error("the server was reached before the answer")
	}
	term.Write("\x191")
	term.WaitFor("wants to reach " + other.Addr + " · the command waits")
	term.WaitFor("allowed while it ran: network " + door.Addr)
	term.Write("\x19n")
	term.WaitFor("no, because:")
	term.Write("\r")
	term.WaitFor("That was it.")
	requests := srv.Requests()
	messages := requests[len(requests)-1].Messages
	if told := messages[len(messages)-1].Text; strings.Count(told, "hello from outside") != 2 || !strings.Contains(told, "refused\n") || !strings.Contains(told, "exit status 0") {
		t.Errorf("the model got %q", told)
	}
	if door.Knocks() != 2 || other.Knocks() != 0 {
		t.Errorf("knocks: %d at the one, %d at the other", door.Knocks(), other.Knocks())
	}
}

// TestNotHeld: with the setting, as without a screen, a refused call fails at once.
func TestNotHeld(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	term, srv := heldOnScreen(t, u, "-c", "sandbox.hold=false")
	term.WaitFor("That was it.")
	requests := srv.Requests()
	messages := requests[len(requests)-1].Messages
	if told := messages[len(messages)-1].Text; !strings.Contains(told, "no a\n") || !strings.Contains(told, "no b\n") || strings.Contains(told, "[approval]") {
		t.Errorf("the model got %q", told)
	}
	if strings.Contains(term.Raw(), "the command waits") {
		t.Error("a question was put")
	}
}

// TestTourInSettings plays the tour in all surroundings, at reading pace: what it announces
// about held calls then happens.
func TestTourInSettings(t *testing.T) {
	machine.Turn(t, 0) // half a minute
	t.Parallel()
	inSettings(t, func(t *testing.T, _ string, u user, launch func(*exec.Cmd) *exec.Cmd) {
		t.Parallel()
		term := golden.Start(t, launch(u.codeagent()), 100, 60)
		term.WaitFor("The tour")
		term.Write("\r")
		term.WaitFor("⊘ write")
		term.WaitFor("this session") // the question
		term.Write("\x191")
		term.WaitFor("Last, the network.")
		announced := false
		term.WaitUntil("the question, or the end", func(screen string) bool {
			announced = strings.Contains(strings.Join(strings.Fields(screen), " "), "command pauses at the refused call")
			return strings.Contains(screen, "the command waits") || strings.Contains(screen, "That was the tour.")
		})
		if announced {
			term.WaitFor("the command waits")
			term.Write("\x191")
			term.WaitFor("a network connection: granted while the command waited")
			term.WaitFor("hello from outside the sandbox")
		}
		term.WaitFor("Remove the files it made?")
		if s := term.Screen(); !announced && (!strings.Contains(s, "Not here: ") || !strings.Contains(s, "a network connection: refused by the sandbox")) {
			t.Errorf("nothing was held, and the tour does not say why:\n%s", s)
		}
		term.Write("\x191")
		term.WaitFor("removed ")
	})
}

// TestLearnAsksOnATerminal: only yes runs the command, and what it needs is
// printed after its own output.
func TestLearnAsksOnATerminal(t *testing.T) {
	t.Parallel()
	for answer, runs := range map[string]bool{"y\n": true, "yes\n": true, "\n": false, "no\n": false, "yesterday\n": false, "\x04": false} {
		u := newUser(t, "self", -1)
		term := golden.Start(t, u.codeagent("sandbox", "--learn", "--", "sh", "-c", "read line; echo got $line; echo x > $HOME/one"), 100, 30)
		term.WaitFor("counts as running outside the sandbox")
		term.WaitFor("Run it? [y/N]")
		term.Write(answer)
		if runs {
			// Input after the answer belongs to the command.
			term.Write("mine\n")
		}
		err := term.WaitExit()
		_, missing := os.Lstat(u.home + "/one")
		if runs != (err == nil) || runs != (missing == nil) {
			t.Errorf("%q: ended with %v, written: %v\n%s", answer, err, missing == nil, term.Screen())
		}
		for _, want := range []string{"got mine", "add_files", "~/one"} {
			if runs && !strings.Contains(term.Raw(), want) {
				t.Errorf("%q: no %q in\n%s", answer, want, term.Raw())
			}
		}
	}
}
