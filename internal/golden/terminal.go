package golden

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"codeagent/internal/machine"
)

// patience bounds the wait of WaitFor. It is reached only by a broken program.
const patience = 2 * time.Minute

// Terminal is a program on a pseudo terminal with an emulator: tests can read the screen as
// text, and the emulator answers the program's queries.
type Terminal struct {
	t   testing.TB
	cmd *exec.Cmd
	pty *os.File

	mu      sync.Mutex
	changed *sync.Cond
	screen  *vt.Emulator
	cursor  bool // it is visible
	written int  // bytes the program wrote
	wrote   time.Time
	raw     []byte
	ended   bool
	left    atomic.Bool // by a program of the test's process
	waited  chan struct{}
	err     error
}

// Start runs cmd on a terminal of w columns and h rows. The environment is
// exactly cmd.Env. The program is killed at the test's end.
func Start(t testing.TB, cmd *exec.Cmd, w, h int) *Terminal {
	t.Helper()
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	if err != nil {
		t.Fatalf("start on a pseudo terminal: %v", err)
	}
	term := &Terminal{t: t, cmd: cmd, pty: file, screen: vt.NewEmulator(w, h), waited: make(chan struct{})}
	term.begin(func() { _ = cmd.Process.Kill() })
	return term
}

// Open returns a terminal for a program that is a part of the test's process, and the file that is
// that program's input and output. The test ends the program before its own end.
func Open(t testing.TB, w, h int) (*Terminal, *os.File) {
	t.Helper()
	file, tty, err := pty.Open()
	if err == nil {
		err = pty.Setsize(file, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	}
	if err != nil {
		t.Fatalf("open a pseudo terminal: %v", err)
	}
	term := &Terminal{t: t, pty: file, screen: vt.NewEmulator(w, h), waited: make(chan struct{})}
	term.begin(func() {
		// tty is not closed here: a reader of keys that the program left behind may still look at it.
		// A last byte wakes the reading of the screen instead.
		term.left.Store(true)
		_, _ = tty.Write([]byte{0})
	})
	return term, tty
}

// begin reads what the program writes, and types the emulator's answers. end ends the program.
func (term *Terminal) begin(end func()) {
	term.changed, term.cursor, term.wrote = sync.NewCond(&term.mu), true, time.Now()
	term.screen.SetCallbacks(vt.Callbacks{CursorVisibility: func(visible bool) { term.cursor = visible }})
	answers := make(chan struct{})
	go func() { // ends when the input pipe is closed below
		defer close(answers)
		_, _ = io.Copy(term.pty, term.screen)
	}()
	go term.read()
	term.t.Cleanup(func() {
		end()
		<-term.waited
		_ = term.pty.Close()
		if c, ok := term.screen.InputPipe().(io.Closer); ok {
			_ = c.Close()
		}
		<-answers
	})
}

// read feeds the emulator until the program has ended.
func (term *Terminal) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := term.pty.Read(buf)
		if term.left.Load() {
			break
		}
		term.mu.Lock()
		_, _ = term.screen.Write(buf[:n])
		term.written += n
		term.wrote = time.Now()
		term.raw = append(term.raw, buf[:n]...)
		if len(term.raw) > 1<<20 {
			term.raw = term.raw[len(term.raw)-1<<20:]
		}
		term.changed.Broadcast()
		term.mu.Unlock()
		if err != nil {
			break
		}
	}
	var err error
	if term.cmd != nil {
		err = term.cmd.Wait()
	}
	term.mu.Lock()
	term.ended, term.err = true, err
	term.changed.Broadcast()
	term.mu.Unlock()
	close(term.waited)
}

// Write sends raw input: text, or the bytes of keys.
func (term *Terminal) Write(s string) {
	term.t.Helper()
	if _, err := io.WriteString(term.pty, s); err != nil {
		term.t.Fatalf("write to the terminal: %v", err)
	}
}

// Paste sends text as a bracketed paste.
func (term *Terminal) Paste(s string) { term.Write("\x1b[200~" + s + "\x1b[201~") }

// Resize changes the terminal's size; the program gets SIGWINCH.
func (term *Terminal) Resize(w, h int) {
	term.t.Helper()
	term.mu.Lock()
	term.screen.Resize(w, h)
	term.mu.Unlock()
	if err := pty.Setsize(term.pty, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		term.t.Fatalf("resize: %v", err)
	}
}

// Screen returns the text on the screen, without trailing spaces.
func (term *Terminal) Screen() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.text()
}

// AltScreen reports whether the alternate screen is shown.
func (term *Terminal) AltScreen() bool {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.screen.IsAltScreen()
}

// AltScreenHeld is AltScreen for use inside WaitUntil.
func (term *Terminal) AltScreenHeld() bool { return term.screen.IsAltScreen() }

// PID is the program's process id.
func (term *Terminal) PID() int { return term.cmd.Process.Pid }

// CPU is the processor time that the program has used so far. A machine without /proc skips the test.
func (term *Terminal) CPU() time.Duration {
	term.t.Helper()
	stat := term.proc("stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+2:])
	var user, system int64
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	const ticks = 100 // USER_HZ, the same on every Linux
	return time.Duration(user+system) * time.Second / ticks
}

// Memory is a line of the program's status, such as VmRSS, in MiB. A machine without /proc skips the
// test.
func (term *Terminal) Memory(name string) float64 {
	term.t.Helper()
	_, after, _ := strings.Cut(term.proc("status"), name+":")
	var kb int
	fmt.Sscan(after, &kb)
	return float64(kb) / 1024
}

func (term *Terminal) proc(name string) string {
	term.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", term.PID(), name))
	if err != nil {
		term.t.Skipf("no /proc to read what the program uses from: %v", err)
	}
	return string(data)
}

// Signal sends a signal to the program.
func (term *Terminal) Signal(s os.Signal) {
	term.t.Helper()
	if err := term.cmd.Process.Signal(s); err != nil {
		term.t.Fatalf("signal: %v", err)
	}
}

// Kill ends the program at once and waits until it is gone.
func (term *Terminal) Kill() {
	_ = term.cmd.Process.Kill()
	<-term.waited
}

// Written returns how many bytes the program has written so far.
func (term *Terminal) Written() int {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.written
}

// Raw returns the last bytes the program wrote, at most a megabyte.
func (term *Terminal) Raw() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return string(term.raw)
}

// WaitWritten waits until the program has written these bytes.
func (term *Terminal) WaitWritten(sequence string) {
	term.t.Helper()
	term.WaitUntil(fmt.Sprintf("the program to write %q", sequence), func(string) bool { return strings.Contains(string(term.raw), sequence) })
}

func (term *Terminal) text() string {
	lines := strings.Split(term.screen.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// WaitFor waits until the screen shows text.
func (term *Terminal) WaitFor(text string) {
	term.t.Helper()
	term.WaitUntil("the screen to show "+text, func(screen string) bool { return strings.Contains(screen, text) })
}

// WaitGone waits until the screen does not show text.
func (term *Terminal) WaitGone(text string) {
	term.t.Helper()
	term.WaitUntil("the screen to lose "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

// WaitUntil waits until ok returns true for the screen's text. ok is called whenever the
// program has written.
func (term *Terminal) WaitUntil(what string, ok func(screen string) bool) {
	term.t.Helper()
	patience := patience
	if *update { // somebody waits
		patience /= 8
	}
	deadline := time.Now().Add(patience) // passed when late wakes the wait
	late := time.AfterFunc(patience, func() {
		term.mu.Lock()
		defer term.mu.Unlock()
		term.changed.Broadcast()
	})
	defer late.Stop()
	term.mu.Lock()
	defer term.mu.Unlock()
	for !ok(term.text()) {
		if term.ended || !time.Now().Before(deadline) {
			term.t.Fatalf("waited in vain for %s; ended: %v (%v); the screen:\n%s", what, term.ended, term.err, term.text())
		}
		term.changed.Wait()
	}
}

const (
	// still is how long nothing may be written before a screen is taken as the last one.
	still = 20 * time.Millisecond
	// given is how long nothing may be written before a screen that differs is taken as the last one.
	given = 5 * time.Second
)

// differed counts the screens that differed.
var differed atomic.Int32

// CheckScreen compares the screen at rest, and where the cursor is, with a golden file. It waits
// until they are the same.
func (term *Terminal) CheckScreen(file string) {
	term.t.Helper()
	if *update {
		CheckFile(term.t, file, term.rest(400*time.Millisecond))
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		term.t.Fatalf("%v (run with -update to write it)", err)
	}
	for begin := time.Now(); ; {
		if term.rest(still) == string(want) {
			return
		}
		term.mu.Lock()
		before := term.written
		given := time.Duration(float64(given) * machine.Current().Slowness)
		if differed.Load() > 4 { // many differ: it is not the machine that is slow
			given = 10 * still
		}
		wake := time.AfterFunc(given, term.changed.Broadcast)
		term.changed.Wait()
		over := term.written == before && time.Since(term.wrote) >= given || time.Since(begin) > patience
		wake.Stop()
		term.mu.Unlock()
		if over {
			differed.Add(1)
			CheckFile(term.t, file, term.rest(0))
			return
		}
	}
}

// rest returns the screen and the place of its cursor after nothing was written for a while.
func (term *Terminal) rest(quiet time.Duration) string {
	for {
		term.mu.Lock()
		wait := quiet - time.Since(term.wrote)
		if wait <= 0 {
			at := "no cursor"
			if p := term.screen.CursorPosition(); term.cursor {
				at = fmt.Sprintf("cursor at %d,%d", p.X, p.Y)
			}
			text := term.text() + "\n" + at + "\n"
			term.mu.Unlock()
			return text
		}
		term.mu.Unlock()
		time.Sleep(wait)
	}
}

// WaitExit waits until the program has ended and returns its error.
func (term *Terminal) WaitExit() error {
	term.t.Helper()
	select {
	case <-term.waited:
	case <-time.After(patience):
		term.t.Fatalf("the program did not end; the screen:\n%s", term.Screen())
	}
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.err
}
