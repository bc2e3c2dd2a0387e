package tui

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/golden"
)

// start runs the test binary as a codeagent screen on a real terminal.
func start(t *testing.T, mode string, w, h int) *golden.Terminal {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{
		childVariable + "=" + mode, "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8",
		"HOME=/home/ada", "PATH=" + os.Getenv("PATH"),
	}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+dir)
	}
	term := golden.Start(t, cmd, w, h)
	term.WaitFor("Ask codeagent")
	term.WaitFor("workspace-write")
	return term
}

func TestRealScreen(t *testing.T) {
	term := start(t, "still", 80, 24)
	if !term.AltScreen() {
		t.Error("the alternate screen is not shown")
	}
	term.Write("echo grüße")
	term.WaitFor("› echo grüße")
	term.Write("\r")
	term.WaitFor("You said: 7 bytes, 1 lines: grüße")
	term.WaitFor("Ask codeagent")
	term.Write("/quit\r")
	if err := term.WaitExit(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if term.AltScreen() {
		t.Error("the alternate screen is left on")
	}
	if s := term.Screen(); !strings.Contains(s, "You said: 7") || !strings.Contains(s, "left") {
		t.Errorf("the transcript's end is not on the normal screen:\n%s", s)
	}
}

func TestRealPaste(t *testing.T) {
	term := start(t, "still", 80, 24)
	const lines = 20000
	text := "echo " + strings.Repeat("0123456789abcdef\r\n", lines)
	term.Paste(text)
	term.WaitFor("[pasted 20000 lines]")
	term.Write("\r")
	// CRLF became one newline: 17 bytes a line, and the newline at the end opens a last one.
	term.WaitFor("You said: 340000 bytes, 20001 lines")
}

func TestRealShiftEnter(t *testing.T) {
	term := start(t, "still", 80, 24)
	term.Write("echo a\x1b[13;2ub") // as kitty sends it
	term.Write("\x1b[27;2;13~c")    // as modifyOtherKeys sends it
	term.Write("\nd")               // Ctrl+J anywhere
	term.WaitFor("  d")
	term.Write("\r")
	term.WaitFor("You said: 7 bytes, 4 lines")
}

func TestRealResize(t *testing.T) {
	term := start(t, "still", 100, 30)
	term.Write("echo " + strings.Repeat("word ", 20) + "\r")
	term.WaitFor("You said")
	for _, size := range [][2]int{{40, 20}, {20, 6}, {120, 40}, {60, 24}} {
		term.Resize(size[0], size[1])
		rule := strings.Repeat("─", size[0])
		term.WaitUntil("a rule as wide as the terminal", func(s string) bool {
			lines := strings.Split(s, "\n")
			return len(lines) >= 3 && contains(s, "\n"+rule+"\n")
		})
	}
	term.WaitFor("You said")
}

func TestRealInterrupt(t *testing.T) {
	term := start(t, "still", 80, 24)
	term.Write("wait\r")
	term.WaitFor("sleeping")
	term.Write("\x1b")
	term.WaitFor("Interrupted")
	term.WaitFor("interrupted")
	term.WaitGone("Working") // else what is typed goes back to the editor
	// A turn that runs while the person leaves is ended first.
	term.Write("wait\r")
	term.WaitUntil("the second turn", func(s string) bool { return strings.Count(s, "sleeping") == 1 && contains(s, "Working") })
	term.Write("\x03\x03")
	if err := term.WaitExit(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestRealSteer(t *testing.T) {
	term := start(t, "still", 80, 24)
	term.Write("steer\r")
	term.WaitFor("Working")
	term.Write("left a bit\r")
	term.WaitFor("Steered: left a bit")
}

func TestRealQuestion(t *testing.T) {
	term := start(t, "still", 80, 30)
	term.Write("ask\r")
	term.WaitFor("npm install wants to leave the sandbox")
	// 700 ms without a key arm it.
	term.WaitFor("Tab adds a note")
	term.Write("n")
	term.WaitFor("no, because:")
	term.Write("not now\r")
	term.WaitFor(`Answer: "" reason "not now"`)
}

// TestRealTypingAtAQuestion: a word that begins like an answer, at a question that a pause has
// armed, is text, as fast as it comes.
func TestRealTypingAtAQuestion(t *testing.T) {
	term := start(t, "still", 80, 30)
	term.Write("ask\r")
	term.WaitFor("npm install wants to leave the sandbox")
	for _, text := range []string{"1st, now 2 more", "no, s1 is next", "send 12 s"} {
		term.WaitFor("Tab adds a note") // 700 ms without a key arm it
		for _, c := range text {
			term.Write(string(c))
		}
		term.WaitFor("› " + text)
		term.Write("\x15") // Ctrl+U
		term.WaitFor("Ask codeagent")
	}
	term.WaitFor("Tab adds a note")
	term.Write("1")
	term.WaitFor(`Answer: "once"`)
}

// TestRealQuestionAtOnce: here the fingers never rest long enough, however slow
// the machine is.
func TestRealQuestionAtOnce(t *testing.T) {
	term := start(t, "still unrested", 80, 30)
	term.Write("ask\r")
	term.WaitFor("npm install wants to leave the sandbox")
	term.Write("n1s") // typed at once: text, not an answer
	term.WaitFor("› n1s")
	term.Write("\x15") // Ctrl+U
	term.WaitFor("Ask codeagent")
	term.WaitFor("Ctrl+Y to answer")
	term.Write("\x1b") // the question is not armed: Esc ends the turn, and the question with it
	term.WaitFor("asked in vain: interrupted")
	term.WaitGone("wants to leave the sandbox")
}

// A second in which nothing happens costs no byte.
func TestRealIdleWritesNothing(t *testing.T) {
	term := start(t, "moving", 80, 24) // with the spinner of a real session
	term.Write("echo x\r")
	term.WaitFor("You said")
	term.WaitGone("Working")
	// A slow machine may still be at the end of the turn in the first seconds.
	settled, seconds := -1, 0
	for settled != term.Written() {
		if seconds == 30 {
			t.Fatalf("%d bytes were written in the last of %d idle seconds", term.Written()-settled, seconds)
		}
		settled = term.Written()
		time.Sleep(time.Second) // the quiet that is measured, not a guess at readiness
		seconds++
	}
}

func TestRealPanicRestoresTheTerminal(t *testing.T) {
	term := start(t, "still", 80, 24)
	term.Write("panic\r")
	if err := term.WaitExit(); err == nil {
		t.Error("a panic ends with success")
	}
	if term.AltScreen() {
		t.Error("the alternate screen is left on")
	}
	if s := term.Raw(); !strings.Contains(s, "the turn broke") || !strings.Contains(s, "\x1b[?2004l") {
		t.Errorf("the panic is not told, or bracketed paste is left on:\n%q", s[max(len(s)-2000, 0):])
	}
}

// inShell starts an interactive shell, which does job control as for a person, for the program exe.
func inShell(t *testing.T) (term *golden.Terminal, exe string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-i")
	cmd.Env = []string{childVariable + "=still", "TERM=xterm-256color", "HOME=/home/ada", "PS1=ready> ", "PATH=" + os.Getenv("PATH")}
	term = golden.Start(t, cmd, 80, 24)
	term.WaitFor("ready>")
	return term, exe
}

func TestRealSuspend(t *testing.T) {
	term, exe := inShell(t)
	term.Write(exe + "\n")
	term.WaitFor("workspace-write")
	term.Write("half a message")
	term.WaitFor("› half a message")
	term.Write("\x1a")
	term.WaitUntil("the shell", func(s string) bool { return !term.AltScreenHeld() && contains(s, "ready>") })
	term.Write("fg\n")
	term.WaitFor("› half a message")
	term.Write("\x03\x03\x03")
	term.WaitFor("left")
}

// A stop that cannot be caught leaves the terminal to the shell as it is.
func TestRealStop(t *testing.T) {
	term, exe := inShell(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	term.Write("sh -c 'echo $$ >" + pidFile + "; exec " + exe + "'\n")
	term.WaitFor("workspace-write")
	term.Write("half a message")
	term.WaitFor("› half a message")
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	term.WaitFor("ready>")
	term.Write("stty sane; clear; bg; echo $((20+3)) behind\n")
	term.WaitFor("23 behind")
	before := len(term.Raw())
	_ = syscall.Kill(pid, syscall.SIGWINCH) // it has a reason to draw
	term.Write("echo $((20+4)) more\n")
	term.WaitFor("24 more")
	if drawn := term.Raw()[before:]; strings.Contains(drawn, "half a") || strings.Contains(drawn, "\x1b[?1049") {
		t.Errorf("drawn in the background: %q", drawn)
	}
	term.Write("fg\n")
	term.WaitUntil("the whole screen", func(s string) bool { return contains(s, "› half a message") && !contains(s, "ready>") })
	if taken := term.Raw()[before:]; !strings.Contains(taken, "\x1b[?2004h") || !strings.Contains(taken, "\x1b[?1049h") {
		t.Errorf("taken again without its modes: %q", taken)
	}
	term.Write(", and the rest")
	term.WaitFor("› half a message, and the rest")
	term.Write("\x03\x03\x03")
	term.WaitFor("left")
}

func TestRealHostileOutput(t *testing.T) {
	term := start(t, "still", 80, 24)
	term.Paste("echo \u202e<-hidden \u009b2J and \u200bzero")
	term.Write("\r")
	term.WaitFor("<U+202E>")
	term.WaitFor("You said")
	for _, r := range []string{"\u202e", "\u200b", "\u009b"} {
		if strings.Contains(term.Raw(), r) {
			t.Errorf("%q reached the terminal", r)
		}
	}
}

func TestRealNoColor(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{childVariable + "=still", "TERM=xterm-256color", "NO_COLOR=1", "HOME=/home/ada"}
	term := golden.Start(t, cmd, 80, 24)
	term.WaitFor("workspace-write")
	term.Write("echo x\r")
	term.WaitFor("┃ echo x") // tells the message from the answer
	term.WaitGone("Working")
	term.Write("tour\r")
	term.WaitFor("wants to leave the sandbox")
	term.Write("\x191")
	term.WaitFor("Nothing else changed")
	for _, seq := range []string{"\x1b[38;", "\x1b[48;", "\x1b[31", "\x1b[32", "\x1b[33"} {
		if strings.Contains(term.Raw(), seq) {
			t.Errorf("a colour (%q) was sent under NO_COLOR", seq)
		}
	}
}

// The end of the program's context ends the screen, and the terminal is as before.
func TestRealTermination(t *testing.T) {
	term := start(t, "signal", 80, 24)
	term.Write("wait\r")
	term.WaitFor("sleeping")
	term.Signal(syscall.SIGTERM)
	if err := term.WaitExit(); err == nil {
		t.Error("ended by a signal with success")
	}
	if term.AltScreen() {
		t.Error("the alternate screen is left on")
	}
}

// Who looks at another window is called for a question and for the end of a turn, once
// each, and the title and the progress say what goes on. All is taken back at the end.
func TestRealCallsBack(t *testing.T) {
	const asks, ended = "\x1b]9;codeagent has a question · app\x1b\\", "\x1b]9;codeagent finished · app\x1b\\"
	term := start(t, "still calls", 80, 30)
	term.WaitWritten("\x1b[?1004h")
	term.WaitWritten("\x1b]2;app · codeagent\a")
	term.Write("\x1b[I") // it has the focus
	term.Write("wait\r")
	term.WaitWritten("\x1b]2;● app · codeagent\a")
	term.Write("\x1b")
	term.WaitFor("Interrupted")
	term.WaitGone("Working")
	term.Write("\x1b[O") // and now it has not
	term.Write("ask\r")
	term.WaitWritten(asks)
	term.WaitWritten("\x1b]2;? app · codeagent\a")
	term.WaitWritten("\x1b]9;4;4;100\a")
	term.WaitFor("Tab adds a note")
	term.Write("n")
	term.WaitFor("no, because:")
	term.Write("\r")
	term.WaitFor("Answer:")
	term.WaitWritten(ended)
	term.Write("\x03\x03")
	if err := term.WaitExit(); err != nil {
		t.Errorf("ended with %v", err)
	}
	raw := term.Raw()
	for _, once := range []string{asks, ended} {
		if n := strings.Count(raw, once); n != 1 {
			t.Errorf("%q was written %d times", once, n)
		}
	}
	for on, off := range map[string]string{"\x1b[?1004h": "\x1b[?1004l", "\x1b]2;": "\x1b[23;2t", "\x1b]9;4;3": "\x1b]9;4;0"} {
		if strings.LastIndex(raw, off) < strings.LastIndex(raw, on) {
			t.Errorf("%q is left on", on)
		}
	}
}
